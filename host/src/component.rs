//! The component that decides, and the only place from which it is called.
//!
//! What a caller may rely on:
//! - It was given nothing: a component that asks for an import is not loaded, so it has no clock, file, network or chance.
//! - A call ends. It may use [`FUEL`] and [`MEMORY_BYTES_MAX`], which are counted and so the same everywhere; wall clock
//!   time is not looked at. What it does wrong comes back as [`CallError::Faulted`].
//! - A fault is a fault of a fresh instance. Instances are used again, since making one costs more than most calls; but
//!   whatever goes wrong in a used one is asked again of a fresh one, and only that answer counts. After any fault the
//!   instance is thrown away with all that it held.
//! - What it answers is not believed: [`crate::bounds`] looks at every transition before it is saved.

mod describe;
mod engine;
mod instance;
mod load;
mod registry;
mod verify;

use std::fmt;
use std::sync::{Arc, OnceLock};

use wasmtime::Store;

#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    rust_2018_idioms,
    clippy::all,
    clippy::pedantic,
    reason = "generated"
)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "core",
        additional_derives: [PartialEq, Eq],
    });
}

/// The shapes that cross, as `wit/types.wit` describes them; instants are milliseconds since 1970-01-01T00:00:00Z.
pub use bindings::exports::sondeo::policy::types;

/// What `verify` takes and gives, as `wit/audit.wit` describes it.
pub use bindings::exports::sondeo::policy::audit;

pub use describe::{Description, Formats, describe};
pub use engine::{FUEL, MEMORY_BYTES_MAX};
pub use load::LoadError;
pub use registry::{Components, PinnedError};

use bindings::Core;
use engine::{Memory, OBSERVE_FUEL};
use instance::Pool;
use types::{
    Answer, Build, ContractSummary, Event, FaultKind, Instant, Notice, Observed, Opening, Operation, Refusal,
    RefusalKind, RequestPlan, Transition, Trial, Tried,
};

/// Why a call gave no result. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The component refused; it works as it should.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The component failed (D33, `policy_fault`).
    #[error("the component {}: {detail}", failed(*.kind))]
    Faulted {
        /// How; never `out-of-bounds`, which [`crate::bounds`] finds.
        kind: FaultKind,
        /// What the engine says, with the functions that it happened in.
        detail: String,
    },
}

const fn failed(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Trap => "trapped",
        FaultKind::OutOfFuel => "ran too long",
        FaultKind::OutOfMemory => "wanted too much memory",
        FaultKind::OutOfBounds => "decided what it may not",
    }
}

/// A component, compiled. A clone is another handle to the same.
#[derive(Clone)]
pub struct Component(Arc<Loaded>);

struct Loaded {
    bytes: Box<[u8]>,
    sha256: String,
    core_sha256: Option<String>,
    exports: Vec<String>,
    pool: Pool,
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Component").field(&self.0.sha256).finish()
    }
}

impl Component {
    /// The component that this binary carries, compiled on first use.
    ///
    /// # Errors
    /// As [`Component::load`]; the bytes of a release have been loaded by its tests.
    pub fn embedded() -> Result<Component, LoadError> {
        static EMBEDDED: OnceLock<Result<Component, LoadError>> = OnceLock::new();
        EMBEDDED.get_or_init(|| Component::load(crate::COMPONENT)).clone()
    }

    /// Compiles a component, more than half a second on two cores, after making sure that it imports nothing and exports
    /// what is called.
    ///
    /// # Errors
    /// Where the bytes are no component, or one that asks for something, or one that offers too little.
    pub fn load(bytes: &[u8]) -> Result<Component, LoadError> {
        load::load(bytes).map(|loaded| Component(Arc::new(loaded)))
    }

    /// Its bytes, for a store to keep (D48).
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// The SHA-256 of its bytes, lower-case hex: what records and entries name it by (D1, D46).
    pub fn sha256(&self) -> &str {
        &self.0.sha256
    }

    /// The SHA-256 of the one core module within, for hosts that run that alone; `None` where there are several.
    pub fn core_sha256(&self) -> Option<&str> {
        self.0.core_sha256.as_deref()
    }

    /// The one core module within, byte for byte; `None` where there are several.
    pub fn core_bytes(&self) -> Option<&[u8]> {
        load::core_module(&self.0.bytes)
    }

    /// The interfaces that it exports, in order.
    pub fn exports(&self) -> &[String] {
        &self.0.exports
    }

