//! Where operations live: one trait, a handful of verbs, one file a dialect.
//!
//! A store knows nothing of what a record means, nor of who decides. It keeps the record's text beside columns derived from
//! it, and lets a caller decide inside its transaction: it loads an operation, reads its clock, calls the closure it was given,
//! and saves what the closure stages, whole or not at all. What it promises, whatever the caller does:
//!
//! - a state change and its entry are one transaction; entry numbers have no gap (I12);
//! - a request is paid for by one conditional statement over the store's own columns and clock (D19, I1, I2);
//! - used counts, fences, revisions and entry numbers never go down (D22, I5);
//! - limits change by a saved decision only (D22, I6), and a settled operation never changes (D32);
//! - one job has one open operation (D4);
//! - on any error nothing of that step was saved, and what was saved before is as it was (I14).

mod bounds;
pub mod columns;
pub mod error;
pub mod sqlite;
pub mod types;

use std::path::Path;

pub use columns::{Mismatch, compare};
pub use error::{Bound, BoxError, StoreError};
pub use sqlite::SqliteStore;
pub use types::{
    Budget, Charge, Claimed, Component, Contested, ContractText, Count, Derived, Due, Entry, Fault, Filter, JobKey,
    KeptRow, Listed, Loaded, Open, Opened, Opening, Outcome, Page, Phase, Saved, Staged, Stored, Unlisted,
};

/// Decides one step inside the store's transaction. `None` changes nothing; an error of its own changes nothing and comes back
/// as [`StoreError::Refused`].
pub type StageFn<'a> = dyn FnMut(&Loaded) -> Result<Option<Staged>, BoxError> + 'a;

/// [`StageFn`] for several operations: the number is the place in the list that was asked for.
pub type BatchFn<'a> = dyn FnMut(usize, &Loaded) -> Result<Option<Staged>, BoxError> + 'a;

/// Decides an opening inside the store's transaction.
pub type OpenFn<'a> = dyn FnMut(&Opening) -> Result<Open, BoxError> + 'a;

/// The verbs. Every one blocks; reading never waits for writing. A closure runs under the store's write lock: it computes, and
/// neither waits nor calls the store.
pub trait Store: Send + Sync {
    /// The store's clock: milliseconds since 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// Where the clock is a server's, that it can't be asked.
    fn now(&self) -> Result<u64, StoreError>;

    /// Keeps a contract under its digest (D48); one that is there already stays.
    ///
    /// # Errors
    /// [`StoreError::Digest`] where the digest isn't the text's.
    fn put_contract(&self, contract: &ContractText) -> Result<(), StoreError>;

    /// The text of a contract.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] where the text no longer has this digest.
    fn contract(&self, digest: &str) -> Result<Option<String>, StoreError>;

    /// Keeps a component under its digest (D48); one that is there already stays.
    ///
    /// # Errors
    /// [`StoreError::Digest`] where the digest isn't that of its bytes.
    fn put_component(&self, component: &Component) -> Result<(), StoreError>;

    /// A component.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] where its bytes no longer have this digest.
    fn component(&self, digest: &str) -> Result<Option<Component>, StoreError>;

