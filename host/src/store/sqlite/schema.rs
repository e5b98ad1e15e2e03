//! The tables, and how a file gets from one version of them to the next. The tables refuse what no program may do to them.

use rusqlite::{Connection, TransactionBehavior};

use super::sql::fault;
use crate::store::StoreError;

/// In a file's header: it is ours. The bytes read `snd1`.
pub(super) const APPLICATION_ID: i64 = 0x736e_6431;

/// One script a version, each from the version before it; never edited once released.
const MIGRATIONS: [&str; 1] = [V1];

/// The version that this build reads and writes.
pub(super) const KNOWN: i64 = 1;

const V1: &str = "
CREATE TABLE contracts (
  digest TEXT NOT NULL PRIMARY KEY,
  text   TEXT NOT NULL
) STRICT;

CREATE TABLE components (
  digest      TEXT NOT NULL PRIMARY KEY,
  core_digest TEXT NOT NULL,
  version     TEXT NOT NULL,
  bytes       BLOB NOT NULL
) STRICT;

-- One row an operation: the record, and the columns that derive from it. The last entry must be there when a step commits.
CREATE TABLE operations (
  id                 INTEGER PRIMARY KEY,
  operation_id       TEXT NOT NULL UNIQUE,
  namespace          TEXT NOT NULL,
  contract_id        TEXT NOT NULL,
  account            TEXT NOT NULL,
  jobs               TEXT NOT NULL,
  contract_digest    TEXT NOT NULL REFERENCES contracts (digest),
  component_digest   TEXT NOT NULL REFERENCES components (digest),
  phase              TEXT NOT NULL,
  reason             TEXT,
  state              TEXT,
  next_at            INTEGER CHECK (next_at >= 0),
  deadline_at        INTEGER NOT NULL CHECK (deadline_at >= 0),
  revision           INTEGER NOT NULL CHECK (revision >= 1),
  authority_revision INTEGER NOT NULL CHECK (authority_revision BETWEEN 0 AND revision),
  fence              INTEGER NOT NULL CHECK (fence >= 0),
  lease_expires_at   INTEGER CHECK (lease_expires_at >= 0),
  requests_used      INTEGER NOT NULL CHECK (requests_used >= 0),
  requests_max       INTEGER NOT NULL,
  failures_used      INTEGER NOT NULL CHECK (failures_used >= 0),
  failures_max       INTEGER NOT NULL,
  throttles_used     INTEGER NOT NULL CHECK (throttles_used >= 0),
  throttles_max      INTEGER NOT NULL,
  head               TEXT NOT NULL,
  record_sha256      TEXT NOT NULL,
  started_at         INTEGER NOT NULL CHECK (started_at >= 0),
  opened_by          TEXT NOT NULL,
  outcome            TEXT,
  mark_kind          TEXT,
  mark_at            INTEGER,
  record             TEXT NOT NULL,
  -- When somebody has to look at it: a lease that lives puts it off, a mark and an end take it out.
  due_at INTEGER GENERATED ALWAYS AS (CASE
    WHEN mark_kind IS NOT NULL OR phase IN ('escalated', 'settled') THEN NULL
    WHEN phase = 'polling' THEN lease_expires_at
    ELSE next_at END) VIRTUAL,
  CONSTRAINT phase CHECK (phase IN ('waiting', 'asking', 'polling', 'escalated', 'settled')),
  CONSTRAINT lease_in_polling_only CHECK ((phase = 'polling') = (lease_expires_at IS NOT NULL)),
  CONSTRAINT requests_within_budget CHECK (requests_used <= requests_max),
  CONSTRAINT failures_within_budget CHECK (failures_used <= failures_max),
  CONSTRAINT throttles_within_budget CHECK (throttles_used <= throttles_max),
  CONSTRAINT mark_whole CHECK ((mark_kind IS NULL) = (mark_at IS NULL)),
  FOREIGN KEY (id, revision) REFERENCES entries (operation, seq) DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE INDEX operations_due ON operations (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX operations_phase ON operations (phase, namespace);
CREATE INDEX operations_marked ON operations (mark_at) WHERE mark_at IS NOT NULL;

CREATE TABLE entries (
  id        INTEGER PRIMARY KEY,
  operation INTEGER NOT NULL REFERENCES operations (id),
  seq       INTEGER NOT NULL,
  sha256    TEXT NOT NULL,
  text      TEXT NOT NULL,
  UNIQUE (operation, seq)
) STRICT;

-- The ids that an operation waits for. A live row holds its id against every other operation.
CREATE TABLE jobs (
  operation   INTEGER NOT NULL REFERENCES operations (id),
  position    INTEGER NOT NULL,
  namespace   TEXT NOT NULL,
  contract_id TEXT NOT NULL,
  account     TEXT NOT NULL,
  job         TEXT NOT NULL,
  live        INTEGER NOT NULL CHECK (live IN (0, 1)),
  PRIMARY KEY (operation, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_live ON jobs (namespace, contract_id, account, job) WHERE live = 1;
CREATE INDEX jobs_all ON jobs (namespace, contract_id, account, job, operation);

CREATE TABLE kept (
  operation INTEGER NOT NULL REFERENCES operations (id),
  role      TEXT NOT NULL,
  sha256    TEXT NOT NULL,
  sealed    INTEGER NOT NULL CHECK (sealed IN (0, 1)),
  value     BLOB NOT NULL,
  PRIMARY KEY (operation, role, sha256)
) STRICT;

CREATE TRIGGER operations_settled BEFORE UPDATE ON operations WHEN OLD.phase = 'settled'
BEGIN SELECT RAISE(ABORT, 'settled operations never change'); END;
CREATE TRIGGER operations_pinned BEFORE UPDATE ON operations
WHEN (NEW.id, NEW.operation_id, NEW.namespace, NEW.contract_id, NEW.account, NEW.started_at, NEW.opened_by)
  IS NOT (OLD.id, OLD.operation_id, OLD.namespace, OLD.contract_id, OLD.account, OLD.started_at, OLD.opened_by)
BEGIN SELECT RAISE(ABORT, 'what an opening pins never changes'); END;
CREATE TRIGGER operations_forward BEFORE UPDATE ON operations
WHEN NEW.requests_used < OLD.requests_used OR NEW.requests_used > OLD.requests_used + 1
  OR NEW.failures_used < OLD.failures_used OR NEW.throttles_used < OLD.throttles_used
  OR NEW.fence < OLD.fence OR NEW.authority_revision < OLD.authority_revision
BEGIN SELECT RAISE(ABORT, 'used counts and fences never fall'); END;
CREATE TRIGGER operations_step BEFORE UPDATE ON operations
WHEN NEW.revision <> OLD.revision + 1 AND (NEW.revision <> OLD.revision
  OR (NEW.record, NEW.phase, NEW.requests_used, NEW.requests_max, NEW.deadline_at, NEW.fence)
    IS NOT (OLD.record, OLD.phase, OLD.requests_used, OLD.requests_max, OLD.deadline_at, OLD.fence))
BEGIN SELECT RAISE(ABORT, 'a record changes by one revision a step'); END;
CREATE TRIGGER operations_delete BEFORE DELETE ON operations
BEGIN SELECT RAISE(ABORT, 'operations are kept'); END;
CREATE TRIGGER entries_insert BEFORE INSERT ON entries
WHEN NEW.seq IS NOT (SELECT revision FROM operations WHERE id = NEW.operation)
BEGIN SELECT RAISE(ABORT, 'an entry bears its revision'); END;
CREATE TRIGGER entries_update BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entries_delete BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER contracts_update BEFORE UPDATE ON contracts
BEGIN SELECT RAISE(ABORT, 'contracts are kept'); END;
CREATE TRIGGER contracts_delete BEFORE DELETE ON contracts
BEGIN SELECT RAISE(ABORT, 'contracts are kept'); END;
CREATE TRIGGER components_update BEFORE UPDATE ON components
BEGIN SELECT RAISE(ABORT, 'components are kept'); END;
CREATE TRIGGER components_delete BEFORE DELETE ON components
BEGIN SELECT RAISE(ABORT, 'components are kept'); END;
";

/// What a file is, read without changing it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing in it yet.
    Blank,
    /// Ours, of this version.
    Ours(i64),
    /// Another program's.
    Foreign,
}

/// Reads what the file is.
pub(super) fn state(conn: &Connection) -> Result<State, StoreError> {
    let read = |sql: &str| -> Result<i64, StoreError> { conn.query_row(sql, [], |row| row.get(0)).map_err(fault) };
    let application = read("PRAGMA application_id")?;
    let version = read("PRAGMA user_version")?;
    if application == APPLICATION_ID && version > 0 {
        return Ok(State::Ours(version));
    }
    let tables = read("SELECT count(*) FROM sqlite_schema")?;
    Ok(if application == 0 && version == 0 && tables == 0 { State::Blank } else { State::Foreign })
}

/// The version of a file of ours, 0 for a blank one; refuses what isn't ours and what is newer than this build.
pub(super) fn version(conn: &Connection, place: &str) -> Result<i64, StoreError> {
    match state(conn)? {
        State::Blank => Ok(0),
        State::Ours(found) if found > KNOWN => Err(StoreError::Newer { store: place.to_owned(), found, known: KNOWN }),
        State::Ours(found) => Ok(found),
        State::Foreign => Err(StoreError::Foreign { store: place.to_owned() }),
    }
}

/// Brings the file to [`KNOWN`], in one transaction under the write lock: of several that open it at once, one does it.
pub(super) fn migrate(conn: &mut Connection, place: &str) -> Result<(), StoreError> {
    if version(conn, place)? == KNOWN {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(fault)?;
    let found = version(&tx, place)?;
    let done = usize::try_from(found).unwrap_or(usize::MAX);
    for script in MIGRATIONS.iter().skip(done) {
        tx.execute_batch(script).map_err(fault)?;
    }
    // Both stand in the file's header and commit with the tables.
    tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(fault)?;
    tx.pragma_update(None, "user_version", KNOWN).map_err(fault)?;
    tx.commit().map_err(fault)
}
