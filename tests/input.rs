//! Bad input, and a store that can't be used: one clear error each, the right exit code, nothing sent and nothing lost.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use common::{Done, Program, Setup, at_once};
use serde_json::{Value, json};

/// One error on standard error, exit code 2, nothing on standard output.
fn refused(done: Done, texts: &[&str]) -> Done {
    let done = done.code(2);
    assert_eq!(done.stdout, "", "{done}");
    for text in texts {
        assert!(done.error().contains(text), "`{text}` is not said: {done}");
    }
    done
}

/// A command line with what is wrong with it, and what has to be said.
struct Case<'a> {
    args: Vec<&'a str>,
    says: &'a [&'a str],
}

fn case<'a>(args: &[&'a str], says: &'a [&'a str]) -> Case<'a> {
    Case { args: args.to_vec(), says }
}

#[test]
fn a_bad_contract_is_told_at_its_place() {
    let setup = Setup::new();
    let no_json = setup.file("no.json", "{\n  \"format\": \"sondeo.contract/1\",\n  oops\n}");
    let not_utf8 = setup.file("not_utf8.json", b"{\"provider\": \"\xff\"}");
    let near = setup.contract("near.json", |contract| {
        let limits = contract["limits"].as_object_mut().unwrap();
        let deadline = limits.remove("deadline").unwrap();
        limits.insert("deadlin".into(), deadline);
    });
    let folder = setup.path("");
    let cases = [
        case(&["watch", "nowhere.json", "a"], &["there is no contract file `nowhere.json`", "sondeo contract list"]),
        case(&["watch", folder.to_str().unwrap(), "a"], &["can't read `", "directory"]),
        case(&["watch", &not_utf8, "a"], &["not_utf8.json: not UTF-8 from byte 14 on"]),
        case(&["watch", &no_json, "a"], &["no.json: 1 fault(s)", "line 3"]),
        case(&["watch", &near, "a"], &["1 fault(s)", "/limits/deadlin", "`deadline`"]),
        case(&["contract", "try", &near, "--answer", &no_json], &["/limits/deadlin"]),
    ];
    at_once(&cases, |case| refused(setup.sondeo(&case.args).run(), case.says));
    // Checking several tells each; with `--json` on standard output, since that is the answer.
    let told = setup.sondeo(&["contract", "check", &near, &no_json, "--json"]).run().code(2).json();
    assert_eq!(told[0]["faults"][0]["pointer"], "/limits/deadlin", "{told}");
    assert_eq!(told[1]["faults"].as_array().unwrap().len(), 1, "{told}");
    assert!(!setup.store().exists(), "no store was made for any of them");
}

#[test]
fn bad_limits_ids_and_flags_are_told_by_name() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let bare = setup.contract("bare.json", |contract| {
        contract.as_object_mut().unwrap().remove("limits");
    });
    let keyed = setup.contract("keyed.json", |contract| {
        contract["request"]["credential"] = json!({"header": "authorization"});
    });
    let watch = |more: &[&'static str]| [&["watch", &contract], more].concat();
    let cases = [
        case(
            &watch(&["a", "--deadline", "2020-01-01T00:00:00Z"]),
            &["the deadline 2020-01-01T00:00:00", "not after now"],
        ),
        case(&watch(&["a", "--deadline", "0s"]), &["not after now"]),
        case(&watch(&["a", "--deadline", "soon"]), &["--deadline `soon`", "write it like 90s, 40m or 1h30m"]),
        case(&watch(&["a", "--max-requests", "0"]), &["`max_status_requests` is zero"]),
        case(&watch(&["../admin"]), &["the id part `id`", "dot segments"]),
        case(&watch(&[]), &["the job's id"]),
        case(&watch(&["a", "--part", "id"]), &["--part `id`: write it as NAME=VALUE"]),
        case(&watch(&["a", "--lease", "2s"]), &["must be shorter than the lease", "give a longer lease"]),
        case(&["watch", &bare, "a"], &["--deadline (", "--max-requests (", "--max-failures ("]),
        case(&["watch", &keyed, "a"], &["--credential ("]),
        case(&["watch", &keyed, "a", "--credential", "env:SONDEO_TEST_UNSET"], &["`env:SONDEO_TEST_UNSET` is not set"]),
        case(&watch(&["a", "--credential", "env:PATH"]), &["the contract sends no credential"]),
        case(&["open", &contract, "a", "--submission", "/dev/null"], &["/dev/null, line 1: a response starts like"]),
        case(&watch(&["a", "--component", "/dev/null"]), &["/dev/null: not a WebAssembly component"]),
    ];
    at_once(&cases, |case| refused(setup.sondeo(&case.args).run(), case.says));
    assert_eq!(setup.provider.count("a"), 0, "nothing was sent for any of them");
    if setup.store().exists() {
        assert!(setup.operations().is_empty(), "and nothing was opened");
    }
}

