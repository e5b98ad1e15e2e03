//! Getting from a path to connections: the folder, the file, what it is, and how each connection is set up.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::sql::fault;
use super::{Options, schema};
use crate::clock::Clock;
use crate::store::StoreError;

/// Older ones can damage a write-ahead log under two connections.
const SQLITE_MIN: (i32, &str) = (3_051_003, "3.51.3");

/// How a file may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// By this program and others.
    Write,
    /// To read what others write.
    Read,
    /// In a folder where nothing can be written, not even the index of the write-ahead log.
    Still,
}

/// Refuses a SQLite that is too old.
pub(super) fn check_library() -> Result<(), StoreError> {
    if rusqlite::version_number() >= SQLITE_MIN.0 {
        return Ok(());
    }
    Err(StoreError::Library { found: rusqlite::version(), needed: SQLITE_MIN.1 })
}

/// Makes folder and file where they are missing: nobody else can read either.
pub(super) fn make_file(path: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| StoreError::Open { store: path.display().to_string(), why: error.to_string() };
    if let Some(folder) = path.parent() {
        private_folders(folder).map_err(failed)?;
    }
    match private_file(path) {
        Ok(_) => sync_folder(path).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // SQLite would open a file that can't be written for reading, and say so at the first step only.
            let mut options = fs::OpenOptions::new();
            let file = options.read(true).write(true).open(path);
            file.map(drop).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

#[cfg(unix)]
fn private_folders(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folders(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Makes a file that isn't there yet, readable by its owner alone. SQLite gives the log beside it the same mode.
pub(super) fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes the name of a new file as durable as what is in it.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => fs::File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// The connection that writes, to a store of this build's schema.
pub(super) fn writer(
    path: &Path,
    place: &str,
    clock: &Arc<dyn Clock>,
    options: &Options,
) -> Result<Connection, StoreError> {
    let mut conn = connect(path, Mode::Write, options)?;
    // Before anything is changed: a foreign file is left as it is.
    schema::version(&conn, place)?;
    let journal = to_wal(&conn, options.busy_timeout)?;
    if journal != "wal" {
        return Err(StoreError::Open {
            store: place.to_owned(),
            why: format!("its file system allows `{journal}` only, not a write-ahead log"),
        });
    }
    for (pragma, value) in [
        ("synchronous", "FULL"),
        ("secure_delete", "FAST"),
        // What a savepoint can take back is kept in memory, not in a file that has to be written first.
        ("temp_store", "MEMORY"),
        ("cache_size", "-16384"),
        ("journal_size_limit", "67108864"),
    ] {
        conn.pragma_update(None, pragma, value).map_err(fault)?;
    }
    schema::migrate(&mut conn, place)?;
    let clock = Arc::clone(clock);
    // Not deterministic: read anew in each statement. Direct only: no schema can call it.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    conn.create_scalar_function("sondeo_now", 0, flags, move |_| {
        i64::try_from(clock.now_ms()).map_err(|error| rusqlite::Error::UserFunctionError(error.into()))
    })
    .map_err(fault)?;
    Ok(conn)
}

/// Turning a file to WAL takes a lock for which SQLite doesn't wait by itself, when several open a new store at once.
fn to_wal(conn: &Connection, patience: Duration) -> Result<String, StoreError> {
    let start = Instant::now();
    loop {
        let result = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match result.map_err(fault) {
            Err(StoreError::Busy { .. }) if start.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// A connection that reads a store of this build's schema.
pub(super) fn reader(path: &Path, place: &str, mode: Mode, options: &Options) -> Result<Connection, StoreError> {
    let conn = connect(path, mode, options)?;
    conn.pragma_update(None, "query_only", "ON").map_err(fault)?;
    let found = schema::version(&conn, place)?;
    if found == schema::KNOWN {
        return Ok(conn);
    }
    Err(if found == 0 {
        StoreError::Absent { store: place.to_owned() }
    } else {
        StoreError::Older { store: place.to_owned(), found, known: schema::KNOWN }
    })
}

/// How a store can be read that is opened for reading: in a folder that can't be written, a log that was emptied can be passed
/// over, and one that wasn't is needed.
pub(super) fn read_mode(path: &Path, place: &str, options: &Options) -> Result<Mode, StoreError> {
    let failed = |why: String| StoreError::Open { store: place.to_owned(), why };
    let meta = fs::File::open(path).and_then(|file| file.metadata());
    match meta {
        Ok(meta) if meta.is_dir() => return Err(failed("it is a folder".to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StoreError::Absent { store: place.to_owned() });
        }
        Err(error) => return Err(failed(error.to_string())),
    }
    match reader(path, place, Mode::Read, options) {
        Ok(_) => Ok(Mode::Read),
        Err(StoreError::Open { .. } | StoreError::ReadOnly { .. } | StoreError::Io { .. }) => {
            if wal_bytes(path) > 0 {
                return Err(StoreError::Unclean { store: place.to_owned() });
            }
            reader(path, place, Mode::Still, options).map(|_| Mode::Still)
        }
        Err(other) => Err(other),
    }
}

/// The size of the write-ahead log in bytes.
pub(super) fn wal_bytes(path: &Path) -> u64 {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    fs::metadata(name).map_or(0, |meta| meta.len())
}

fn connect(path: &Path, mode: Mode, options: &Options) -> Result<Connection, StoreError> {
    let base = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let conn = match mode {
        Mode::Write => Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_WRITE),
        Mode::Read => Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_ONLY),
        Mode::Still => Connection::open_with_flags(
            still_uri(path),
            base | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        ),
    };
    let conn = conn.map_err(fault)?;
    conn.busy_timeout(options.busy_timeout).map_err(fault)?;
    conn.set_prepared_statement_cache_capacity(64);
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        conn.set_db_config(setting, on).map_err(fault)?;
    }
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0).map_err(fault)?;
    conn.pragma_update(None, "cell_size_check", "ON").map_err(fault)?;
    Ok(conn)
}

/// Every byte that isn't plain is escaped, so that no path reads as parameters.
fn still_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_reads_as_parameters_of_its_uri() {
        assert_eq!(
            still_uri(Path::new("/a b/c?mode=rw#%.db")),
            "file:/a%20b/c%3Fmode%3Drw%23%25.db?mode=ro&immutable=1"
        );
    }

    #[test]
    fn the_bundled_library_is_new_enough() {
        assert!(check_library().is_ok());
    }
}
