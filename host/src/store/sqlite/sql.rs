//! Between SQLite's values and errors and ours.

use rusqlite::types::FromSql;
use rusqlite::{CachedStatement, Connection, ErrorCode, Row, Statement, ToSql};

use crate::store::error::{Bound, StoreError};
use crate::store::types::{Budget, Derived, Fault, Listed, Phase, Staged, Stored};

/// What an error of SQLite means; the store's place is filled in by whoever knows it.
pub(super) fn fault(error: rusqlite::Error) -> StoreError {
    use rusqlite::Error as E;
    let why = error.to_string();
    let store = String::new();
    match error {
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..) => StoreError::Damaged { what: "a value".to_owned(), why },
        E::SqliteFailure(code, message) => match code.code {
            ErrorCode::DiskFull => StoreError::Full { store },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy { store },
            ErrorCode::FileLockingProtocolFailed => StoreError::Busy { store },
            ErrorCode::SystemIoFailure => StoreError::Io { store, why },
            ErrorCode::ReadOnly => StoreError::ReadOnly { store },
            ErrorCode::NotADatabase => StoreError::NotADatabase { store },
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => StoreError::Open { store, why },
            ErrorCode::DatabaseCorrupt => StoreError::Damaged { what: "the database file".to_owned(), why },
            ErrorCode::ConstraintViolation => {
                StoreError::Bounds(Bound { which: "constraint".to_owned(), why: message.unwrap_or(why) })
            }
            _ => StoreError::Engine { store, why },
        },
        _ => StoreError::Engine { store, why },
    }
}

/// A statement, prepared once a connection.
pub(super) fn prepare<'c>(conn: &'c Connection, sql: &str) -> Result<CachedStatement<'c>, StoreError> {
    conn.prepare_cached(sql).map_err(fault)
}

/// Runs a statement; the number of rows it changed.
pub(super) fn run(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<usize, StoreError> {
    prepare(conn, sql)?.execute(params).map_err(fault)
}

/// The first row of a query, read by `read`.
pub(super) fn first<T>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = prepare(conn, sql)?;
    let mut rows = statement.query(params).map_err(fault)?;
    rows.next().map_err(fault)?.map(read).transpose()
}

/// Every row of a query, read by `read`.
pub(super) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = prepare(conn, sql)?;
    let mut rows = statement.query(params).map_err(fault)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next().map_err(fault)? {
        out.push(read(row)?);
    }
    Ok(out)
}

/// A number as SQLite holds it.
pub(super) fn int(which: &str, value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|_| {
        StoreError::Bounds(Bound { which: which.to_owned(), why: format!("{value} is more than a store holds") })
    })
}

/// One column.
pub(super) fn get<T: FromSql>(row: &Row<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(fault)
}

/// One column by its name.
pub(super) fn named<T: FromSql>(row: &Row<'_>, name: &str) -> Result<T, StoreError> {
    row.get(name).map_err(fault)
}

/// A column that counts.
pub(super) fn count(row: &Row<'_>, index: usize) -> Result<u64, StoreError> {
    counted(get(row, index)?)
}

fn counted(value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|_| StoreError::Damaged {
        what: "a value".to_owned(),
        why: format!("{value} where nothing falls below 0"),
    })
}

/// Reads a row's columns from left to right.
struct Columns<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl Columns<'_, '_> {
    fn take<T: FromSql>(&mut self) -> Result<T, StoreError> {
        let index = self.next;
        self.next = index.saturating_add(1);
        get(self.row, index)
    }

    fn count(&mut self) -> Result<u64, StoreError> {
        counted(self.take()?)
    }

    fn maybe(&mut self) -> Result<Option<u64>, StoreError> {
        self.take::<Option<i64>>()?.map(counted).transpose()
    }

    fn budget(&mut self) -> Result<Budget, StoreError> {
        Ok(Budget { used: self.take()?, max: self.take()? })
    }

    fn jobs(&mut self) -> Result<Vec<String>, StoreError> {
        let text: String = self.take()?;
        serde_json::from_str(&text)
            .map_err(|error| StoreError::Damaged { what: "column `jobs`".to_owned(), why: error.to_string() })
    }

    fn phase(&mut self) -> Result<Phase, StoreError> {
        phase(&self.take::<String>()?)
    }

    fn derived(&mut self) -> Result<Derived, StoreError> {
        // In the order of `columns!`: the fields of a struct expression are evaluated as they are written.
        Ok(Derived {
            operation_id: self.take()?,
            namespace: self.take()?,
            contract_id: self.take()?,
            account: self.take()?,
            jobs: self.jobs()?,
            contract_digest: self.take()?,
            component_digest: self.take()?,
            phase: self.phase()?,
            reason: self.take()?,
            state: self.take()?,
            next_at: self.maybe()?,
            deadline_at: self.count()?,
            revision: self.count()?,
            authority_revision: self.count()?,
            fence: self.count()?,
            lease_expires_at: self.maybe()?,
            requests: self.budget()?,
            failures: self.budget()?,
            throttles: self.budget()?,
            head: self.take()?,
            record_sha256: self.take()?,
            started_at: self.count()?,
            opened_by: self.take()?,
            outcome: self.take()?,
        })
    }