/// Programs read errors too: one JSON object a line on standard error, whatever went wrong.
#[test]
fn with_json_every_error_is_json() {
    let setup = Setup::new();
    let near = setup.contract("near.json", |contract| contract["identty"] = json!([]));
    let cases: [(&[&str], i32, usize, &str); 4] = [
        (&["watch", &near, "a", "--json"], 2, 1, "1 fault(s)"),
        (&["watch", "nowhere.json", "a", "--json"], 2, 0, "there is no contract file"),
        (&["watch", "--json"], 2, 0, "required arguments were not provided"),
        (&["list", "--json", "--no-such-flag"], 2, 0, "unexpected argument"),
    ];
    at_once(&cases, |(args, code, faults, text)| {
        let done = setup.sondeo(args).run().code(*code);
        let error: Value = serde_json::from_str(&done.stderr).unwrap_or_else(|error| panic!("{error}: {done}"));
        assert!(error["error"].as_str().unwrap().contains(text), "{done}");
        assert_eq!(error["faults"].as_array().unwrap().len(), *faults, "{done}");
        assert_eq!((&error["exit_code"], &*done.stdout), (&json!(code), ""), "{done}");
    });
}

/// What one answer would mean, from a file or standard input, without a store and without a request.
#[test]
fn contract_try_says_what_an_answer_would_mean() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let running = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nretry-after: 7\r\n\r\n{\"job_id\":\"a\",\"state\":\"running\"}";
    let answer = setup.file("answer.http", running);
    let bad = setup.file("bad.http", "HTTP/1.1 200 OK\nno header\n\n{}");
    let attempt = |args: &[&str]| setup.sondeo(&[&["contract", "try", &contract, "--answer"], args].concat());
    at_once(&[0, 1, 2, 3], |scene| match scene {
        0 => {
            let done = attempt(&[&answer, "--job", "a"]).run().code(0);
            done.line("outcome   pending");
            done.line("by        rule /decide/0");
            done.line("guidance  not before ");
        }
        1 => {
            let told = attempt(&["-", "--job", "a", "--json"]).input(running.as_bytes()).run().code(0).json();
            assert_eq!((&told["outcome"], &told["state"]), (&json!("pending"), &json!("running")), "{told}");
        }
        2 => {
            let told = attempt(&[&answer, "--job", "b", "--json"]).run().code(0).json();
            assert_eq!(told["outcome"], "identity_mismatch", "{told}");
        }
        _ => {
            refused(attempt(&[&bad, "--job", "a"]).run(), &["bad.http, line 2: a header is `Name: value`"]);
        }
    });
    assert!(!setup.store().exists());
    assert_eq!(setup.provider.count("a"), 0);
}

/// A file that is no store of this program's is left as it is.
#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    setup.sondeo(&["open", &contract, "a"]).run().code(0);
    let newer = setup.path("newer.db");
    fs::copy(setup.store(), &newer).unwrap();
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let foreign = setup.path("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let plain = setup.path("notes.txt");
    fs::write(&plain, "buy milk\n".repeat(100)).unwrap();
    let folder = setup.path("folder");
    fs::create_dir(&folder).unwrap();
    let cases = [
        (newer, "was written by a newer sondeo (schema 999"),
        (foreign, "is a database of another program, and is left alone"),
        (plain, "is not a database"),
        (folder, "can't open store"),
        (setup.path("exports.json").join("under.db"), "can't open store"),
        ("/proc/sondeo/jobs.db".into(), "can't open store"),
    ];
    at_once(&cases, |(path, text)| {
        let before = fs::read(path).ok();
        for verb in [&["open", &*contract, "a"][..], &["list"]] {
            let done = Program::new(&[verb, &["--store", path.to_str().unwrap()]].concat()).run();
            let absent = verb == ["list"] && !path.exists();
            refused(done, &[if absent { "store" } else { text }, path.to_str().unwrap()]);
        }
        assert_eq!(fs::read(path).ok(), before, "{} was left as it was", path.display());
    });
    let cases = [
        case(&["list", "--store", "postgres://db/x"], &["`postgres` is not a kind of store"]),
        case(&["list", "--store", "/nowhere/jobs.db"], &["there is no store at `/nowhere/jobs.db`"]),
        case(&["show", "ffff"], &["there is no operation `ffff`", "sondeo list"]),
    ];
    at_once(&cases, |case| match case.args[0] {
        "show" => refused(setup.sondeo(&case.args).run(), case.says),
        _ => refused(Program::new(&case.args).run(), case.says),
    });
    assert_eq!(setup.operations().len(), 1);
}

