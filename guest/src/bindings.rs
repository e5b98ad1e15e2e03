//! The component's exports, made from `wit/`. Compiled everywhere, exported on wasm only: natively the
//! export names are not legal symbols and the linker refuses them.
//!
//! Nothing is decided here. What comes in is read into the core's types by [`inward`] and refused where it is out of
//! range, what goes out is written by [`outward`].

mod inward;
mod outward;
mod words;

use alloc::{string::String, vec::Vec};

use crate::{api::Refusal, check, json, machine, notice, open, record, request, verify};
use generated::exports::sondeo::policy::{self as exports, audit, decide, types};
use inward::Take;
use outward::Out;

#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    dead_code,
    unused_qualifications,
    rust_2018_idioms,
    clippy::all,
    clippy::restriction,
    clippy::pedantic,
    reason = "generated"
)]
pub mod generated {
    wit_bindgen::generate!({
        path: "../wit",
        world: "core",
        generate_all,
        pub_export_macro: true,
    });

    #[cfg(all(target_family = "wasm", feature = "exports"))]
    export!(Component with_types_in self);
    #[cfg(all(target_family = "wasm", feature = "exports"))]
    use super::Component;
}

/// What the world exports.
#[derive(Debug)]
pub struct Component;

/// What a core function gives, as the interface has it.
fn given<A: Out<B>, B>(result: Result<A, Refusal>) -> Result<B, types::Refusal> {
    match result {
        Ok(value) => Ok(value.out()),
        Err(refusal) => Err(refusal.out()),
    }
}

impl decide::Guest for Component {
    fn about() -> types::Build {
        check::about().out()
    }

    fn check_contract(contract: String) -> Result<types::ContractSummary, Vec<types::Fault>> {
        match check::check_contract(&contract) {
            Ok(summary) => Ok(summary.out()),
            Err(faults) => Err(faults.out()),
        }
    }

    fn try_answer(trial: types::Trial) -> Result<types::Tried, types::Refusal> {
        given(trial.take().and_then(|trial: check::Trial| check::try_answer(&trial)))
    }

    fn open(
        contract: String,
        opening: types::Opening,
        at: types::Instant,
    ) -> Result<types::Transition, types::Refusal> {
        let read = || Ok((opening.take()?, at.take()?));
        given(read().and_then(|(opening, at)| open::open(&contract, &opening, at)))
    }

    fn job(contract: String, opening: types::Opening) -> Result<String, types::Refusal> {
        given(opening.take().and_then(|opening| open::job(&contract, &opening)))
    }

    fn rejoin(contract: String, record: String, opening: types::Opening) -> Result<types::Operation, types::Refusal> {
        given(opening.take().and_then(|opening| open::rejoin(&contract, &record, &opening)))
    }

    fn request(contract: String, record: String) -> Result<types::RequestPlan, types::Refusal> {
        given(request::request(&contract, &record))
    }

    fn observe(
        contract: String,
        record: Option<String>,
        answer: types::Answer,
    ) -> Result<types::Observed, types::Refusal> {
        given(answer.take().and_then(|answer| check::observe(&contract, record.as_deref(), &answer)))
    }

    fn step(contract: String, record: String, event: types::Event) -> Result<types::Transition, types::Refusal> {
        given(event.take().and_then(|event| machine::step(&contract, &record, &event)))
    }

    fn notice(contract: String, record: String, at: types::Instant) -> Result<types::Notice, types::Refusal> {
        given(at.take().and_then(|at| notice::notice(&contract, &record, at)))
    }

    fn read(record: String) -> Result<types::Operation, types::Refusal> {
        given(record::read(&record))
    }
}

impl audit::Guest for Component {
    fn verify(log: audit::Log) -> audit::Report {
        let audit::Log { entries, contracts, start, current, component } = log;
        verify::verify(&verify::Log { entries, contracts, start, current, component }).out()
    }
}

impl exports::json::Guest for Component {
    fn call(function: String, input: String) -> Result<String, String> {
        json::call(&function, &input)
    }
}

#[cfg(test)]
mod tests;