    /// Opens an operation, in one transaction: finds what already has the job `key`, ended or not, and lets the closure create
    /// another or leave it at that (D4). Without a key (a submission whose fate is unknown, D3) there is nothing to find. Where
    /// an open operation holds the job that the closure stages, it is returned and nothing is saved.
    ///
    /// # Errors
    /// [`StoreError::Bounds`] where the staged operation isn't a first revision; contract and component have to be there or come
    /// along.
    fn open_operation(&self, key: Option<&JobKey>, stage: &mut OpenFn<'_>) -> Result<Opened, StoreError>;

    /// Steps several operations in one transaction, in this order; each changes all that its closure stages, or nothing, and
    /// none is touched by another's error. They become durable together.
    ///
    /// # Errors
    /// Outside, what fails the whole transaction: nothing of it was saved. Inside, what concerns one operation
    /// ([`StoreError::is_local`]).
    fn steps(&self, ids: &[&str], stage: &mut BatchFn<'_>) -> Result<Vec<Result<Outcome, StoreError>>, StoreError>;

    /// Steps one operation.
    ///
    /// # Errors
    /// As [`Store::steps`].
    fn step(&self, id: &str, stage: &mut StageFn<'_>) -> Result<Outcome, StoreError> {
        let mut results = self.steps(&[id], &mut |_, loaded| stage(loaded))?;
        results.pop().unwrap_or(Ok(Outcome::Unchanged))
    }

    /// Claims what is due by the store's clock, in one transaction: neither ended nor marked, nor under a lease that lives
    /// (D42). The next lease bears [`Loaded::next_fence`]. A closure that has no room for an operation returns `None`.
    ///
    /// # Errors
    /// As [`Store::steps`].
    fn claim_due(&self, due: &Due, stage: &mut StageFn<'_>) -> Result<Vec<Claimed>, StoreError>;

    /// Claims one operation; where it isn't due, the closure isn't called and the outcome is [`Outcome::Unchanged`].
    ///
    /// # Errors
    /// As [`Store::steps`].
    fn claim(&self, id: &str, stage: &mut StageFn<'_>) -> Result<Outcome, StoreError>;

    /// Marks a row for a fault of its component: it is no longer due, and only a step that clears the mark is saved (D33). A
    /// mark that is there stays. Without a revision, whatever revision there is.
    ///
    /// # Errors
    /// [`StoreError::Stale`] at another revision, [`StoreError::Settled`] after the end.
    fn mark_fault(&self, id: &str, revision: Option<u64>, kind: &str, at: u64) -> Result<(), StoreError>;

    /// Drops the values kept in a role (D31); how many there were.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    fn drop_kept(&self, id: &str, role: &str) -> Result<usize, StoreError>;

    /// An operation as it is stored.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] where a column can't be read.
    fn get(&self, id: &str) -> Result<Option<Stored>, StoreError>;

    /// The operation that holds a job, else the last that had it (D4).
    ///
    /// # Errors
    /// As [`Store::get`].
    fn find_job(&self, key: &JobKey) -> Result<Option<Stored>, StoreError>;

    /// Ids that start with `prefix`, in their order, at most `limit`.
    ///
    /// # Errors
    /// What the engine says.
    fn find_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>, StoreError>;

    /// A part of the list of operations, the latest opening first. A row that can't be read is named and hides no other.
    ///
    /// # Errors
    /// What the engine says.
    fn list(&self, filter: &Filter) -> Result<Page, StoreError>;

    /// A part of an operation's log, from a number on. Entries only ever follow: those up to the revision of a row that was read
    /// before belong to it.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn entries(&self, id: &str, from_seq: u64, limit: u32) -> Result<Vec<Entry>, StoreError>;

    /// The values kept for an operation, by role.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn kept(&self, id: &str) -> Result<Vec<KeptRow>, StoreError>;

    /// When the next operation falls due, in the past where one already has; `None` where nothing waits.
    ///
    /// # Errors
    /// What the engine says.
    fn next_due(&self) -> Result<Option<u64>, StoreError>;

    /// How many operations of each tenant are in each phase; none is left out but for zeros.
    ///
    /// # Errors
    /// What the engine says.
    fn counts(&self) -> Result<Vec<Count>, StoreError>;

    /// The size of the engine's own log in bytes, for the metrics; 0 where it has none to show.
    ///
    /// # Errors
    /// What the engine says.
    fn log_bytes(&self) -> Result<u64, StoreError>;

    /// What is wrong with the stored data as such (its structure, its references), a line each; empty where nothing is.
    ///
    /// # Errors
    /// What the engine says.
    fn check(&self) -> Result<Vec<String>, StoreError>;

    /// Copies the store as of one instant to a new file, while others go on writing.
    ///
    /// # Errors
    /// [`StoreError::Open`] where `to` exists; it is never replaced.
    fn backup(&self, to: &Path) -> Result<(), StoreError>;
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fixture;
