//! The embedded store: one SQLite file, with its write-ahead log beside it.
//!
//! One connection writes, under a lock within the process and an immediate transaction between processes; readers have
//! connections of their own and wait for nobody. Every commit is synced before it returns. The clock is the host's, and the
//! charging statement asks it by a function of SQL.

mod open;
mod read;
mod schema;
mod sql;
mod statements;
mod write;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, TransactionBehavior};

use self::open::Mode;
use self::sql::fault;
use self::write::{Contracts, Writer};
use super::error::StoreError;
use super::types::{
    Claimed, Component, ContractText, Count, Due, Entry, Filter, JobKey, KeptRow, Opened, Outcome, Page, Stored,
};
use super::{BatchFn, OpenFn, StageFn, Store};
use crate::clock::Clock;

/// Idle connections kept for readers.
const READERS_MAX: usize = 4;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long a write waits for another process's before it fails with [`StoreError::Busy`].
    pub busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(10) }
    }
}

/// A store in one SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    place: String,
    mode: Mode,
    options: Options,
    clock: Arc<dyn Clock>,
    // Closed in this order: the last to close empties the write-ahead log into the file, and a reader could not.
    readers: Mutex<Vec<Connection>>,
    /// Absent where the store was opened for reading.
    writer: Option<Mutex<Writing>>,
}

/// The connection that writes, and the contracts it has checked.
struct Writing {
    conn: Connection,
    contracts: Contracts,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the store at `path`, making folder (0700) and file (0600) where they are missing, and brings it to this build's
    /// schema.
    ///
    /// # Errors
    /// What isn't a store of ours, or is of a newer release, is refused and left as it is.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::open_with(path, clock, Options::default())
    }

    /// [`SqliteStore::open`] with options.
    ///
    /// # Errors
    /// As there.
    pub fn open_with(path: &Path, clock: Arc<dyn Clock>, options: Options) -> Result<Self, StoreError> {
        open::check_library()?;
        let (path, place) = locate(path)?;
        open::make_file(&path)?;
        let conn = open::writer(&path, &place, &clock, &options).map_err(|e| e.at(&place))?;
        Ok(Self {
            path,
            place,
            mode: Mode::Read,
            options,
            clock,
            writer: Some(Mutex::new(Writing { conn, contracts: HashMap::new() })),
            readers: Mutex::default(),
        })
    }

    /// Opens the store at `path` for reading; whatever writes fails with [`StoreError::ReadOnly`]. Also where the folder can't
    /// be written, once the store was closed.
    ///
    /// # Errors
    /// As [`SqliteStore::open`]; nothing is made where nothing is.
    pub fn open_read_only(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        open::check_library()?;
        let (path, place) = locate(path)?;
        let options = Options::default();
        let mode = open::read_mode(&path, &place, &options).map_err(|e| e.at(&place))?;
        Ok(Self { path, place, mode, options, clock, writer: None, readers: Mutex::default() })
    }

    /// Runs `work` in one immediate transaction, and commits unless it fails. An error, or a panic of the caller's, leaves
    /// everything as it was.
    fn write<T>(&self, work: impl FnOnce(&mut Writer<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.try_write(work).map_err(|error| error.at(&self.place))
    }

    fn try_write<T>(&self, work: impl FnOnce(&mut Writer<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let Some(writer) = &self.writer else {
            return Err(StoreError::ReadOnly { store: String::new() });
        };
        // A panic rolled its transaction back on the way out: what the lock guards is whole.
        let mut writing = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Writing { conn, contracts } = &mut *writing;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        let out = work(&mut Writer { conn: &tx, clock: &*self.clock, contracts })?;
        tx.commit().map_err(fault)?;
        Ok(out)
    }

    /// Runs `work` on a connection that only reads.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.try_read(work).map_err(|error| error.at(&self.place))
    }

    fn try_read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle_readers().pop();
        let conn = match idle {
            Some(conn) => conn,
            None => open::reader(&self.path, &self.place, self.mode, &self.options)?,
        };
        let out = work(&conn)?;
        let mut idle = self.idle_readers();
        if idle.len() < READERS_MAX {
            idle.push(conn);
        }
        Ok(out)
    }

    fn idle_readers(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn backup_to(&self, part: &Path, to: &Path) -> Result<(), StoreError> {
        let failed = |path: &Path, error: io::Error| StoreError::Open {
            store: path.display().to_string(),
            why: error.to_string(),
        };
        if to.try_exists().map_err(|error| failed(to, error))? {
            return Err(failed(to, io::ErrorKind::AlreadyExists.into()));
        }
        open::private_file(part).map_err(|error| failed(part, error))?;
        let copied = self.read(|from| copy(from, part));
        let done = copied.and_then(|()| {
            fs::rename(part, to).and_then(|()| open::sync_folder(to)).map_err(|error| failed(to, error))
        });
        if done.is_err() {
            // Only tidying up: what failed is already known.
            drop(fs::remove_file(part));
        }
        done
    }
}

