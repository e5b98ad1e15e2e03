//! What goes into a store and comes out of it. Instants are milliseconds since 1970-01-01T00:00:00Z.

use std::fmt;
use std::sync::Arc;

/// Where an operation stands; the record's own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing is to be done before the next instant.
    Waiting,
    /// A person has to approve the next request (D41).
    Asking,
    /// A request was charged and may be on its way (D19).
    Polling,
    /// Waiting has ended without an accepted result (D33).
    Escalated,
    /// Ended for good (D32).
    Settled,
}

impl Phase {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 5] = [Self::Waiting, Self::Asking, Self::Polling, Self::Escalated, Self::Settled];

    /// The word as the record and the store write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Asking => "asking",
            Self::Polling => "polling",
            Self::Escalated => "escalated",
            Self::Settled => "settled",
        }
    }

    /// The phase that `word` names, whole and exactly.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == word)
    }

    /// Whether the operation still holds its job (D4): anything but settled.
    pub const fn holds_job(self) -> bool {
        !matches!(self, Self::Settled)
    }

    /// Whether waiting has ended (D32).
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Escalated | Self::Settled)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One budget: what was spent of it, and how much it allows. What was spent never goes down (D22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Spent so far.
    pub used: u32,
    /// Allowed in all.
    pub max: u32,
}

/// The columns derived from a record: what the store searches, tests and counts by. The record stays the truth; `verify`
/// compares the two ([`compare`](super::columns::compare)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// The operation's id; never changes.
    pub operation_id: String,
    /// The tenant; never changes.
    pub namespace: String,
    /// The contract's id; never changes.
    pub contract_id: String,
    /// The account's label; never changes.
    pub account: String,
    /// The provider's job id, then the followed ids (D28). Only ever grows. Empty while a submission's fate is unknown (D3).
    pub jobs: Vec<String>,
    /// SHA-256 of the contract's text as stored, lower-case hex. Changes by a decision only (D33, amend).
    pub contract_digest: String,
    /// SHA-256 of the component, lower-case hex (D48).
    pub component_digest: String,
    /// Where it stands.
    pub phase: Phase,
    /// Why it escalated (D33).
    pub reason: Option<String>,
    /// The provider's last known word.
    pub state: Option<String>,
    /// The next instant at which something is to be done: a poll, an approval's end, an account's pause.
    pub next_at: Option<u64>,
    /// The earlier of `deadline_at` and `useful_until` (D17). No charge at or after it. Changes by a decision only.
    pub deadline_at: u64,
    /// The number of entries.
    pub revision: u64,
    /// The revision of the last ending, decision or change of limits (D38).
    pub authority_revision: u64,
    /// The last fencing number given out; 0 before the first (D42).
    pub fence: u64,
    /// The end of the lease: present in [`Phase::Polling`] and in no other (D42).
    pub lease_expires_at: Option<u64>,
    /// Status requests (D19). `used` rises by a charge only; `max` changes by a decision only.
    pub requests: Budget,
    /// Exchanges from which nothing was learnt (D20).
    pub failures: Budget,
    /// Throttled exchanges (D21).
    pub throttles: Budget,
    /// SHA-256 of the last entry, lower-case hex (D47).
    pub head: String,
    /// SHA-256 of the record's text, lower-case hex.
    pub record_sha256: String,
    /// When it was opened; never changes.
    pub started_at: u64,
    /// Who opened it; never changes.
    pub opened_by: String,
    /// The outcome it ended with, if it did.
    pub outcome: Option<String>,
}

/// The host's mark on a row whose component trapped or broke its bounds: nothing is sent for it until a step writes the
/// entry for it (D33, `policy_fault`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happened, in a word or two.
    pub kind: String,
    /// When.
    pub at: u64,
}

/// An operation as it is stored, for reading. Neither digest nor log has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The columns as stored.
    pub row: Derived,
    /// The record's text.
    pub record: String,
    /// The host's mark, if it bears one.
    pub mark: Option<Fault>,
}

/// An operation as a step starts from it: the record's digest and the contract's digest have been checked.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The columns as stored.
    pub row: Derived,
    /// The record's text.
    pub record: String,
    /// The text of the contract that is pinned.
    pub contract: Arc<str>,
    /// The store's clock, read after the record: the `at` of the event.
    pub at: u64,
    /// The host's mark, if it bears one.
    pub mark: Option<Fault>,
}

impl Loaded {
    /// The fencing number that the next lease bears (D42).
    pub fn next_fence(&self) -> u64 {
        self.row.fence.saturating_add(1)
    }
}

/// One line of an operation's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1.
    pub seq: u64,
    /// Its own SHA-256 (D47), lower-case hex.
    pub sha256: String,
    /// Its text, as the component wrote it.
    pub text: String,
}

/// What a step pays for: one status request under a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// The number of the request: what is used after the charge.
    pub attempt: u32,
    /// The fencing number of the lease (D42).
    pub fence: u64,
    /// When the lease ends.
    pub lease_expires_at: u64,
}

/// A value that the log names only by its digest (D11, D31).
#[derive(Clone, PartialEq, Eq)]
pub struct KeptRow {
    /// The digest by which the log names it, lower-case hex.
    pub sha256: String,
    /// What it is for.
    pub role: String,
    /// Whether `value` is encrypted.
    pub sealed: bool,
    /// The value, or its sealed form.
    pub value: Vec<u8>,
}

