//! What a person decides, by the real program: bounded, once, on what is there now, and the wait goes on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

mod common;

use common::{Done, Program, Setup, at_once};
use serde_json::json;

/// `sondeo decide JOB'S-OPERATION ...`
fn decide(setup: &Setup, job: &str, args: &[&str]) -> Program {
    let id = setup.id(job);
    let mut all = vec!["decide", &id];
    all.extend(args);
    setup.sondeo(&all)
}

/// A refusal: exit code 2, one error that has `text`, and the operation is as it was.
fn refused(setup: &Setup, job: &str, args: &[&str], text: &str) {
    let before = setup.operation(job);
    let done = decide(setup, job, args).run().code(2);
    assert!(done.error().contains(text), "`{text}` is not said: {done}");
    assert_eq!(setup.operation(job), before, "{done}");
}

fn notice(setup: &Setup, job: &str) -> Done {
    setup.sondeo(&["notice", &setup.id(job)]).run().code(0)
}

/// D33, D34, D38: each reason's way on, by the options that its notice offers.
#[test]
fn every_decision_is_bounded_recorded_and_leads_on() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |contract| {
        contract["limits"]["extension"] = json!({"time": "1h", "requests": 4, "failures": 2, "throttles": 2});
    });
    at_once(&[0, 1, 2, 3], |scene| match scene {
        0 => extended(&setup, &contract),
        1 => amended(&setup, &contract),
        2 => accepted(&setup, &contract),
        _ => held_closed_and_succeeded(&setup, &contract),
    });
    setup.audited();
}

fn extended(setup: &Setup, contract: &str) {
    let job = "running.running.running.done";
    let watch = || setup.sondeo(&["watch", contract, job, "--max-requests", "2"]);
    watch().run().code(3).line("1h, 4 more status requests, 2 more failures");
    let revision =
        notice(setup, job).line("Options (decide on revision ").trim_matches(|c: char| !c.is_ascii_digit()).to_owned();
    refused(setup, job, &["extend"], "say why: `--why");
    refused(setup, job, &["extend", "--requests", "100", "--why", "more"], "`requests` of 100 is more than the 4");
    refused(setup, job, &["extend", "--why", "more", "--revision", "1"], "look again");
    // Nothing said of amounts: all that is offered. The same command again changes nothing.
    let grant = ["extend", "--why", "the export is large", "--decision-id", "d-1"];
    let first = decide(setup, job, &[&grant[..], &["--revision", &revision]].concat()).run().code(0);
    first.line("decided: extend 1h, 4 requests, 2 failures, 2 throttled answers (the export is large), next poll ");
    let again = decide(setup, job, &grant).run().code(0);
    again.line("decided already; nothing has changed");
    assert_eq!((setup.operation(job).max, setup.provider.count(job)), (6, 2), "deciding sends nothing");
    refused(setup, job, &["close", "--why", "other", "--decision-id", "d-1"], "another decision was made under the id");
    watch().run().code(0);
    assert_eq!(setup.provider.count(job), 4);
}

/// D10: a word that the contract doesn't know stops; the way back is a contract that does.
fn amended(setup: &Setup, contract: &str) {
    let job = "paused.done";
    setup.sondeo(&["watch", contract, job]).run().code(3);
    let another = setup.contract("another.json", |contract| contract["id"] = json!("loopback.another"));
    let revised = setup.contract("revised.json", |contract| {
        contract["decide"][0]["map"]["values"]["paused"] = json!("pending");
        contract["samples"][1]["expect"] = json!("pending");
        contract["limits"]["extension"] = json!({"time": "1h", "requests": 4, "failures": 2, "throttles": 2});
    });
    refused(setup, job, &["extend", "--why", "more"], "`extend` is not offered now; what is: `amend`");
    refused(setup, job, &["amend", &another, "--why", "wrong one"], "an amendment keeps the contract's id");
    refused(setup, job, &["amend", contract, "--why", "the same"], "under this contract already");
    let done = decide(setup, job, &["amend", &revised, "--why", "paused is a waiting state"]).run().code(0);
    done.line("decided: amend to contract ");
    setup.sondeo(&["watch", &revised, job]).run().code(0);
    assert_eq!((setup.operation(job).used, setup.provider.count(job)), (2, 2), "no limit was reset");
}