    fn mark(&mut self) -> Result<Option<Fault>, StoreError> {
        let kind: Option<String> = self.take()?;
        let at = self.maybe()?;
        Ok(kind.zip(at).map(|(kind, at)| Fault { kind, at }))
    }
}

/// The phase that a stored word names.
pub(super) fn phase(word: &str) -> Result<Phase, StoreError> {
    Phase::parse(word).ok_or_else(|| StoreError::Damaged {
        what: "column `phase`".to_owned(),
        why: format!("no phase is called `{word}`"),
    })
}

/// An operation and its row, from `columns!`, the record and the row's id.
pub(super) fn stored(row: &Row<'_>) -> Result<(Stored, i64), StoreError> {
    let mut columns = Columns { row, next: 0 };
    let derived = columns.derived()?;
    let mark = columns.mark()?;
    let record = columns.take()?;
    let id = columns.take()?;
    Ok((Stored { row: derived, record, mark }, id))
}

/// A line of a list, from `columns!`.
pub(super) fn listed(row: &Row<'_>) -> Result<Listed, StoreError> {
    let mut columns = Columns { row, next: 0 };
    let derived = columns.derived()?;
    let mark = columns.mark()?;
    Ok(Listed { row: derived, mark })
}

/// Binds what the statement asks for, by name, and lets the rest be: several statements share one list.
struct Binder<'s, 'c> {
    statement: &'s mut Statement<'c>,
}

impl Binder<'_, '_> {
    fn set(&mut self, name: &str, value: impl ToSql) -> Result<(), StoreError> {
        match self.statement.parameter_index(name).map_err(fault)? {
            Some(index) => self.statement.raw_bind_parameter(index, value).map_err(fault),
            None => Ok(()),
        }
    }

    fn set_count(&mut self, name: &str, value: u64) -> Result<(), StoreError> {
        self.set(name, int(name, value)?)
    }

    fn set_maybe(&mut self, name: &str, value: Option<u64>) -> Result<(), StoreError> {
        self.set(name, value.map(|value| int(name, value)).transpose()?)
    }

    fn set_derived(&mut self, new: &Derived) -> Result<(), StoreError> {
        self.set(":operation_id", &new.operation_id)?;
        self.set(":namespace", &new.namespace)?;
        self.set(":contract_id", &new.contract_id)?;
        self.set(":account", &new.account)?;
        self.set(":jobs", jobs(&new.jobs)?)?;
        self.set(":contract_digest", &new.contract_digest)?;
        self.set(":component_digest", &new.component_digest)?;
        self.set(":phase", new.phase.as_str())?;
        self.set(":reason", &new.reason)?;
        self.set(":state", &new.state)?;
        self.set_maybe(":next_at", new.next_at)?;
        self.set_count(":deadline_at", new.deadline_at)?;
        self.set_count(":revision", new.revision)?;
        self.set_count(":authority_revision", new.authority_revision)?;
        self.set_count(":fence", new.fence)?;
        self.set_maybe(":lease_expires_at", new.lease_expires_at)?;
        self.set(":requests_used", new.requests.used)?;
        self.set(":requests_max", new.requests.max)?;
        self.set(":failures_used", new.failures.used)?;
        self.set(":failures_max", new.failures.max)?;
        self.set(":throttles_used", new.throttles.used)?;
        self.set(":throttles_max", new.throttles.max)?;
        self.set(":head", &new.head)?;
        self.set(":record_sha256", &new.record_sha256)?;
        self.set_count(":started_at", new.started_at)?;
        self.set(":opened_by", &new.opened_by)?;
        self.set(":outcome", &new.outcome)
    }
}

fn jobs(jobs: &[String]) -> Result<String, StoreError> {
    serde_json::to_string(jobs).map_err(|error| StoreError::Engine { store: String::new(), why: error.to_string() })
}

/// Runs one of the statements that write an operation; the number of rows it changed. `id` is the row's, where there is one.
pub(super) fn write(conn: &Connection, sql: &str, id: Option<i64>, staged: &Staged) -> Result<usize, StoreError> {
    let mut statement = prepare(conn, sql)?;
    let mut binder = Binder { statement: &mut statement };
    binder.set(":id", id)?;
    binder.set(":record", &staged.record)?;
    binder.set_derived(&staged.derived)?;
    binder.set_maybe(":expect_fence", staged.expect_fence)?;
    binder.set(":clears_mark", staged.clears_mark)?;
    binder.set(":attempt", staged.charge.map(|charge| charge.attempt))?;
    statement.raw_execute().map_err(fault)
}