impl fmt::Debug for KeptRow {
    /// Never shows the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptRow")
            .field("sha256", &self.sha256)
            .field("role", &self.role)
            .field("sealed", &self.sealed)
            .field("bytes", &self.value.len())
            .finish()
    }
}

/// A contract's text under its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractText {
    /// SHA-256 of `text`, lower-case hex.
    pub digest: String,
    /// The text.
    pub text: String,
}

/// A component under its digest (D48).
#[derive(Clone, PartialEq, Eq)]
pub struct Component {
    /// SHA-256 of `bytes`, lower-case hex.
    pub digest: String,
    /// SHA-256 of the core module within, lower-case hex.
    pub core_digest: String,
    /// The version that it gives of itself.
    pub version: String,
    /// The component, byte for byte.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component")
            .field("digest", &self.digest)
            .field("core_digest", &self.core_digest)
            .field("version", &self.version)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// What a step asks the store to save, whole or not at all.
#[derive(Debug, Clone)]
pub struct Staged {
    /// The new record.
    pub record: String,
    /// The columns that derive from it.
    pub derived: Derived,
    /// Its one entry: without an entry nothing changes (I12).
    pub entry: Entry,
    /// Present where the step pays for a request.
    pub charge: Option<Charge>,
    /// Saves only while the row bears this fencing number: for an answer (I4).
    pub expect_fence: Option<u64>,
    /// Whether a decision stands behind it, which alone may change maxima, deadline and contract, or lead out of an escalation.
    pub authority: bool,
    /// Whether the entry accounts for the host's mark, which goes with it (D33, `policy_fault`).
    pub clears_mark: bool,
    /// Values to keep with the step that names them.
    pub kept: Vec<KeptRow>,
    /// Roles of kept values that end with this step (D31).
    pub drops: Vec<String>,
    /// A contract that the step brings (amend).
    pub contract: Option<ContractText>,
    /// A component that the step brings.
    pub component: Option<Component>,
}

impl Staged {
    /// A plain step: no charge, no authority, nothing kept.
    pub fn new(record: String, derived: Derived, entry: Entry) -> Self {
        Self {
            record,
            derived,
            entry,
            charge: None,
            expect_fence: None,
            authority: false,
            clears_mark: false,
            kept: Vec::new(),
            drops: Vec::new(),
            contract: None,
            component: None,
        }
    }
}

/// What a job is unique by (D4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobKey {
    /// The tenant.
    pub namespace: String,
    /// The contract's id.
    pub contract_id: String,
    /// The account's label.
    pub account: String,
    /// The provider's job id, all parts as one text.
    pub job: String,
}

/// What an opening starts from.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The store's clock: the `at` of the event.
    pub at: u64,
    /// The operation that holds the job, else the last one that had it (D4).
    pub existing: Option<Stored>,
}

/// What is to be done with an opening.
#[derive(Debug, Clone)]
pub enum Open {
    /// Save a new operation, from revision 1.
    Create(Box<Staged>),
    /// Let the existing one answer.
    UseExisting,
}

/// What became of an opening.
#[derive(Debug, Clone)]
pub enum Opened {
    /// A new operation.
    Created(Saved),
    /// The one that there was; nothing was saved (D4).
    Exists(Box<Stored>),
}

/// A step that was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The revision after it.
    pub revision: u64,
    /// Followed ids that another operation holds: both go on, and say so (D4).
    pub contested: Vec<Contested>,
}

/// A followed id that another operation holds (D4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contested {
    /// The id.
    pub job: String,
    /// The operation that holds it.
    pub holder: String,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was asked for, or it isn't due; nothing changed.
    Unchanged,
    /// Saved whole. With a charge staged, the charge is in it: the request is paid for.
    Saved(Saved),
    /// The charging statement changed nothing, so nothing was saved: send nothing, look again (D19).
    ChargeRefused,
}

/// What became of one operation among several.
#[derive(Debug)]
pub struct Claimed {
    /// Which.
    pub operation_id: String,
    /// When it fell due.
    pub due_at: u64,
    /// What became of it; an error is its own and touched no other.
    pub result: Result<Outcome, super::StoreError>,
}

/// Which due operations to claim: in the order in which they fell due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// At most so many.
    pub limit: u32,
    /// Only those behind this one: its `due_at` and id, from [`Claimed`]. Passes over what nobody has room for at present.
    pub after: Option<(u64, String)>,
}

/// Which operations to list; an absent or empty field admits all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this tenant.
    pub namespace: Option<String>,
    /// In one of these phases.
    pub phases: Vec<Phase>,
    /// Of this contract.
    pub contract_id: Option<String>,
    /// Only those that bear the host's mark.
    pub marked: bool,
    /// Only those behind this cursor, from [`Page::next`].
    pub after: Option<u64>,
    /// At most so many.
    pub limit: u32,
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The columns as stored.
    pub row: Derived,
    /// The host's mark, if it bears one.
    pub mark: Option<Fault>,
}

/// A row that can't be read (D47).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlisted {
    /// Which operation's, or which row where not even that can be read.
    pub operation_id: String,
    /// Why.
    pub why: String,
}

/// A part of a list, the latest opening first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The lines.
    pub rows: Vec<Listed>,
    /// The rows among them that can't be read; the others go on.
    pub damaged: Vec<Unlisted>,
    /// Where the next part starts; absent at the end.
    pub next: Option<u64>,
}

/// How many operations of a tenant are in a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The tenant.
    pub namespace: String,
    /// The phase.
    pub phase: Phase,
    /// How many.
    pub operations: u64,
}