/// D33: a partial result is taken by a person, and shown then.
fn accepted(setup: &Setup, contract: &str) {
    let job = "partial";
    let asked = setup.sondeo(&["watch", contract, job]).run().code(3);
    assert!(!asked.stdout.contains("/files/"), "no result is shown before the end (D11): {asked}");
    let done = decide(setup, job, &["accept-result", "--why", "half is enough"]).run().code(0);
    done.line("settled: accepted");
    done.line("result file: http://127.0.0.1:");
    setup.sondeo(&["watch", contract, job]).run().code(0).line("result file: http://127.0.0.1:");
    refused(setup, job, &["close", "--why", "too late"], "the operation is settled");
}

/// Held, then closed; then a further operation on the same job, from the counters used so far (D4).
fn held_closed_and_succeeded(setup: &Setup, contract: &str) {
    let job = "running.running.done";
    let first = setup.sondeo(&["watch", contract, job, "--max-requests", "1"]);
    first.run().code(3);
    decide(setup, job, &["hold", "2h", "--why", "after lunch", "--decision-id", "h"]).run().code(0);
    decide(setup, job, &["hold", "2h", "--why", "after lunch", "--decision-id", "h"]).run().code(0);
    notice(setup, job).line("Held until: ");
    assert_eq!(setup.operation(job).stands, "request_budget_exhausted", "a hold ends nothing");
    decide(setup, job, &["close", "--why", "no longer needed"]).run().code(0).line("settled: closed");
    let id = setup.id(job);
    setup.sondeo(&["watch", contract, job, "--max-requests", "1"]).run().code(4);
    let next = ["watch", contract, job, "--max-requests", "3", "--successor-of", &id, "--why", "needed after all"];
    setup.sondeo(&next).run().code(0);
    let successor = setup.operation(job);
    assert_ne!(successor.id, id);
    assert_eq!((successor.used, setup.provider.count(job)), (3, 3), "counters go on (D4)");
}

/// D26, D33: 401 ends the wait at once; a rotated credential must be another one, and a second denial is the last.
#[test]
fn d33_a_refused_credential_is_renewed_once() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |contract| {
        contract["request"]["credential"] = json!({"header": "authorization", "prefix": "Bearer "});
    });
    at_once(&[0, 1], |scene| match scene {
        0 => rotated(&setup, &contract),
        _ => restored(&setup, &contract),
    });
    for (row, received) in setup.audited() {
        assert_eq!(received, row.used, "{row:?}");
    }
}

fn rotated(setup: &Setup, contract: &str) {
    let job = "e401.running.e401.done";
    let key = setup.file("key", "first-key\n");
    let reference = format!("file:{key}");
    let watch = || setup.sondeo(&["watch", contract, job, "--credential", &reference]);
    watch().run().code(3);
    assert_eq!(setup.provider.count(job), 1, "no second try on the same credential (D26)");
    let renew = ["renew-credential", "--rotated", "--why", "new key"];
    refused(setup, job, &renew, "the credential is the one that was refused");
    setup.file("key", "second-key\n");
    decide(setup, job, &renew).run().code(0);
    watch().run().code(3);
    let asked: Vec<String> = setup.provider.requests(job).into_iter().map(|request| request.authorization).collect();
    assert_ne!(asked[0], asked[1], "the new one was sent");
    assert_eq!(asked[1], asked[2]);
    let notice = notice(setup, job);
    assert!(!notice.stdout.contains("renew_credential"), "after a second denial it is no longer offered: {notice}");
    refused(
        setup,
        job,
        &["renew-credential", "--access-restored", "--why", "again"],
        "`renew_credential` is not offered",
    );
}

