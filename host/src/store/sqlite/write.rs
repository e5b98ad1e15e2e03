//! Writing: each function inside a transaction that already holds the write lock.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::read;
use super::sql::{all, first, get, int, run, write};
use super::statements as st;
use crate::clock::Clock;
use crate::store::bounds::{check_opening, check_step, sha256};
use crate::store::error::StoreError;
use crate::store::types::{
    Claimed, Component, Contested, ContractText, Derived, Due, JobKey, Loaded, Open, Opened, Opening, Outcome, Phase,
    Saved, Staged, Stored,
};
use crate::store::{OpenFn, StageFn};

/// The contracts in use, read and checked once.
pub(super) type Contracts = HashMap<String, Arc<str>>;

/// Contracts are few; past this many the cache starts afresh.
const CONTRACTS_MAX: usize = 256;

/// A transaction that holds the write lock.
pub(super) struct Writer<'a> {
    pub(super) conn: &'a Connection,
    pub(super) clock: &'a dyn Clock,
    pub(super) contracts: &'a mut Contracts,
}

/// An operation as a step starts from it, and its row.
struct Start {
    id: i64,
    loaded: Loaded,
}

impl Writer<'_> {
    /// Opens an operation, or returns the one that there is (D4).
    pub(super) fn open(&mut self, key: Option<&JobKey>, stage: &mut OpenFn<'_>) -> Result<Opened, StoreError> {
        let existing = match key {
            Some(key) => read::job(self.conn, key)?,
            None => None,
        };
        let at = self.clock.now_ms();
        let opening = Opening { at, existing };
        let staged = match stage(&opening).map_err(StoreError::Refused)? {
            Open::Create(staged) => staged,
            Open::UseExisting => {
                let missing = || key.map_or_else(String::new, |key| key.job.clone());
                let found = opening.existing.ok_or_else(|| StoreError::NotFound(missing()));
                return Ok(Opened::Exists(Box::new(found?)));
            }
        };
        check_opening(&staged).map_err(StoreError::Bounds)?;
        if let Some(holder) = self.holder(&staged.derived, staged.derived.jobs.first())? {
            let found = read::operation(self.conn, &holder)?;
            let (stored, _) = found.ok_or(StoreError::NotFound(holder))?;
            return Ok(Opened::Exists(Box::new(stored)));
        }
        self.bring(&staged)?;
        write(self.conn, st::INSERT, None, &staged)?;
        let id = self.conn.last_insert_rowid();
        self.finish(id, &[], &staged).map(Opened::Created)
    }

    /// One step of the operation with this id, in a savepoint: it changes all it stages, or nothing.
    pub(super) fn step(
        &mut self,
        operation_id: &str,
        stage: &mut StageFn<'_>,
    ) -> Result<Result<Outcome, StoreError>, StoreError> {
        run(self.conn, "SAVEPOINT step", [])?;
        let result = self.try_step(operation_id, stage);
        match &result {
            Ok(Outcome::Saved(_)) => {}
            Err(error) if !error.is_local() => return result.map(Ok),
            Ok(Outcome::Unchanged | Outcome::ChargeRefused) | Err(_) => {
                run(self.conn, "ROLLBACK TO step", [])?;
            }
        }
        run(self.conn, "RELEASE step", [])?;
        Ok(result)
    }

    /// Claims what is due, in the order in which it fell due, a savepoint each.
    pub(super) fn claim_due(&mut self, due: &Due, stage: &mut StageFn<'_>) -> Result<Vec<Claimed>, StoreError> {
        let now = int("now", self.clock.now_ms())?;
        let read = |row: &rusqlite::Row<'_>| Ok((get::<String>(row, 0)?, super::sql::count(row, 1)?));
        let found = match &due.after {
            None => all(self.conn, st::DUE, params![now, due.limit], read)?,
            Some((at, id)) => {
                let at = int("after", *at)?;
                let params = params![now, due.limit, at, id];
                all(self.conn, st::DUE_AFTER, params, read)?
            }
        };
        let mut out = Vec::with_capacity(found.len());
        for (operation_id, due_at) in found {
            let result = self.step(&operation_id, stage)?;
            out.push(Claimed { operation_id, due_at, result });
        }
        Ok(out)
    }

    /// Claims one operation, if it is due.
    pub(super) fn claim(&mut self, operation_id: &str, stage: &mut StageFn<'_>) -> Result<Outcome, StoreError> {
        let now = int("now", self.clock.now_ms())?;
        let due = first(self.conn, st::DUE_ONE, params![operation_id, now], |row| get::<bool>(row, 0))?;
        match due {
            None => Err(StoreError::NotFound(operation_id.to_owned())),
            Some(false) => Ok(Outcome::Unchanged),
            Some(true) => self.step(operation_id, stage)?,
        }
    }

    /// Marks a row for a fault of its component (D33); a mark that is there already stays.
    pub(super) fn mark(
        &mut self,
        operation_id: &str,
        revision: Option<u64>,
        kind: &str,
        at: u64,
    ) -> Result<(), StoreError> {
        let expected = revision.map(|r| int("revision", r)).transpose()?;
        let found = first(
            self.conn,
            "SELECT revision, phase = 'settled', mark_kind IS NOT NULL FROM operations WHERE operation_id = ?1",
            [operation_id],
            |row| Ok((super::sql::count(row, 0)?, get(row, 1)?, get(row, 2)?)),
        )?;
        let id = operation_id.to_owned();
        let (found, settled, marked): (u64, bool, bool) = found.ok_or_else(|| StoreError::NotFound(id.clone()))?;
        if settled {
            return Err(StoreError::Settled(id));
        }
        if let Some(expected) = revision.filter(|expected| *expected != found) {
            return Err(StoreError::Stale { id, expected, found });
        }
        if !marked {
            let at = int("at", at)?;
            let params = rusqlite::named_params! {
                ":operation_id": operation_id, ":revision": expected, ":kind": kind, ":at": at
            };
            run(self.conn, st::MARK, params)?;
        }
        Ok(())
    }

    /// Drops the values kept in a role (D31); how many there were.
    pub(super) fn drop_kept(&mut self, operation_id: &str, role: &str) -> Result<usize, StoreError> {
        let id: Option<i64> = first(self.conn, st::ROW_ID, [operation_id], |row| get(row, 0))?;
        let id = id.ok_or_else(|| StoreError::NotFound(operation_id.to_owned()))?;
        run(self.conn, st::DROP, params![id, role])
    }

    /// Stores a contract under its digest.
    pub(super) fn put_contract(&mut self, contract: &ContractText) -> Result<(), StoreError> {
        own_digest("the contract", &contract.digest, contract.text.as_bytes())?;
        let params = [&contract.digest, &contract.text];
        run(self.conn, st::PUT_CONTRACT, params).map(|_| ())
    }

    /// Stores a component under its digest.
    pub(super) fn put_component(&mut self, component: &Component) -> Result<(), StoreError> {
        own_digest("the component", &component.digest, &component.bytes)?;
        let params = params![component.digest, component.core_digest, component.version, component.bytes];
        run(self.conn, st::PUT_COMPONENT, params).map(|_| ())
    }

    fn try_step(&mut self, operation_id: &str, stage: &mut StageFn<'_>) -> Result<Outcome, StoreError> {
        let start = self.load(operation_id)?;
        match stage(&start.loaded).map_err(StoreError::Refused)? {
            Some(staged) => self.save(&start, &staged),
            None => Ok(Outcome::Unchanged),
        }
    }

    /// Reads an operation for a step. A record that isn't what was stored is never stepped (D47).
    fn load(&mut self, operation_id: &str) -> Result<Start, StoreError> {
        let found = read::operation(self.conn, operation_id)?;
        let (stored, id) = found.ok_or_else(|| StoreError::NotFound(operation_id.to_owned()))?;
        let Stored { row, record, mark } = stored;
        let found = sha256(record.as_bytes());
        if found != row.record_sha256 {
            return Err(StoreError::Damaged {
                what: format!("operation `{operation_id}`, its record"),
                why: format!("it has the digest `{found}`"),
            });
        }
        self.check_tail(id, &row)?;
        let contract = self.contract(&row.contract_digest)?;
        Ok(Start { id, loaded: Loaded { row, record, contract, at: self.clock.now_ms(), mark } })
    }

    /// The log ends with the entry that the row names; one that was cut is not gone on with (D47).
    fn check_tail(&self, id: i64, row: &Derived) -> Result<(), StoreError> {
        let seq = int("revision", row.revision)?;
        let found: Option<String> = first(self.conn, st::ENTRY_DIGEST, params![id, seq], |row| get(row, 0))?;
        if found.as_ref() == Some(&row.head) {
            return Ok(());
        }
        let why = match found {
            None => "is missing",
            Some(_) => "is not the one that its record ends with",
        };
        Err(StoreError::Damaged {
            what: format!("operation `{}`, its log", row.operation_id),
            why: format!("entry {seq} {why}"),
        })
    }

    fn contract(&mut self, digest: &str) -> Result<Arc<str>, StoreError> {
        if let Some(text) = self.contracts.get(digest) {
            return Ok(text.clone());
        }
        let text = read::contract(self.conn, digest)?.ok_or_else(|| StoreError::Damaged {
            what: format!("contract `{digest}`"),
            why: "it is missing".to_owned(),
        })?;
        let text: Arc<str> = text.into();
        if self.contracts.len() >= CONTRACTS_MAX {
            self.contracts.clear();
        }
        self.contracts.insert(digest.to_owned(), text.clone());
        Ok(text)
    }

    fn save(&mut self, start: &Start, staged: &Staged) -> Result<Outcome, StoreError> {
        let Loaded { row, mark, .. } = &start.loaded;
        let id = || row.operation_id.clone();
        if row.phase == Phase::Settled {
            return Err(StoreError::Settled(id()));
        }
        check_step(row, mark.is_some(), staged).map_err(StoreError::Bounds)?;
        if staged.charge.is_some() {
            // INVARIANT (paid-first): nothing is written before or beside a charge that failed.
            if write(self.conn, st::CHARGE, Some(start.id), staged)? == 0 {
                return Ok(Outcome::ChargeRefused);
            }
            return self.finish(start.id, &row.jobs, staged).map(Outcome::Saved);
        }
        if mark.is_some() && !staged.clears_mark {
            return Err(StoreError::Marked(id()));
        }
        if let Some(given) = staged.expect_fence.filter(|given| *given != row.fence) {
            return Err(StoreError::Fenced { id: id(), given, found: row.fence });
        }
        self.bring(staged)?;
        let statement = if staged.authority { st::SAVE_DECISION } else { st::SAVE };
        if write(self.conn, statement, Some(start.id), staged)? == 0 {
            return Err(StoreError::Stale {
                id: id(),
                expected: staged.derived.revision.saturating_sub(1),
                found: row.revision,
            });
        }
        self.finish(start.id, &row.jobs, staged).map(Outcome::Saved)
    }

    /// What the row is about to point to.
    fn bring(&mut self, staged: &Staged) -> Result<(), StoreError> {
        if let Some(contract) = &staged.contract {
            self.put_contract(contract)?;
        }
        if let Some(component) = &staged.component {
            self.put_component(component)?;
        }
        Ok(())
    }

    /// What belongs to the row that was just written: entry, jobs, values kept and dropped.
    fn finish(&mut self, id: i64, old_jobs: &[String], staged: &Staged) -> Result<Saved, StoreError> {
        let (new, entry) = (&staged.derived, &staged.entry);
        let seq = int("entry", entry.seq)?;
        run(self.conn, st::ENTRY, params![id, seq, entry.sha256, entry.text])?;
        for kept in &staged.kept {
            let params = params![id, kept.role, kept.sha256, kept.sealed, kept.value];
            run(self.conn, st::KEEP, params)?;
        }
        for role in &staged.drops {
            run(self.conn, st::DROP, params![id, role])?;
        }
        let contested = self.take_jobs(id, old_jobs.len(), new)?;
        if new.phase == Phase::Settled {
            self.release_jobs(id, new)?;
        }
        Ok(Saved { revision: new.revision, contested })
    }

    /// Takes the ids from the one at `from`. A followed id that another operation holds is noted, the job itself is refused (D4).
    fn take_jobs(&mut self, id: i64, from: usize, new: &Derived) -> Result<Vec<Contested>, StoreError> {
        let mut contested = Vec::new();
        for (position, job) in new.jobs.iter().enumerate().skip(from) {
            let place = i64::try_from(position).unwrap_or(i64::MAX);
            let take = |live: bool| {
                let key = (&new.namespace, &new.contract_id, &new.account);
                let params = params![id, place, key.0, key.1, key.2, job, live];
                run(self.conn, st::JOB_TAKE, params)
            };
            let own = new.jobs.iter().take(position).any(|earlier| earlier == job);
            if own || new.phase == Phase::Settled {
                take(false)?;
                continue;
            }
            if take(true)? == 1 {
                continue;
            }
            let holder = self.holder(new, Some(job))?.unwrap_or_default();
            let job = job.clone();
            if position == 0 {
                return Err(StoreError::JobTaken { job, holder });
            }
            take(false)?;
            contested.push(Contested { job, holder });
        }
        Ok(contested)
    }

    /// The operation that holds `job` of the same contract and account.
    fn holder(&self, of: &Derived, job: Option<&String>) -> Result<Option<String>, StoreError> {
        let Some(job) = job else { return Ok(None) };
        let key = [&of.namespace, &of.contract_id, &of.account, job];
        first(self.conn, st::JOB_HOLDER, key, |row| get(row, 0))
    }

    fn release_jobs(&mut self, id: i64, of: &Derived) -> Result<(), StoreError> {
        if run(self.conn, st::JOB_RELEASE, [id])? == 0 {
            return Ok(());
        }
        for job in &of.jobs {
            if self.holder(of, Some(job))?.is_none() {
                let key = [&of.namespace, &of.contract_id, &of.account, job];
                run(self.conn, st::JOB_HAND_ON, key)?;
            }
        }
        Ok(())
    }
}

fn own_digest(what: &'static str, given: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let found = sha256(bytes);
    if found == given {
        return Ok(());
    }
    Err(StoreError::Digest { what, given: given.to_owned(), found })
}
