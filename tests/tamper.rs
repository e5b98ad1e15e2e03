//! D47: what somebody changes in the store is found and named, nothing is sent for it, and the rest goes on.
//!
//! The one who changes it may do whatever SQLite can: constraints, triggers and foreign keys are out of the way.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use common::{Done, Program, Setup, at_once};
use rusqlite::Connection;
use serde_json::{Value, json};

/// Settled, escalated, and waiting ones; the last of another contract.
const JOBS: [&str; 6] =
    ["queued.done", "running--spent", "running.failed", "queued.running.done", "waits", "done--second"];

/// A store with all of [`JOBS`], and their operations' ids in this order.
fn filled() -> (Setup, Vec<String>) {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let second = setup.contract("second.json", |contract| contract["id"] = json!("loopback.second"));
    at_once(&JOBS, |job| match *job {
        "running--spent" => setup.sondeo(&["watch", &contract, job, "--max-requests", "2"]).run().code(3),
        "running.failed" => setup.sondeo(&["watch", &contract, job]).run().code(4),
        "waits" => setup.sondeo(&["open", &contract, job]).run().code(0),
        "done--second" => setup.sondeo(&["open", &second, job]).run().code(0),
        _ => setup.sondeo(&["watch", &contract, job]).run().code(0),
    });
    let ids = JOBS.iter().map(|job| setup.id(job)).collect();
    (setup, ids)
}

/// A copy of the store, changed by `sql`.
fn tampered(setup: &Setup, name: &str, sql: &str) -> PathBuf {
    let copy = setup.path(name);
    std::fs::copy(setup.store(), &copy).unwrap();
    attack(&copy, sql);
    copy
}

