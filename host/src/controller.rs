//! Does the one thing that the component says: claim, step, save, send, save. No decision of its own.
//!
//! The order is the invariant of the whole: a request leaves after its charge has committed, and never twice. What the
//! component says is checked against bounds here and again by the store, since it may be any component.

mod credentials;
mod decide;
mod derive;
mod due;
mod open;
mod send;
mod tick;
mod values;
mod whole;

use std::sync::Arc;

pub use decide::{Choice, Deciding};
pub use derive::{asks, derived, ending_word, fault_kind, fault_word, reason_word};
pub use due::Waiting;
pub(crate) use open::sha256;
pub use open::{NewOperation, Opened};
pub use tick::Tick;
pub use values::ResultValue;

use crate::clock::Clock;
use crate::component::{CallError, Component, Components, PinnedError, types};
use crate::credential::CredentialError;
use crate::seal::{Key, SealError};
use crate::store::{BoxError, Staged, Store, StoreError, Stored};
use crate::transport::{Network, Transport};

/// What goes wrong between store, component and network.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The store didn't do as asked; nothing was half saved.
    #[error(transparent)]
    Store(StoreError),
    /// The component refused; nothing has changed.
    #[error("{}", words(.0))]
    Refused(types::Refusal),
    /// The component trapped, ran out, or broke a bound (D33, `policy_fault`).
    #[error("the decision component failed ({}): {detail}", fault_word(*.kind))]
    Faulted {
        /// How, in the words of `fault-kind`.
        kind: types::FaultKind,
        /// What is known of it.
        detail: String,
    },
    /// The component that an operation is pinned to can't decide here (D48).
    #[error(transparent)]
    Component(#[from] PinnedError<StoreError>),
    /// A credential or a key can't be read.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// A value can't be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A secret address is needed, and there is no key to open it.
    #[error(
        "operation `{0}` has a secret status address, and no sealing key is given: give the one it was opened with"
    )]
    NoKey(String),
    /// A value that should be kept isn't there.
    #[error("operation `{id}`: the {what} that its log names is not in the store")]
    Lost {
        /// Which operation.
        id: String,
        /// Which value.
        what: String,
    },
    /// Random bytes can't be had.
    #[error("the operating system gives no random bytes: {0}")]
    Random(String),
}

fn words(refusal: &types::Refusal) -> String {
    if refusal.faults.is_empty() {
        return refusal.message.clone();
    }
    let lines: Vec<String> =
        refusal.faults.iter().map(|fault| format!("\n  {}: {}", pointer(&fault.pointer), fault.message)).collect();
    match refusal.kind {
        types::RefusalKind::InvalidContract => format!("{}{}", refusal.message, lines.concat()),
        _ => refusal.message.clone(),
    }
}

/// A pointer as people read it: the whole document has a name.
pub fn pointer(pointer: &str) -> &str {
    if pointer.is_empty() { "(whole file)" } else { pointer }
}

impl From<StoreError> for ControlError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(inner) => match inner.downcast::<ControlError>() {
                Ok(own) => *own,
                Err(other) => ControlError::Store(StoreError::Refused(other)),
            },
            other => ControlError::Store(other),
        }
    }
}

impl From<CallError> for ControlError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(refusal) => ControlError::Refused(refusal),
            CallError::Faulted { kind, detail } => ControlError::Faulted { kind, detail },
        }
    }
}

impl ControlError {
    /// As an error that travels through the store's transaction.
    fn boxed(self) -> BoxError {
        Box::new(self)
    }
}

/// Fills with random bytes; in words, why it can't.
pub type Random = Box<dyn Fn(&mut [u8]) -> Result<(), String> + Send + Sync>;

/// What a controller finds around it, beside store and clock.
pub struct Surroundings {
    /// By which requests leave.
    pub network: Arc<dyn Network>,
    /// From which ids and seeds are drawn (D6).
    pub random: Random,
}

/// The parts that a wait needs, put together.
pub struct Controller {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    network: Arc<dyn Network>,
    random: Random,
    /// The component for new operations.
    component: Component,
    pinned: Components,
    key: Option<Key>,
}

impl Controller {
    /// A controller over a store. `component` decides for new operations; each operation goes on with the one that it is
    /// pinned to, from the store (D48).
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, component: Component, key: Option<Key>) -> Self {
        let surroundings = Surroundings {
            network: Arc::new(Transport::new(Arc::clone(&clock))),
            random: Box::new(|bytes| getrandom::fill(bytes).map_err(|error| error.to_string())),
        };
        Self::within(surroundings, store, clock, component, key)
    }

    /// [`Controller::new`] with another network and another source of chance, for simulation.
    pub fn within(
        surroundings: Surroundings,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        component: Component,
        key: Option<Key>,
    ) -> Self {
        let pinned = Components::new(component.clone());
        let Surroundings { network, random } = surroundings;
        Self { store, clock, network, random, component, pinned, key }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The component for new operations.
    pub fn component(&self) -> &Component {
        &self.component
    }

    /// The component that an operation is pinned to.
    ///
    /// # Errors
    /// [`ControlError::Component`] where it is neither embedded nor in the store, damaged, or doesn't load.
    pub fn pinned(&self, digest: &str) -> Result<Component, ControlError> {
        let fetch = || Ok::<_, StoreError>(self.store.component(digest)?.map(|component| component.bytes));
        Ok(self.pinned.pinned(digest, fetch)?)
    }

    /// The typed view of an operation as it is stored, by the component that it is pinned to.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], by name, where its record can't be read (D47).
    pub fn view(&self, stored: &Stored) -> Result<(Component, types::Operation), ControlError> {
        let component = self.pinned(&stored.row.component_digest)?;
        let operation = whole::readable(&component, &stored.row.operation_id, &stored.record)?;
        Ok((component, operation))
    }

    /// Marks a row whose component failed (D33); nothing is sent for it until a person has decided.
    fn mark(&self, id: &str, kind: types::FaultKind) -> Result<(), ControlError> {
        let at = self.store.now()?;
        self.store.mark_fault(id, None, fault_word(kind), at)?;
        Ok(())
    }

    /// Runs a step's closure, and marks the row where the component failed in it.
    fn guarded<T>(&self, id: &str, result: Result<T, ControlError>) -> Result<T, ControlError> {
        if let Err(ControlError::Faulted { kind, .. }) = &result {
            self.mark(id, *kind)?;
        }
        if let Err(ControlError::Store(StoreError::Bounds(bound))) = result {
            self.mark(id, types::FaultKind::OutOfBounds)?;
            return Err(ControlError::Faulted { kind: types::FaultKind::OutOfBounds, detail: bound.to_string() });
        }
        result
    }
}

/// What a transition asks the store to save; `None` where nothing has changed.
fn staged(transition: &types::Transition) -> Result<Option<Staged>, ControlError> {
    let Some(entry) = &transition.entry else {
        return Ok(None);
    };
    let operation = &transition.operation;
    let entry = crate::store::Entry { seq: operation.revision, sha256: operation.head.clone(), text: entry.clone() };
    Ok(Some(Staged::new(transition.record.clone(), derived(operation), entry)))
}
