//! A component that decides as the real one does, but for one thing. Which thing is written into its bytes by the test that
//! loads it (`tests/support/hostile.rs`), so that one build makes all of them, each with a digest of its own.
#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

mod lies;
mod ruin;

use alloc::{string::String, vec::Vec};
use core::hint::black_box;

use sondeo_guest::bindings;
use sondeo_guest::bindings::generated::exports::sondeo::policy::{audit, decide, json, types};

/// Followed by a variant's name and dots. What stands here decides as the real one.
static VARIANT: [u8; 48] = *b"sondeo-hostile-variant:none.....................";
const PREFIX: &[u8] = b"sondeo-hostile-variant:";

/// Whether the variant's name is this one.
fn is(name: &str) -> bool {
    // The compiler must not know what stands there: it is written later.
    let variant = black_box(&VARIANT);
    let rest = variant.get(PREFIX.len()..).unwrap_or_default();
    rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.iter().all(|byte| *byte == b'.'))
}

/// The real component, but for one thing.
#[derive(Debug)]
pub struct Hostile;

#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "generated")]
mod exported {
    use super::Hostile;

    sondeo_guest::bindings::generated::export!(Hostile with_types_in sondeo_guest::bindings::generated);
}

impl decide::Guest for Hostile {
    fn about() -> types::Build {
        <bindings::Component as decide::Guest>::about()
    }

    fn check_contract(contract: String) -> Result<types::ContractSummary, Vec<types::Fault>> {
        <bindings::Component as decide::Guest>::check_contract(contract)
    }

    fn try_answer(trial: types::Trial) -> Result<types::Tried, types::Refusal> {
        <bindings::Component as decide::Guest>::try_answer(trial)
    }

    fn open(contract: String, opening: types::Opening, at: u64) -> Result<types::Transition, types::Refusal> {
        let made = <bindings::Component as decide::Guest>::open(contract.clone(), opening, at)?;
        Ok(lies::opened(&contract, at, made))
    }

    fn job(contract: String, opening: types::Opening) -> Result<String, types::Refusal> {
        <bindings::Component as decide::Guest>::job(contract, opening)
    }

    fn rejoin(contract: String, record: String, opening: types::Opening) -> Result<types::Operation, types::Refusal> {
        <bindings::Component as decide::Guest>::rejoin(contract, record, opening)
    }

    fn request(contract: String, record: String) -> Result<types::RequestPlan, types::Refusal> {
        <bindings::Component as decide::Guest>::request(contract, record)
    }

    fn observe(
        contract: String,
        record: Option<String>,
        answer: types::Answer,
    ) -> Result<types::Observed, types::Refusal> {
        <bindings::Component as decide::Guest>::observe(contract, record, answer)
    }

    fn step(contract: String, record: String, event: types::Event) -> Result<types::Transition, types::Refusal> {
        ruin::perhaps();
        let made = <bindings::Component as decide::Guest>::step(contract.clone(), record.clone(), event.clone())?;
        Ok(lies::stepped(&contract, &record, &event, made))
    }

    fn notice(contract: String, record: String, at: u64) -> Result<types::Notice, types::Refusal> {
        <bindings::Component as decide::Guest>::notice(contract, record, at)
    }

    fn read(record: String) -> Result<types::Operation, types::Refusal> {
        <bindings::Component as decide::Guest>::read(record)
    }
}

impl audit::Guest for Hostile {
    fn verify(log: audit::Log) -> audit::Report {
        <bindings::Component as audit::Guest>::verify(log)
    }
}

impl json::Guest for Hostile {
    fn call(function: String, input: String) -> Result<String, String> {
        <bindings::Component as json::Guest>::call(function, input)
    }
}