/// Copies the whole store as of one instant; writers go on meanwhile.
fn copy(from: &Connection, part: &Path) -> Result<(), StoreError> {
    let mut target = Connection::open(part).map_err(fault)?;
    let backup = Backup::new(from, &mut target).map_err(fault)?;
    match backup.step(-1).map_err(fault)? {
        StepResult::Done => {}
        _ => {
            return Err(StoreError::Busy { store: String::new() });
        }
    }
    drop(backup);
    // A copy without a log beside it; whoever opens it as a store turns the log on again.
    target.pragma_update(None, "journal_mode", "DELETE").map_err(fault)?;
    target.close().map_err(|(_, error)| fault(error))
}

/// The path made absolute, so that neither `file:` nor `:memory:` means anything, and the path as shown.
fn locate(path: &Path) -> Result<(PathBuf, String), StoreError> {
    let place = path.display().to_string();
    match std::path::absolute(path) {
        Ok(path) => Ok((path, place)),
        Err(error) => Err(StoreError::Open { store: place, why: error.to_string() }),
    }
}

impl Store for SqliteStore {
    fn now(&self) -> Result<u64, StoreError> {
        Ok(self.clock.now_ms())
    }

    fn put_contract(&self, contract: &ContractText) -> Result<(), StoreError> {
        self.write(|tx| tx.put_contract(contract))
    }

    fn contract(&self, digest: &str) -> Result<Option<String>, StoreError> {
        self.read(|conn| read::contract(conn, digest))
    }

    fn put_component(&self, component: &Component) -> Result<(), StoreError> {
        self.write(|tx| tx.put_component(component))
    }

    fn component(&self, digest: &str) -> Result<Option<Component>, StoreError> {
        self.read(|conn| read::component(conn, digest))
    }

    fn open_operation(&self, key: Option<&JobKey>, stage: &mut OpenFn<'_>) -> Result<Opened, StoreError> {
        self.write(|tx| tx.open(key, stage))
    }

    fn steps(&self, ids: &[&str], stage: &mut BatchFn<'_>) -> Result<Vec<Result<Outcome, StoreError>>, StoreError> {
        self.write(|tx| {
            ids.iter().enumerate().map(|(index, id)| tx.step(id, &mut |loaded| stage(index, loaded))).collect()
        })
    }

    fn claim_due(&self, due: &Due, stage: &mut StageFn<'_>) -> Result<Vec<Claimed>, StoreError> {
        self.write(|tx| tx.claim_due(due, stage))
    }

    fn claim(&self, id: &str, stage: &mut StageFn<'_>) -> Result<Outcome, StoreError> {
        self.write(|tx| tx.claim(id, stage))
    }

    fn mark_fault(&self, id: &str, revision: Option<u64>, kind: &str, at: u64) -> Result<(), StoreError> {
        self.write(|tx| tx.mark(id, revision, kind, at))
    }

    fn drop_kept(&self, id: &str, role: &str) -> Result<usize, StoreError> {
        self.write(|tx| tx.drop_kept(id, role))
    }

    fn get(&self, id: &str) -> Result<Option<Stored>, StoreError> {
        let found = self.read(|conn| read::operation(conn, id))?;
        Ok(found.map(|(stored, _)| stored))
    }

    fn find_job(&self, key: &JobKey) -> Result<Option<Stored>, StoreError> {
        self.read(|conn| read::job(conn, key))
    }

    fn find_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        self.read(|conn| read::prefixed(conn, prefix, limit))
    }

    fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.read(|conn| read::list(conn, filter))
    }

    fn entries(&self, id: &str, from_seq: u64, limit: u32) -> Result<Vec<Entry>, StoreError> {
        self.read(|conn| read::entries(conn, id, from_seq, limit))
    }

    fn kept(&self, id: &str) -> Result<Vec<KeptRow>, StoreError> {
        self.read(|conn| read::kept(conn, id))
    }

    fn next_due(&self) -> Result<Option<u64>, StoreError> {
        self.read(read::next_due)
    }

    fn counts(&self) -> Result<Vec<Count>, StoreError> {
        self.read(read::counts)
    }

    fn log_bytes(&self) -> Result<u64, StoreError> {
        Ok(open::wal_bytes(&self.path))
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.read(read::check)
    }

    fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let mut part = to.as_os_str().to_owned();
        part.push(".part");
        self.backup_to(Path::new(&part), to)
    }
}

#[cfg(test)]
mod tests;
