//! `sondeo contract new`, `diff` and `try --against`, as people run them: the real program, and a provider that counts.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

mod common;

use common::{Done, Program, Setup};
use serde_json::{Value, json};

/// Answers to every question that has to be answered.
const FLAGS: [&str; 18] = [
    "--provider",
    "Acme Exports",
    "--url",
    "https://api.acme.example/v1/{org}/exports/{export_id}",
    "--state",
    "/export/status",
    "--pending",
    "queued,running",
    "--succeeded",
    "done",
    "--result",
    "/export/url",
    "--source",
    "docs.acme.example/exports",
    "--effects",
    "none",
    "--effects-known",
    "docs: reading an export is free",
];

fn new(folder: &std::path::Path, out: &str, more: &[&str]) -> (Program, String) {
    let path = folder.join(out).to_str().unwrap().to_owned();
    let mut args = vec!["contract", "new", "--out", &path];
    args.extend(FLAGS);
    args.extend(more);
    (Program::new(&args), path)
}

/// `contract try CONTRACT --job JOB` and more.
fn attempt(contract: &str, job: &str, more: &[&str]) -> Done {
    let mut args = vec!["contract", "try", contract, "--job", job];
    args.extend(more);
    Program::new(&args).run()
}

fn contract(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// D3: what is written is a contract, whatever the answers; and it fits the published schema.
#[test]
fn a_new_contract_passes_check_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let schema: Value = serde_json::from_str(include_str!("../host/contracts/sondeo.contract-1.schema.json")).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let cases: [&[&str]; 4] = [
        &["--takes", "5m"],
        &["--takes", "3s", "--failed", "error", "--partial", "some", "--echo", "/export/id", "--max-requests", "7"],
        &["--takes", "3h", "--credential-header", "X-Api-Key", "--deadline", "90m", "--needs-action", "blocked"],
        &["--takes", "50s", "--credential-header", "none", "--cancelled", "stopped", "--expired", "gone"],
    ];
    for (index, more) in cases.iter().enumerate() {
        let (program, path) = new(folder.path(), &format!("{index}.json"), more);
        let written = program.run().code(0);
        assert!(!written.stdout.contains("warning"), "{written}");
        let checked = Program::new(&["contract", "check", &path, "--json"]).run().code(0).json();
        assert_eq!((&checked[0]["faults"], &checked[0]["warnings"]), (&json!([]), &json!([])), "{checked}");
        assert!(checked[0]["samples"].as_u64().unwrap() >= 10, "{checked}");
        assert!(schema.is_valid(&contract(&path)), "{path}");
    }
    let last = contract(folder.path().join("3.json").to_str().unwrap());
    assert_eq!(last["request"]["id_parts"], json!(["org", "export_id"]));
    assert_eq!(last["id"], "acme.exports");
    assert_eq!(last["request"]["credential"], Value::Null);
    let third = contract(folder.path().join("2.json").to_str().unwrap());
    assert_eq!(third["request"]["credential"], json!({"header": "x-api-key"}));
    assert!(third["limits"]["why"].as_str().unwrap().contains("usual time of 3h"), "explained: {third}");
}

/// D5: a status request that bills is asked about each time.
#[test]
fn d5_effects_lead_to_approval_for_each_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bills.json").to_str().unwrap().to_owned();
    let mut args = vec!["contract", "new", "--out", &path, "--takes", "5m"];
    args.extend(FLAGS.map(|flag| if flag == "none" { "bills" } else { flag }));
    Program::new(&args).run().code(0);
    assert_eq!(contract(&path)["approval"], "per_request");
}