/// Runs what follows as somebody who may not write: root could write anywhere.
const AS_NOBODY: &[&str] = &[
    "python3",
    "-c",
    "import os, sys\nif os.geteuid() == 0:\n    os.setgroups([]); os.setgid(65534); os.setuid(65534)\nos.execv(sys.argv[1], sys.argv[1:])",
];

/// A folder that can't be written: what is in it is read, what would have to be written is one error.
#[test]
fn a_read_only_folder_is_read_and_never_waited_on() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    setup.sondeo(&["watch", &contract, "done"]).run().code(0);
    let id = setup.id("done");
    // Neither the folder nor the program need be where just anybody may look.
    let program = setup.path("sondeo");
    fs::copy(env!("CARGO_BIN_EXE_sondeo"), &program).unwrap();
    fs::set_permissions(setup.store(), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(setup.path(""), fs::Permissions::from_mode(0o555)).unwrap();
    let run = |args: &[&str]| {
        let store = setup.store();
        let all = [AS_NOBODY, &[program.to_str().unwrap()], args, &["--store", store.to_str().unwrap()]].concat();
        Program::other(&all).run()
    };
    let read: Vec<Done> = at_once(&[vec!["list"], vec!["show", &id], vec!["verify"]], |args| run(args));
    let written = run(&["watch", &contract, "another"]);
    fs::set_permissions(setup.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    for done in read {
        done.code(0);
    }
    refused(written, &["can't open store", "ermission denied"]);
    assert_eq!(setup.provider.count("another"), 0);
}

/// I14: no room for the store: nothing more is sent, nothing is lost, and with room again the same process goes on.
#[test]
fn i14_a_full_disk_stops_sending_and_room_goes_on() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let (job, another) = ("running.running.done", "another");
    setup.sondeo(&["open", &contract, job]).run().code(0);
    // The write-ahead log grows past the limit on file sizes below, and is kept there by a reader that doesn't finish.
    let filler = rusqlite::Connection::open(setup.store()).unwrap();
    filler.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    filler.execute("INSERT INTO contracts VALUES ('filler', ?1)", ["x".repeat(6 << 20)]).unwrap();
    filler.execute_batch("BEGIN; SELECT count(*) FROM contracts").unwrap();
    let limit = ["sh", "-c", "ulimit -S -f 8192; exec \"$@\"", "sh"];
    let refused = setup.through(&limit, &["open", &contract, another]).run().code(1);
    assert!(refused.error().contains("this was not saved, what was saved before is"), "{refused}");
    let mut watch = setup.through(&limit, &["watch", &contract, job]).start();
    watch.wait_for_line("this was not saved, what was saved before is");
    assert!(watch.is_running(), "it waits for room");
    assert_eq!((setup.provider.count(job), setup.operation(job).used), (0, 0), "nothing is sent that can't be charged");
    let raise = format!(
        "import resource\nno = resource.RLIM_INFINITY\nresource.prlimit({}, resource.RLIMIT_FSIZE, (no, no))",
        watch.process_id()
    );
    assert!(Command::new("python3").args(["-c", &raise]).status().unwrap().success());
    watch.done().code(0).line("settled: succeeded");
    drop(filler);
    rusqlite::Connection::open(setup.store())
        .unwrap()
        .execute_batch("DROP TRIGGER contracts_delete; DELETE FROM contracts WHERE digest = 'filler'")
        .unwrap();
    let (row, received) = setup.audited().remove(0);
    assert_eq!((received, row.used, setup.operations().len()), (3, 3, 1), "{row:?}");
}