    /// Name, version and formats of the build.
    ///
    /// # Errors
    /// A fault.
    pub fn about(&self) -> Result<Build, CallError> {
        self.call(FUEL, |core, store| core.sondeo_policy_decide().call_about(store))
    }

    /// Checks a contract as a whole and runs its samples (D3).
    ///
    /// # Errors
    /// A refusal `invalid_contract` with every fault at its JSON Pointer; a fault of the component.
    pub fn check_contract(&self, contract: &str) -> Result<ContractSummary, CallError> {
        self.call(FUEL, |core, store| core.sondeo_policy_decide().call_check_contract(store, contract))?.map_err(
            |faults| {
                CallError::Refused(Refusal {
                    kind: RefusalKind::InvalidContract,
                    message: match faults.as_slice() {
                        [one] => format!("the contract has a fault: `{}`: {}", one.pointer, one.message),
                        many => format!("the contract has {} faults", many.len()),
                    },
                    faults,
                })
            },
        )
    }

    /// What one answer would mean under a contract, without an operation.
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn try_answer(&self, trial: &Trial) -> Result<Tried, CallError> {
        self.decide(|core, store| core.sondeo_policy_decide().call_try_answer(store, trial))
    }

    /// The first record and entry 1 (D1, D2).
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn open(&self, contract: &str, opening: &Opening, at: Instant) -> Result<Transition, CallError> {
        self.decide(|core, store| core.sondeo_policy_decide().call_open(store, contract, opening, at))
    }

    /// The job of an opening as one text, by which it is unique (D4).
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn job(&self, contract: &str, opening: &Opening) -> Result<String, CallError> {
        self.decide(|core, store| core.sondeo_policy_decide().call_job(store, contract, opening))
    }

    /// Opening again: the operation there is, or a refusal that names it (D4).
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn rejoin(&self, contract: &str, record: &str, opening: &Opening) -> Result<Operation, CallError> {
        self.decide(|core, store| core.sondeo_policy_decide().call_rejoin(store, contract, record, opening))
    }

    /// The status request of the attempt that was paid for (D28, D31).
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn request(&self, contract: &str, record: &str) -> Result<RequestPlan, CallError> {
        self.decide(|core, store| core.sondeo_policy_decide().call_request(store, contract, record))
    }

    /// Reduces an answer to what the contract names; without a record it is a submission's answer (D3).
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn observe(&self, contract: &str, record: Option<&str>, answer: &Answer) -> Result<Observed, CallError> {
        self.call(OBSERVE_FUEL, |core, store| {
            core.sondeo_policy_decide().call_observe(store, contract, record, answer)
        })?
        .map_err(CallError::Refused)
    }

    /// What an event makes of a record.
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn step(&self, contract: &str, record: &str, event: &Event) -> Result<Transition, CallError> {
        self.decide(|core, store| core.sondeo_policy_decide().call_step(store, contract, record, event))
    }

    /// What a person needs to decide (D33 to D35).
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn notice(&self, contract: &str, record: &str, at: Instant) -> Result<Notice, CallError> {
        self.decide(|core, store| core.sondeo_policy_decide().call_notice(store, contract, record, at))
    }

    /// The typed view of a record.
    ///
    /// # Errors
    /// A refusal; a fault.
    pub fn read(&self, record: &str) -> Result<Operation, CallError> {
        self.decide(|core, store| core.sondeo_policy_decide().call_read(store, record))
    }

    /// Checks the chain of a log and replays it (D47, D48), a long one in parts: the first part with a fault is reported.
    ///
    /// # Errors
    /// A fault.
    pub fn verify(&self, log: &audit::Log) -> Result<audit::Report, CallError> {
        verify::verify(self, log)
    }

    /// The JSON twin: `input` and result are JSON text; the inner error is a refusal, or a list of faults, as JSON text.
    ///
    /// # Errors
    /// A fault.
    pub fn json(&self, function: &str, input: &str) -> Result<Result<String, String>, CallError> {
        let fuel = match function {
            "verify" => verify::fuel(input.len() / verify::ENTRY_BYTES_LEAST),
            _ => FUEL,
        };
        self.call(fuel, |core, store| core.sondeo_policy_json().call_call(store, function, input))
    }

    fn decide<T>(
        &self,
        function: impl Fn(&Core, &mut Store<Memory>) -> wasmtime::Result<Result<T, Refusal>>,
    ) -> Result<T, CallError> {
        self.call(FUEL, function)?.map_err(CallError::Refused)
    }

    fn call<T>(
        &self,
        fuel: u64,
        function: impl Fn(&Core, &mut Store<Memory>) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        self.0.pool.call(fuel, function)
    }
}