#[test]
fn a_file_that_is_there_stays_and_missing_answers_are_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (program, path) = new(folder.path(), "a.json", &["--takes", "5m"]);
    std::fs::write(&path, "mine").unwrap();
    let refused = program.run().code(2);
    assert!(refused.error().contains("is not written over"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");

    let refused = Program::new(&["contract", "new", "--provider", "Acme", "--state", "/s"]).run().code(2);
    for flag in ["--url", "--pending", "--succeeded", "--result", "--source", "--effects", "--effects-known", "--takes"]
    {
        assert!(refused.error().contains(flag), "{flag}: {refused}");
    }
    let (program, path) = new(folder.path(), "b.json", &["--takes", "5m", "--failed", "done"]);
    let refused = program.run().code(2);
    assert!(refused.error().contains("`done` is given as `succeeded` and as `failed`"), "{refused}");
    assert!(!std::path::Path::new(&path).exists());
}

fn generic(change: impl FnOnce(&mut Value)) -> Value {
    let mut value: Value = serde_json::from_str(include_str!("../host/contracts/generic.json")).unwrap();
    change(&mut value);
    value
}

fn difference(change: impl FnOnce(&mut Value)) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.json");
    std::fs::write(&path, generic(change).to_string()).unwrap();
    Program::new(&["contract", "diff", "generic", path.to_str().unwrap(), "--json"]).run().code(0).json()
}

fn turned(difference: &Value) -> Vec<String> {
    let told = |turned: &Value| {
        let text = |name: &str| turned[name].as_str().unwrap().to_owned();
        format!("{}: {} -> {}", text("answer"), text("was"), text("is"))
    };
    difference["answers"].as_array().unwrap().iter().map(told).collect()
}

#[test]
fn answers_that_change_meaning_are_told_and_others_are_not() {
    let same = difference(|contract| {
        contract["sources"] = json!(["elsewhere"]);
        contract["limits"]["deadline"] = json!("2400s");
    });
    assert_eq!((&same["same"], &same["answers"], &same["fields"]), (&json!(true), &json!([]), &json!([])), "{same}");
    assert!(same["answers_tried"].as_u64().unwrap() > 30, "{same}");

    // Neither contract has a sample for these.
    let paused = difference(|contract| {
        contract["samples"].as_array_mut().unwrap().retain(|sample| sample["expect"] != "unknown");
        contract["decide"][1]["map"]["values"]["paused"] = json!("pending");
        contract["decide"][1]["map"]["values"]["held"] = json!("needs_action");
    });
    assert_eq!(
        turned(&paused),
        [
            "state word \u{201c}held\u{201d} at /state: unknown -> needs_action",
            "state word \u{201c}paused\u{201d} at /state: unknown -> pending",
        ]
    );

    let gone = difference(|contract| {
        let rule = json!({"when": {"code": [404, 409]}, "then": "expired", "source": "docs"});
        contract["decide"].as_array_mut().unwrap().push(rule);
        contract["samples"].as_array_mut().unwrap().retain(|sample| sample["expect"] != "not_found");
    });
    let told = turned(&gone);
    assert!(told.contains(&"status 404, no body: not_found -> expired".to_owned()), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("status 409")), "{told:?}");

    let unproved = difference(|contract| {
        contract["success"]["require"] = json!([{"at": "/other"}]);
        contract["samples"]
            .as_array_mut()
            .unwrap()
            .retain(|sample| sample["expect"] != "succeeded" && sample["expect"] != "partial");
    });
    let told = turned(&unproved);
    assert!(
        told.contains(&"state word \u{201c}done\u{201d} at /state: succeeded -> contradictory_response".to_owned()),
        "{told:?}"
    );
    assert_eq!(unproved["fields"][0]["pointer"], "/success/require/0/at");
}

#[test]
fn fields_that_differ_are_told_in_words_old_and_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.json");
    let changed = generic(|contract| {
        contract["pace"]["max"] = json!("3m");
        contract["request"]["conditional"] = json!(true);
    });
    std::fs::write(&path, changed.to_string()).unwrap();
    let told = Program::new(&["contract", "diff", "generic", path.to_str().unwrap()]).run().code(0);
    assert!(told.stdout.contains("answers that were tried changes meaning"), "{told}");
    assert!(told.stdout.contains("  /pace/max: \"2m\" -> \"3m\"\n"), "{told}");
    assert!(told.stdout.contains("  /request/conditional: (not given) -> true\n"), "{told}");

    std::fs::write(&path, "{}").unwrap();
    Program::new(&["contract", "diff", "generic", path.to_str().unwrap()]).run().code(2);
}