fn restored(setup: &Setup, contract: &str) {
    let job = "e403.done";
    let watch = || {
        let watch = setup.sondeo(&["watch", contract, job, "--credential", "env:SONDEO_TEST_KEY"]);
        watch.env("SONDEO_TEST_KEY", "the-only-key")
    };
    watch().run().code(3).line("authorization denied, escalated");
    let renew = decide(setup, job, &["renew-credential", "--access-restored", "--why", "the role was missing"]);
    renew.run().code(0).line("decided: renew credential (the role was missing), next poll ");
    watch().run().code(0);
}

/// D5, D41: where a status request bills, each one rests until a person approves exactly that one.
#[test]
fn d41_each_request_rests_until_it_is_approved() {
    let setup = Setup::new();
    let contract = setup.contract("billed.json", |contract| {
        contract["effects"] = json!({"kind": "bills", "known": "provider.py: made up for this test"});
    });
    at_once(&["running.done", "drop.done"], |job| {
        let mut watch = setup.sondeo(&["watch", &contract, job]).start();
        watch.wait_for_line("request 1 is due and rests until a person approves it");
        assert_eq!(setup.provider.count(job), 0);
        if *job == "drop.done" {
            decide(&setup, job, &["approve", "1", "--why", "once"]).run().code(0);
            let done = watch.done().code(3);
            done.line("no answer: reset, ambiguous delivery, escalated");
            return;
        }
        refused(&setup, job, &["approve", "2", "--why", "that one"], "no request of this number rests");
        decide(&setup, job, &["approve", "1", "--why", "go"]).run().code(0);
        watch.wait_for_line("request 2 is due and rests until a person approves it");
        assert_eq!(setup.provider.count(job), 1);
        decide(&setup, job, &["approve", "2", "--why", "go on"]).run().code(0);
        watch.done().code(0);
    });
    setup.audited();
}

/// D3, D33: a submission whose fate is unknown sends nothing until a person names the job that was found.
#[test]
fn d33_a_lost_submission_is_adopted_under_the_job_that_was_found() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    setup.sondeo(&["open", &contract, "--submission-unknown"]).run().code(3);
    let id = setup.operations()[0].id.clone();
    let bad = setup.sondeo(&["decide", &id, "adopt", "../x", "--why", "found"]).run().code(2);
    assert!(bad.error().contains("dot segments"), "{bad}");
    setup.sondeo(&["decide", &id, "adopt", "queued.done", "--why", "found in the console"]).run().code(0);
    setup.sondeo(&["watch", &contract, "queued.done"]).run().code(0).line(&format!("operation {id} goes on"));
    setup.audited();
}

/// D48: an operation goes on with the component that it is pinned to, from the store, until a person moves it.
#[test]
fn d48_an_operation_keeps_its_component_until_it_is_moved() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let path = setup.path("other.wasm");
    let other = path.to_str().unwrap();
    setup.sondeo(&["component", "--out", other]).run().code(0);
    // A custom section at the end: another component by its digest, the same in all that it decides.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([0, 5, 4, b'n', b'o', b't', b'e']);
    std::fs::write(&path, bytes).unwrap();
    let job = "running.running.done";
    let watch = || setup.sondeo(&["watch", &contract, job, "--max-requests", "3"]);
    let mut first = setup.sondeo(&["watch", &contract, job, "--max-requests", "3", "--component", other]).start();
    first.wait_for_line("polled, state running");
    first.kill9();
    let _ = std::fs::remove_file(&path);
    let moved = decide(&setup, job, &["use-component", "--why", "the fixed one"]).run().code(0);
    moved.line(" moved the operation to component ");
    watch().run().code(0);
    let verified = setup.sondeo(&["verify"]).run().code(0);
    verified.line(" verified (");
    let replayed = setup.sondeo(&["replay", &setup.id(job)]).run().code(0);
    replayed.line(" verified (other build) (");
}
