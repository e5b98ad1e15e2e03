//! The suite of every engine on SQLite, and what is SQLite's own: files, schema, disk, damage.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::clock::ManualClock;
use crate::store::compare;
use crate::store::conformance::conformance;
use crate::store::fixture::{self, Bench, DUE, START};
use crate::store::types::{Charge, Loaded};

mod files;

struct Folder {
    dir: TempDir,
    clock: Arc<ManualClock>,
}

impl Folder {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap(), clock: Arc::new(ManualClock::new(START)) }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("sondeo.db")
    }

    fn open(&self) -> SqliteStore {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<SqliteStore, StoreError> {
        let options = Options { busy_timeout: Duration::from_secs(5) };
        SqliteStore::open_with(&self.path(), self.clock.clone(), options)
    }

    /// A connection of no store's, with foreign keys on as the tables expect.
    fn raw(&self) -> Connection {
        let conn = Connection::open(self.path()).unwrap();
        conn.pragma_update(None, "foreign_keys", "ON").unwrap();
        conn
    }
}

impl Bench for Folder {
    fn store(&self) -> Box<dyn Store> {
        Box::new(self.open())
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// A store with one operation, and another that is settled.
fn filled() -> (Folder, SqliteStore) {
    let folder = Folder::new();
    let store = folder.open();
    fixture::open(&store, fixture::opening("op-1", "job-1"));
    fixture::open(&store, fixture::opening("op-2", "job-2"));
    store.step("op-2", &mut |loaded| Ok(Some(fixture::settled(&loaded.row)))).unwrap();
    (folder, store)
}

fn plain_step(loaded: &Loaded) -> Result<Option<crate::store::Staged>, crate::store::BoxError> {
    Ok(Some(fixture::next(&loaded.row, |_| {})))
}

#[test]
fn it_does_what_every_engine_does() {
    conformance(&|| Box::new(Folder::new()));
}

#[test]
fn i5_everything_is_there_after_closing_and_opening() {
    let (folder, store) = filled();
    let before = (store.get("op-1").unwrap(), store.entries("op-2", 1, 9).unwrap());
    drop(store);
    let store = folder.open();
    let after = (store.get("op-1").unwrap(), store.entries("op-2", 1, 9).unwrap());
    assert_eq!(before, after);
    assert!(is_saved(store.step("op-1", &mut plain_step)));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

fn is_saved(result: Result<Outcome, StoreError>) -> bool {
    matches!(result, Ok(Outcome::Saved(_)))
}

/// The rows that the charging statement changes after `sql`, with a charge changed by `change`: without the checks before
/// it, and without the triggers beside it.
fn charged(store: &SqliteStore, sql: &str, change: impl FnOnce(&mut crate::store::Staged)) -> usize {
    let old = store.get("op-1").unwrap().unwrap().row;
    let mut writing = store.writer.as_ref().unwrap().lock().unwrap();
    let tx = writing.conn.transaction().unwrap();
    tx.execute_batch("DROP TRIGGER operations_step; DROP TRIGGER operations_forward;").unwrap();
    tx.execute_batch(sql).unwrap();
    let mut staged = fixture::charge(&old, DUE + 1);
    change(&mut staged);
    sql::write(&tx, statements::CHARGE, Some(1), &staged).unwrap()
}

#[test]
fn i2_every_condition_of_the_charging_statement_refuses_by_itself() {
    let (folder, store) = filled();
    folder.clock.set(DUE);
    let with = |change: fn(&mut Charge)| {
        charged(&store, "", |staged| {
            change(staged.charge.as_mut().unwrap());
            let charge = staged.charge.unwrap();
            staged.derived.fence = charge.fence;
            staged.derived.lease_expires_at = Some(charge.lease_expires_at);
        })
    };
    assert_eq!(with(|_| {}), 1);
    assert_eq!(with(|charge| charge.attempt = 2), 0);
    assert_eq!(with(|charge| charge.attempt = 0), 0);
    assert_eq!(with(|charge| charge.fence = 0), 0);
    assert_eq!(with(|charge| charge.lease_expires_at = DUE), 0);
    for revision in [1, 3] {
        let other = charged(&store, "", |staged| staged.derived.revision = revision);
        assert_eq!(other, 0);
    }
    let set = |columns: &str| {
        let sql = format!("UPDATE operations SET {columns} WHERE id = 1");
        charged(&store, &sql, |_| {})
    };
    assert_eq!(set(&format!("deadline_at = {}", DUE + 1)), 1);
    assert_eq!(set(&format!("deadline_at = {DUE}")), 0);
    assert_eq!(set("fence = 1"), 0);
    assert_eq!(set("requests_max = 1"), 1);
    assert_eq!(set("requests_max = 0"), 0);
    assert_eq!(set("failures_used = failures_max"), 0);
    assert_eq!(set("throttles_used = throttles_max"), 0);
    assert_eq!(set("phase = 'asking'"), 1);
    assert_eq!(set("phase = 'escalated'"), 0);
    assert_eq!(set("phase = 'settled'"), 0);
    assert_eq!(set("phase = 'polling', lease_expires_at = 1"), 0);
    assert_eq!(set("mark_kind = 'trap', mark_at = 1"), 0);
}

/// What no program may do to the tables, whoever tries.
#[test]
fn i5_the_tables_refuse_what_no_program_may_do() {
    let (folder, store) = filled();
    let raw = folder.raw();
    let refused = [
        ("UPDATE operations SET state = 'x' WHERE operation_id = 'op-2'", "settled"),
        ("UPDATE operations SET account = 'x' WHERE operation_id = 'op-1'", "pins"),
        ("UPDATE operations SET requests_used = 2, revision = 2 WHERE operation_id = 'op-1'", "never fall"),
        ("UPDATE operations SET requests_used = 1 WHERE operation_id = 'op-1'", "one revision a step"),
        ("UPDATE operations SET record = 'x' WHERE operation_id = 'op-1'", "one revision a step"),
        ("UPDATE operations SET deadline_at = 1 WHERE operation_id = 'op-1'", "one revision a step"),
        ("UPDATE operations SET revision = 3 WHERE operation_id = 'op-1'", "one revision a step"),
        ("UPDATE operations SET revision = 2 WHERE operation_id = 'op-1'", "FOREIGN KEY"),
        ("UPDATE operations SET failures_used = 4 WHERE operation_id = 'op-1'", "failures_within_budget"),
        ("UPDATE operations SET throttles_used = 4 WHERE operation_id = 'op-1'", "throttles_within_budget"),
        ("UPDATE operations SET requests_max = -1, revision = 2 WHERE operation_id = 'op-1'", "requests_within_budget"),
        ("UPDATE operations SET phase = 'x', revision = 2 WHERE operation_id = 'op-1'", "phase"),
        ("UPDATE operations SET lease_expires_at = 9 WHERE operation_id = 'op-1'", "lease_in_polling_only"),
        ("UPDATE operations SET next_at = 'soon' WHERE operation_id = 'op-1'", "cannot store TEXT"),
        ("DELETE FROM operations", "kept"),
        ("UPDATE entries SET text = 'x'", "append-only"),
        ("DELETE FROM entries", "append-only"),
        ("INSERT INTO entries (operation, seq, sha256, text) VALUES (1, 2, '', '')", "bears its revision"),
        ("INSERT INTO entries (operation, seq, sha256, text) VALUES (1, 1, '', '')", "UNIQUE"),
        ("UPDATE contracts SET text = 'x'", "kept"),
        ("DELETE FROM components", "kept"),
        ("UPDATE jobs SET job = 'job-1', live = 1", "UNIQUE"),
    ];
    for (statement, why) in refused {
        let error = raw.execute_batch(statement).unwrap_err().to_string();
        assert!(error.contains(why), "{statement}: {error}");
    }
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn d47_a_tampered_column_is_found_by_comparing() {
    let (folder, store) = filled();
    let truth = store.get("op-1").unwrap().unwrap().row;
    folder
        .raw()
        .execute_batch(
            "DROP TRIGGER operations_step; DROP TRIGGER operations_forward;
             UPDATE operations SET requests_max = 99, state = 'DONE' WHERE operation_id = 'op-1'",
        )
        .unwrap();
    let stored = store.get("op-1").unwrap().unwrap().row;
    let found = compare(&stored, &truth);
    let columns: Vec<_> = found.iter().map(|mismatch| mismatch.column).collect();
    assert_eq!(columns, ["state", "requests_max"]);
}

#[test]
fn d47_a_record_that_was_changed_is_named_and_never_stepped() {
    let (folder, store) = filled();
    fixture::open(&store, fixture::opening("op-3", "job-3"));
    folder
        .raw()
        .execute_batch("DROP TRIGGER operations_step; UPDATE operations SET record = '{}' WHERE operation_id = 'op-1'")
        .unwrap();
    folder.clock.set(DUE);
    let due = Due { limit: 9, after: None };
    let claimed = store.claim_due(&due, &mut |loaded| Ok(Some(fixture::lease(loaded)))).unwrap();
    let told: Vec<_> = claimed
        .iter()
        .map(|one| match &one.result {
            Ok(outcome) => format!("{}: {}", one.operation_id, matches!(outcome, Outcome::Saved(_))),
            Err(error) => error.to_string(),
        })
        .collect();
    assert!(told[0].starts_with("damaged: operation `op-1`, its record: "), "{}", told[0]);
    assert_eq!(told[1], "op-3: true");
    // Its job can't be opened again beside it.
    let key = fixture::key("job-1");
    assert!(store.find_job(&key).unwrap().is_some());
    store.mark_fault("op-1", None, "unreadable", DUE).unwrap();
    assert_eq!(store.claim_due(&due, &mut plain_step).unwrap().len(), 0);
}

#[test]
fn d47_a_log_without_its_last_entry_is_named_and_never_stepped() {
    for (tamper, why) in [
        ("DELETE FROM entries WHERE operation = 1", "entry 1 is missing"),
        ("UPDATE entries SET sha256 = 'x' WHERE operation = 1", "entry 1 is not the one that its record ends with"),
    ] {
        let (folder, store) = filled();
        let raw = Connection::open(folder.path()).unwrap();
        raw.pragma_update(None, "foreign_keys", "OFF").unwrap();
        raw.execute_batch(&format!("DROP TRIGGER entries_delete; DROP TRIGGER entries_update; {tamper}")).unwrap();
        let error = store.step("op-1", &mut plain_step).unwrap_err().to_string();
        assert_eq!(error, format!("damaged: operation `op-1`, its log: {why}"));
    }
}

#[test]
fn d47_a_row_that_cannot_be_read_is_named_and_hides_no_other() {
    let (folder, store) = filled();
    let raw = folder.raw();
    raw.pragma_update(None, "ignore_check_constraints", "ON").unwrap();
    raw.execute_batch("UPDATE operations SET jobs = '[' WHERE operation_id = 'op-1'").unwrap();
    let page = store.list(&Filter { limit: 9, ..Filter::default() }).unwrap();
    assert_eq!(page.rows.iter().map(|line| &*line.row.operation_id).collect::<Vec<_>>(), ["op-2"]);
    assert_eq!(page.damaged.iter().map(|row| &*row.operation_id).collect::<Vec<_>>(), ["op-1"]);
    assert!(page.damaged[0].why.starts_with("column `jobs`: "), "{:?}", page.damaged);
    let error = store.find_job(&fixture::key("job-1")).unwrap_err().to_string();
    assert!(error.starts_with("damaged: operation `op-1`, column `jobs`: "), "{error}");
    let told = store.check().unwrap();
    assert_eq!(told, ["operation `op-1`: its jobs aren't held as its row says"]);
}

#[test]
fn d48_a_contract_or_component_that_was_changed_is_named() {
    let (folder, store) = filled();
    folder
        .raw()
        .execute_batch(
            "DROP TRIGGER contracts_update; UPDATE contracts SET text = 'x';
             DROP TRIGGER components_update; UPDATE components SET bytes = x'00';",
        )
        .unwrap();
    let digest = fixture::contract().digest;
    let error = store.contract(&digest).unwrap_err().to_string();
    assert!(error.starts_with(&format!("damaged: contract `{digest}`: ")));
    let error = store.component(&fixture::component().digest).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }));
    let told = store.check().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    let step = folder.open().step("op-1", &mut plain_step);
    assert!(matches!(step, Err(StoreError::Damaged { .. })));
}

#[test]
fn d4_jobs_that_stand_otherwise_than_their_row_are_named() {
    let (folder, store) = filled();
    for tamper in [
        "UPDATE jobs SET live = 0 WHERE job = 'job-1'",
        "UPDATE jobs SET live = 1, account = 'another' WHERE job = 'job-1'",
        "DELETE FROM jobs WHERE job = 'job-1'",
    ] {
        folder.raw().execute_batch(tamper).unwrap();
        assert_eq!(store.check().unwrap(), ["operation `op-1`: its jobs aren't held as its row says"], "{tamper}");
    }
}

#[test]
fn i14_a_full_store_says_so_loses_nothing_and_goes_on() {
    let (folder, store) = filled();
    let limit = |pages: i64| {
        let writing = store.writer.as_ref().unwrap().lock().unwrap();
        let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let sql = format!("PRAGMA max_page_count = {pages}");
        writing.conn.query_row(&sql, [], read).unwrap()
    };
    // As low as it goes: what there is.
    limit(1);
    let before = store.get("op-1").unwrap();
    let big = |loaded: &Loaded| {
        let mut staged = fixture::next(&loaded.row, |_| {});
        staged.entry.text = "x".repeat(100_000);
        Ok(Some(staged))
    };
    // The first of the batch would fit; together they don't, and neither is saved.
    let error = store
        .steps(&["op-1", "op-1"], &mut |index, loaded| match index {
            0 => plain_step(loaded),
            _ => big(loaded),
        })
        .unwrap_err();
    assert!(error.may_pass());
    let place = folder.path().display().to_string();
    assert!(error.to_string().starts_with(&format!("no room left for store `{place}`")));
    assert_eq!(store.get("op-1").unwrap(), before);
    assert_eq!(store.entries("op-1", 1, 9).unwrap().len(), 1);
    limit(1_000_000);
    assert!(is_saved(store.step("op-1", &mut big.clone())));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_held_lock_is_waited_for_and_then_named() {
    let (folder, _store) = filled();
    let options = Options { busy_timeout: Duration::from_millis(20) };
    let store = SqliteStore::open_with(&folder.path(), folder.clock.clone(), options).unwrap();
    let raw = folder.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.step("op-1", &mut plain_step).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    // Readers don't wait for it.
    assert!(store.get("op-1").unwrap().is_some());
    raw.execute_batch("ROLLBACK").unwrap();
    assert!(is_saved(store.step("op-1", &mut plain_step)));
}

#[test]
fn readers_see_the_last_commit_while_a_step_runs() {
    let (_folder, store) = filled();
    store
        .steps(&["op-1", "op-1"], &mut |index, loaded| {
            let seen = store.get("op-1").unwrap().unwrap();
            assert_eq!(seen.row.revision, 1, "before the commit, at {index}");
            plain_step(loaded)
        })
        .unwrap();
    assert_eq!(store.get("op-1").unwrap().unwrap().row.revision, 3);
}

#[test]
fn several_that_open_a_new_store_at_once_all_get_it() {
    let folder = Folder::new();
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (folder, start) = (&folder, &start);
            scope.spawn(move || {
                start.wait();
                let id = format!("op-{n}");
                fixture::open(&folder.open(), fixture::opening(&id, &id));
            });
        }
    });
    assert_eq!(folder.open().find_prefix("op-", 9).unwrap().len(), 4);
}

#[test]
fn what_is_due_is_found_by_its_index() {
    let (folder, _store) = filled();
    let raw = folder.raw();
    for sql in [statements::DUE, statements::DUE_AFTER, statements::NEXT_DUE] {
        let mut plan = raw.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let values = vec![0_i64; plan.parameter_count()];
        let lines: Vec<String> =
            plan.query_map(rusqlite::params_from_iter(values), |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let lines = lines.join("; ");
        assert!(lines.contains("operations_due"), "{lines}");
        assert!(!lines.contains("TEMP B-TREE"), "{lines}");
    }
}