fn attack(store: &Path, sql: &str) {
    let store = Connection::open(store).unwrap();
    store.pragma_update(None, "foreign_keys", "OFF").unwrap();
    store.pragma_update(None, "ignore_check_constraints", "ON").unwrap();
    let triggers: Vec<String> = {
        let mut statement = store.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for trigger in triggers {
        store.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
    }
    store.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
}

fn on(store: &Path, args: &[&str]) -> Program {
    Program::new(&[args, &["--store", store.to_str().unwrap()]].concat())
}

/// What `verify` finds in a store that isn't as it was.
struct Found(Value);

fn verified(store: &Path) -> Found {
    let found = on(store, &["verify", "--json"]).run().code(1).json();
    assert_eq!(found["fine"], false, "{found}");
    Found(found)
}

impl Found {
    fn of(&self, id: &str) -> &Value {
        let all = self.0["operations"].as_array().unwrap();
        all.iter().find(|one| one["operation_id"] == id).unwrap_or_else(|| panic!("{id} is not named: {}", self.0))
    }

    fn fine(&self, id: &str) {
        let one = self.of(id);
        assert_eq!((&one["verdict"], &one["why"]), (&json!("verified"), &Value::Null), "{one}");
    }

    /// The operation isn't fine, and each of these texts is in what is said of it.
    fn names(&self, id: &str, texts: &[&str]) {
        let one = self.of(id);
        assert!(one["verdict"] != "verified" && one["why"].is_array(), "{one}");
        for text in texts {
            assert!(one.to_string().contains(text), "`{text}` is not named: {one}");
        }
    }

    fn store_names(&self, text: &str) {
        let store = &self.0["store"];
        assert!(store.to_string().contains(text), "`{text}` is not named: {store}");
    }
}

/// `UPDATE operations` of one operation.
fn update(id: &str, sets: &str) -> String {
    format!("UPDATE operations SET {sets} WHERE operation_id = '{id}';")
}

/// The rows of one operation's log, for a WHERE.
fn log(id: &str) -> String {
    format!("operation = (SELECT id FROM operations WHERE operation_id = '{id}')")
}

#[test]
fn d47_every_change_is_found_and_named_and_the_rest_verifies() {
    let (setup, ids) = filled();
    let [done, spent, failed, long, waits, second] = &ids[..] else { panic!("{ids:?}") };
    let digest = |column: &str, id: &str| -> String {
        let store = Connection::open(setup.store()).unwrap();
        let sql = format!("SELECT {column} FROM operations WHERE operation_id = ?1");
        store.query_row(&sql, [id], |row| row.get(0)).unwrap()
    };
    at_once(&[0, 1, 2, 3, 4], |scene| match scene {
        // One byte of a record, of an entry, of an entry's digest; a deleted entry.
        0 => {
            let sql = [
                update(done, r#"record = replace(record, '"last_known_state":"done"', '"last_known_state":"dome"')"#),
                format!(
                    "UPDATE entries SET text = replace(text, 'running', 'runnimg') WHERE seq = 3 AND {};",
                    log(spent)
                ),
                format!(
                    "UPDATE entries SET sha256 = replace(sha256, substr(sha256, 1, 1), 'x') WHERE seq = 2 AND {};",
                    log(failed)
                ),
                format!("DELETE FROM entries WHERE seq = 2 AND {};", log(long)),
            ];
            let found = verified(&tampered(&setup, "bytes.db", &sql.concat()));
            found.names(done, &["diverged", "/last_known_state", "column `state`", "column `record_sha256`"]);
            found.names(spent, &["broken", r#""entry":3"#]);
            found.names(failed, &["entry 2: column `sha256`"]);
            found.names(long, &["broken", "entry 2 is missing"]);
            [waits, second].into_iter().for_each(|id| found.fine(id));
        }
        // A cut tail, entries that changed places, one that stands twice, an older record put back.
        1 => {
            let last = |id: &str| format!("(SELECT max(seq) FROM entries WHERE {})", log(id));
            let sql = [
                format!("DELETE FROM entries WHERE seq = {} AND {};", last(done), log(done)),
                format!("UPDATE entries SET seq = 5 - seq - 1000 WHERE seq IN (2, 3) AND {};", log(long)),
                format!("UPDATE entries SET seq = seq + 1000 WHERE seq < 0 AND {};", log(long)),
                format!(
                    "INSERT INTO entries (operation, seq, sha256, text) SELECT operation, seq + 1, sha256, text FROM entries WHERE seq = {} AND {};",
                    last(failed),
                    log(failed)
                ),
                update(
                    spent,
                    r#"record = replace(record, '"status_requests_used":2', '"status_requests_used":0'), requests_used = 0"#,
                ),
            ];
            let found = verified(&tampered(&setup, "order.db", &sql.concat()));
            found.names(done, &["broken", "the tail was cut"]);
            found.names(long, &["broken", r#""entry":2"#]);
            found.names(failed, &["broken", "entry 6"]);
            found.names(spent, &["diverged", "/status_requests_used", "column `record_sha256`"]);
            [waits, second].into_iter().for_each(|id| found.fine(id));
        }
        // One byte of a contract: what rests on it can't be checked, what rests on another can.
        2 => {
            let contract = digest("contract_digest", done);
            let sql = format!(
                "UPDATE contracts SET text = replace(text, 'Loopback', 'Loopbadk') WHERE digest = '{contract}'"
            );
            let found = verified(&tampered(&setup, "contract.db", &sql));
            for id in [done, spent, failed, long, waits] {
                found.names(id, &["not checkable", &contract]);
            }
            found.fine(second);
            found.store_names(&format!("contract `{contract}`"));
        }
        // One byte of the component.
        3 => {
            let component = digest("component_digest", done);
            let sql =
                "UPDATE components SET bytes = CAST(substr(bytes, 1, 5000) || x'2a' || substr(bytes, 5002) AS BLOB)";
            let found = verified(&tampered(&setup, "component.db", sql));
            found.store_names(&format!("component `{component}`"));
            // As people read it.
            let told = on(&setup.path("component.db"), &["verify"]).run().code(1);
            told.line(&format!("component `{component}`"));
        }
        _ => every_column(&setup, &ids),
    });
}

/// Each derived column by itself, spread over four operations.
fn every_column(setup: &Setup, ids: &[String]) {
    let other = |id: &str| format!("(SELECT contract_digest FROM operations WHERE operation_id = '{id}')");
    let sets: [Vec<(&str, String)>; 4] = [
        vec![
            ("operation_id", "'another'".into()),
            ("namespace", "'another'".into()),
            ("phase", "'waiting'".into()),
            ("next_at", "5".into()),
            ("requests_used", "requests_used - 1".into()),
            ("head", "record_sha256".into()),
        ],
        vec![
            ("contract_id", "'another'".into()),
            ("account", "'another'".into()),
            ("reason", "'rate_limited'".into()),
            ("deadline_at", "deadline_at + 1".into()),
            ("requests_max", "requests_max + 1".into()),
            ("fence", "fence + 1".into()),
            ("record_sha256", "head".into()),
        ],
        vec![
            ("jobs", "'[\"another\"]'".into()),
            ("contract_digest", other(&ids[5])),
            ("state", "'done'".into()),
            ("revision", "revision - 1".into()),
            ("failures_used", "1".into()),
            ("failures_max", "failures_max + 1".into()),
            ("started_at", "started_at - 1".into()),
        ],
        vec![
            ("component_digest", "replace(component_digest, substr(component_digest, 1, 1), 'x')".into()),
            ("authority_revision", "authority_revision - 1".into()),
            ("lease_expires_at", "5".into()),
            ("throttles_used", "1".into()),
            ("throttles_max", "throttles_max + 1".into()),
            ("opened_by", "'another'".into()),
            ("outcome", "'closed'".into()),
        ],
    ];
    let sql: Vec<String> = ids
        .iter()
        .zip(&sets)
        .map(|(id, sets)| {
            let sets: Vec<String> = sets.iter().map(|(column, value)| format!("{column} = {value}")).collect();
            update(id, &sets.join(", "))
        })
        .collect();
    let store = tampered(setup, "columns.db", &sql.concat());
    let changed: BTreeSet<String> = sets.iter().flatten().map(|(column, _)| (*column).to_owned()).collect();
    assert_eq!(changed, derived_columns(&store), "every column of the table is tried");
    let found = verified(&store);
    for (id, sets) in ids.iter().zip(&sets) {
        let id = if sets[0].0 == "operation_id" { "another" } else { id };
        let named: BTreeSet<&str> = found.of(id)["why"].as_array().unwrap().iter().filter_map(column).collect();
        let wanted: BTreeSet<&str> = sets.iter().map(|(column, _)| *column).collect();
        assert_eq!(named, wanted, "{}", found.of(id));
    }
    ids[4..].iter().for_each(|id| found.fine(id));
}

fn column(why: &Value) -> Option<&str> {
    why.as_str()?.strip_prefix("column `")?.split('`').next()
}

/// The columns of `operations` that a record makes.
fn derived_columns(store: &Path) -> BTreeSet<String> {
    let store = Connection::open(store).unwrap();
    let mut statement = store.prepare("SELECT name FROM pragma_table_info('operations')").unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
    names.filter(|name| !["id", "record", "mark_kind", "mark_at"].contains(&&**name)).collect()
}

/// A wait whose record, log or row was changed is named; nothing is sent for it, no decision is made on it, and its job can't
/// be opened again beside it. The others go on.
#[test]
fn d47_nothing_is_sent_for_what_was_changed_and_the_others_go_on() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let broken = ["record", "log", "row", "unreadable"];
    at_once(&["record", "log", "row", "unreadable", "done"], |job| {
        setup.sondeo(&["open", &contract, job]).run().code(0)
    });
    let ids = broken.map(|job| setup.id(job));
    let [record, log_of, row, unreadable] = &ids;
    let fine = setup.id("done");
    let sql = [
        update(record, "record = substr(record, 2)"),
        format!("DELETE FROM entries WHERE {};", log(log_of)),
        update(row, "requests_max = requests_max + 80"),
        update(unreadable, "jobs = '['"),
    ];
    attack(&setup.store(), &sql.concat());

    let listed = setup.sondeo(&["list"]).run().code(1);
    listed.line(&fine[..12]);
    assert!(listed.stderr.contains(unreadable), "what can't be read is named, the others are listed: {listed}");
    let run = setup.sondeo(&["run", "--json"]).run().code(1);
    for id in &ids {
        assert_eq!(run.stderr.matches(&**id).count(), 1, "named, and once: {run}");
        assert_eq!(run.json()["operations"][&**id], 1, "{run}");
    }
    assert_eq!(run.json()["operations"][&*fine], 0, "the others go on: {run}");
    let beside = at_once(&["record", "log", "row", "unreadable"], |job| setup.sondeo(&["watch", &contract, job]).run());
    let decided = at_once(&[record, log_of, row], |id| setup.sondeo(&["decide", id, "close", "--why", "odd"]).run());
    for (done, id) in beside.iter().zip(&ids).chain(decided.iter().zip(&ids)) {
        damaged(done, id);
    }
    let count = "SELECT count(*) FROM operations";
    let opened: u32 = Connection::open(setup.store()).unwrap().query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(opened, 5, "no other was opened beside them");
    for job in broken {
        assert_eq!(setup.provider.count(job), 0, "nothing was sent for `{job}`");
    }
    let found = verified(&setup.store());
    found.names(record, &["record can't be read"]);
    found.names(log_of, &["the tail was cut"]);
    found.names(row, &["column `requests_max`"]);
    found.names(unreadable, &["column `jobs`"]);
    found.fine(&fine);
}

fn damaged(done: &Done, id: &str) {
    assert_eq!(done.code, Some(1), "{done}");
    assert!(done.error().starts_with("damaged: operation `") && done.error().contains(id), "{done}");
}
