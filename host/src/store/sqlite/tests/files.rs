//! Files: whose they are, who may read them, and what happens where nothing can be written.

use std::fs;

use super::*;

fn message(result: Result<SqliteStore, StoreError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let (folder, store) = filled();
    drop(store);
    folder.raw().pragma_update(None, "user_version", 7).unwrap();
    let before = fs::read(folder.path()).unwrap();
    let place = folder.path().display().to_string();
    let expected =
        format!("store `{place}` was written by a newer sondeo (schema 7, this one knows 1): use that version");
    assert_eq!(message(folder.try_open()), expected);
    let read_only = SqliteStore::open_read_only(&folder.path(), folder.clock.clone());
    assert_eq!(message(read_only), expected);
    assert_eq!(fs::read(folder.path()).unwrap(), before);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    for sql in
        ["CREATE TABLE theirs (x)", "PRAGMA application_id = 77; PRAGMA user_version = 1", "PRAGMA user_version = 1"]
    {
        let folder = Folder::new();
        folder.raw().execute_batch(sql).unwrap();
        let before = fs::read(folder.path()).unwrap();
        let told = message(folder.try_open());
        assert!(told.contains("is a database of another program"), "{told}");
        assert_eq!(fs::read(folder.path()).unwrap(), before);
    }
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    for text in ["hello", &"not a database, but long enough for one ".repeat(200)] {
        let folder = Folder::new();
        fs::write(folder.path(), text).unwrap();
        let told = message(folder.try_open());
        assert!(told.contains("is not a database"), "{told}");
        assert_eq!(fs::read_to_string(folder.path()).unwrap(), text);
    }
}

#[test]
fn a_path_that_cannot_be_is_one_clear_error() {
    let folder = Folder::new();
    let clock = || folder.clock.clone();
    let open = |path: &Path| message(SqliteStore::open(path, clock()));
    assert!(open(folder.dir.path()).starts_with("can't open store `"));
    let told = message(SqliteStore::open_read_only(folder.dir.path(), clock()));
    assert!(told.ends_with("`: it is a folder"), "{told}");
    let file = folder.dir.path().join("file");
    fs::write(&file, "").unwrap();
    let told = open(&file.join("sondeo.db"));
    assert!(told.starts_with("can't open store `"), "{told}");
    let absent = SqliteStore::open_read_only(&folder.path(), clock());
    assert!(message(absent).starts_with("there is no store at `"));
    assert!(!folder.path().exists());
}

#[test]
fn an_empty_file_becomes_a_store_when_written_and_is_none_when_read() {
    let folder = Folder::new();
    fs::write(folder.path(), "").unwrap();
    let read_only = SqliteStore::open_read_only(&folder.path(), folder.clock.clone());
    assert!(message(read_only).starts_with("there is no store at `"));
    fixture::open(&folder.open(), fixture::opening("op-1", "job-1"));
}

#[cfg(unix)]
#[test]
fn i18_folder_file_and_log_are_their_owner_s_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.dir.path().join("a/b/sondeo.db");
    let store = SqliteStore::open(&path, folder.clock.clone()).unwrap();
    fixture::open(&store, fixture::opening("op-1", "job-1"));
    let mode = |name: &str| {
        let meta = fs::metadata(folder.dir.path().join(name)).unwrap();
        meta.permissions().mode() & 0o777
    };
    assert_eq!((mode("a"), mode("a/b")), (0o700, 0o700));
    assert_eq!(mode("a/b/sondeo.db"), 0o600);
    assert_eq!(mode("a/b/sondeo.db-wal"), 0o600);
    assert!(store.log_bytes().unwrap() > 0);
}

#[test]
fn a_store_opened_for_reading_reads_what_others_write_and_writes_nothing() {
    let (folder, store) = filled();
    let reader = SqliteStore::open_read_only(&folder.path(), folder.clock.clone()).unwrap();
    store.step("op-1", &mut plain_step).unwrap();
    assert_eq!(reader.get("op-1").unwrap().unwrap().row.revision, 2);
    assert_eq!(reader.entries("op-1", 1, 9).unwrap().len(), 2);
    let error = reader.step("op-1", &mut plain_step).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }));
}

/// Where the test may write everywhere (as root), the folder's mode says nothing; the connection itself is the same.
#[test]
fn a_closed_store_is_read_without_writing_anything_beside_it() {
    let (folder, store) = filled();
    assert!(store.get("op-1").unwrap().is_some(), "a reader is open too");
    drop(store);
    let options = Options::default();
    let conn = open::reader(&folder.path(), "here", Mode::Still, &options).unwrap();
    assert!(read::operation(&conn, "op-1").unwrap().is_some());
    let names: Vec<_> = fs::read_dir(folder.dir.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn a_backup_is_whole_opens_as_a_store_and_replaces_nothing() {
    let (folder, store) = filled();
    let to = folder.dir.path().join("copy.db");
    // In the midst of a step: what is committed is in it, what isn't is not.
    store
        .step("op-1", &mut |loaded| {
            store.backup(&to).unwrap();
            plain_step(loaded)
        })
        .unwrap();
    let again = store.backup(&to).unwrap_err().to_string();
    assert!(again.starts_with("can't open store `"), "{again}");
    let copy = SqliteStore::open(&to, folder.clock.clone()).unwrap();
    assert_eq!(copy.get("op-1").unwrap().unwrap().row.revision, 1);
    assert_eq!(copy.entries("op-2", 1, 9).unwrap().len(), 2);
    assert_eq!(copy.check().unwrap(), Vec::<String>::new());
    assert!(is_saved(copy.step("op-1", &mut plain_step)));
    assert!(!folder.dir.path().join("copy.db.part").exists());
}
