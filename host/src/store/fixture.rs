//! Operations for tests, and the stores they live in.

use std::time::Duration;

use super::bounds::sha256;
use super::types::{Budget, Charge, Component, ContractText, Derived, Entry, JobKey, Open, Opened, Phase, Staged};
use super::{Loaded, Saved, Store};

/// When operations of a fixture are opened, and a bench's clock starts.
pub(crate) const START: u64 = 1_800_000_000_000;
/// When they are first due.
pub(crate) const DUE: u64 = START + 5_000;
/// When they may be polled no more.
pub(crate) const DEADLINE: u64 = START + 3_600_000;
/// How long a lease lasts.
pub(crate) const LEASE: u64 = 60_000;

/// One set of stored data, and handles to it.
pub(crate) trait Bench {
    /// One more handle, as another process would have.
    fn store(&self) -> Box<dyn Store>;
    /// Moves the store's clock on.
    fn advance(&self, by: Duration);
}

pub(crate) fn contract() -> ContractText {
    let text = r#"{"format":"sondeo.contract/1","id":"acme"}"#.to_owned();
    ContractText { digest: sha256(text.as_bytes()), text }
}

pub(crate) fn component() -> Component {
    let bytes = b"\0asm component".to_vec();
    Component { digest: sha256(&bytes), core_digest: sha256(b"\0asm"), version: "0.1.0".to_owned(), bytes }
}

pub(crate) fn key(job: &str) -> JobKey {
    JobKey {
        namespace: "default".to_owned(),
        contract_id: "acme".to_owned(),
        account: "main".to_owned(),
        job: job.to_owned(),
    }
}

/// The first revision of an operation on `job`.
pub(crate) fn derived(id: &str, job: &str) -> Derived {
    let key = key(job);
    let budget = |max| Budget { used: 0, max };
    Derived {
        operation_id: id.to_owned(),
        namespace: key.namespace,
        contract_id: key.contract_id,
        account: key.account,
        jobs: vec![key.job],
        contract_digest: contract().digest,
        component_digest: component().digest,
        phase: Phase::Waiting,
        reason: None,
        state: None,
        next_at: Some(DUE),
        deadline_at: DEADLINE,
        revision: 1,
        authority_revision: 1,
        fence: 0,
        lease_expires_at: None,
        requests: budget(5),
        failures: budget(3),
        throttles: budget(3),
        head: String::new(),
        record_sha256: String::new(),
        started_at: START,
        opened_by: "cli".to_owned(),
        outcome: None,
    }
}

/// A record and an entry for these columns.
pub(crate) fn stage(mut derived: Derived) -> Staged {
    let record = format!(r#"{{"id":"{}","revision":{}}}"#, derived.operation_id, derived.revision);
    let text = format!(r#"{{"seq":{},"of":"{}"}}"#, derived.revision, derived.operation_id);
    derived.record_sha256 = sha256(record.as_bytes());
    derived.head = sha256(text.as_bytes());
    let entry = Entry { seq: derived.revision, sha256: derived.head.clone(), text };
    Staged::new(record, derived, entry)
}

pub(crate) fn opening(id: &str, job: &str) -> Staged {
    stage(derived(id, job))
}

/// The next revision, changed by `change`.
pub(crate) fn next(old: &Derived, change: impl FnOnce(&mut Derived)) -> Staged {
    let mut new = old.clone();
    new.revision += 1;
    change(&mut new);
    stage(new)
}

/// The next revision with the next request paid for.
pub(crate) fn charge(old: &Derived, lease_expires_at: u64) -> Staged {
    let charge = Charge { attempt: old.requests.used + 1, fence: old.fence + 1, lease_expires_at };
    charge_as(old, charge)
}

/// The next revision under a charge as given.
pub(crate) fn charge_as(old: &Derived, charge: Charge) -> Staged {
    let mut staged = next(old, |new| {
        new.requests.used += 1;
        new.fence = charge.fence;
        new.lease_expires_at = Some(charge.lease_expires_at);
        new.phase = Phase::Polling;
    });
    staged.charge = Some(charge);
    staged
}

/// What a worker stages for an operation that is due.
pub(crate) fn lease(loaded: &Loaded) -> Staged {
    charge(&loaded.row, loaded.at + LEASE)
}

/// The answer that says: not yet.
pub(crate) fn pending(loaded: &Loaded) -> Staged {
    let next_at = Some(loaded.at + 5_000);
    next(&loaded.row, |new| {
        new.phase = Phase::Waiting;
        new.next_at = next_at;
        new.lease_expires_at = None;
        new.state = Some("RUNNING".to_owned());
    })
}

/// The answer that ends it.
pub(crate) fn settled(old: &Derived) -> Staged {
    next(old, |new| {
        new.phase = Phase::Settled;
        new.next_at = None;
        new.lease_expires_at = None;
        new.outcome = Some("succeeded".to_owned());
    })
}

/// A store's contract and component, which every operation points to.
pub(crate) fn prepare(store: &dyn Store) {
    store.put_contract(&contract()).unwrap();
    store.put_component(&component()).unwrap();
}

/// Opens an operation that has to be new.
pub(crate) fn open(store: &dyn Store, staged: Staged) -> Saved {
    prepare(store);
    let job = staged.derived.jobs.first().map(|job| key(job));
    let opened = store.open_operation(job.as_ref(), &mut |_| Ok(Open::Create(Box::new(staged.clone()))));
    match opened.unwrap() {
        Opened::Created(saved) => saved,
        Opened::Exists(stored) => panic!("`{}` has the job", stored.row.operation_id),
    }
}