/// I1: one request, which was charged; and the explanation is that of the answer that came.
#[test]
fn one_real_request_is_made_counted_and_explained() {
    let setup = Setup::new();
    let plain = setup.contract("plain.json", |contract| contract["pace"]["first_delay"] = json!("30m"));
    let tried = attempt(&plain, "paused.running", &["--against"]).code(0);
    for line in ["answered  200", "outcome   unknown", "state     \u{201c}paused\u{201d}", "requests  1 was made"] {
        assert!(tried.stdout.contains(line), "{line}: {tried}");
    }
    assert_eq!(setup.provider.count("paused.running"), 1);

    let origin = format!("http://127.0.0.1:{}", setup.provider.port);
    let tried = attempt(&plain, "ra503-7", &["--against", &origin, "--json"]);
    let tried = tried.code(0).json();
    assert_eq!((&tried["outcome"], &tried["request"]["status"]), (&json!("unavailable"), &json!(503)), "{tried}");
    assert_eq!(tried["request"]["requests_charged"], 1);
    assert!(tried["not_before"].is_string(), "{tried}");
    assert_eq!(setup.provider.count("ra503-7"), 1);

    let silent = attempt(&plain, "drop", &["--against"]).code(1);
    assert!(silent.stdout.contains("answered  nothing: "), "{silent}");
    assert!(silent.stdout.contains("requests  1 was made"), "{silent}");
    assert_eq!(setup.provider.count("drop"), 1);
}

/// D28, D31: nothing is sent elsewhere than the contract says, nor without the credential that it names.
#[test]
fn d28_nothing_is_sent_to_another_address_or_without_its_credential() {
    let setup = Setup::new();
    let plain = setup.contract("plain.json", |_| {});
    for elsewhere in ["http://127.0.0.1:1", "https://api.example.com/v1/jobs/running"] {
        let refused = attempt(&plain, "running", &["--against", elsewhere]).code(2);
        assert!(refused.error().contains("nothing was sent"), "{refused}");
    }
    let given = setup.contract("given.json", |contract| {
        contract["request"].as_object_mut().unwrap().remove("url");
        contract["request"]["url_from"] = json!("opening");
    });
    let elsewhere = ["contract", "try", &given, "--job", "running", "--against", "http://127.0.0.1:1/v1/jobs/running"];
    Program::new(&elsewhere).run().code(2);
    let credential = json!({"header": "authorization", "prefix": "Bearer "});
    let keyed = setup.contract("keyed.json", |contract| contract["request"]["credential"] = credential);
    let refused = attempt(&keyed, "running", &["--against"]).code(2);
    assert!(refused.error().contains("--credential"), "{refused}");
    assert_eq!(setup.provider.count("running"), 0);

    let address = format!("http://127.0.0.1:{}/v1/jobs/running", setup.provider.port);
    let told = attempt(&given, "running", &["--against", &address]).code(0);
    assert!(told.stdout.contains("outcome   pending"), "{told}");
    let keyed = ["contract", "try", &keyed, "--job", "running", "--credential", "env:SONDEO_TEST_KEY", "--against"];
    let told = Program::new(&keyed).env("SONDEO_TEST_KEY", "s3cret").run().code(0);
    assert!(!told.stdout.contains("s3cret") && !told.stderr.contains("s3cret"), "{told}");
    let requests = setup.provider.requests("running");
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[0].authorization == "-", requests[1].authorization == "-"), (true, false));
}

/// D41: a contract that asks before each request takes the command for the person's word.
#[test]
fn d41_the_command_is_the_approval_of_its_one_request() {
    let setup = Setup::new();
    let asks = setup.contract("asks.json", |contract| contract["approval"] = json!("per_request"));
    let tried = attempt(&asks, "running--asks", &["--against"]).code(0);
    assert!(tried.stdout.contains("outcome   pending"), "{tried}");
    assert_eq!(setup.provider.count("running--asks"), 1);
}
