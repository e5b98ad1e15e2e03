//! Golden bytes of format 1: every kind of event and ending, as records and entries that must be readable for ever, made
//! the same by the component and by the crate behind it (D46 to D48, I15).
//!
//! `SONDEO_BLESS=1 cargo test --test golden` writes them anew; after format 1 is frozen that is never the answer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

#[path = "script/mod.rs"]
mod script;

use std::path::{Path, PathBuf};

use script::{CONTRACT, Core, Native, Run, amended, at};
use serde_json::{Value, json};
use sondeo::component::Component;

type Scenario = fn(&mut Run<'_>);

/// Scenario by name; each ends somewhere else.
const SCENARIOS: &[(&str, Scenario)] = &[
    ("essay", essay),
    ("succeeded", succeeded),
    ("job_failed", |run| run.state("failed")),
    ("job_cancelled", |run| run.state("cancelled")),
    ("job_expired", |run| run.poll(410, json!({}), Value::Null)),
    ("unknown_amended_accepted", unknown_amended_accepted),
    ("unreadable_extended", unreadable_extended),
    ("needs_action_declined_closed", needs_action),
    ("denied_renewed", denied_renewed),
    ("throttled", throttled),
    ("failures", failures),
    ("lost_late_pushed_paced", lost_late_pushed_paced),
    ("deadline_late_success", deadline_late_success),
    ("identity_mismatch", |run| run.poll(200, json!({}), json!({"job_id": "another", "state": "running"}))),
    ("contradiction_accepted", contradiction_accepted),
    ("policy_fault_component_changed", policy_fault),
    ("approval", approval),
    ("submission_unknown_adopted", submission_unknown),
];

fn essay(run: &mut Run<'_>) {
    run.state("queued");
    run.state("running");
    run.poll(503, json!({"Retry-After": "120"}), Value::Null);
    while !run.ended() {
        run.state("running");
    }
}

fn succeeded(run: &mut Run<'_>) {
    run.state("queued");
    run.poll(200, json!({"x-request-id": "req-1"}), json!({"job_id": "exp_71c", "state": "running", "progress": 40}));
    run.poll(
        200,
        json!({}),
        json!({"job_id": "exp_71c", "state": "succeeded", "result_url": "https://files.provider.example/a"}),
    );
}

fn unknown_amended_accepted(run: &mut Run<'_>) {
    run.state("paused");
    run.amend(&amended(), 600_000);
    run.state("paused");
    run.state("part");
    run.decide(900_000, json!({"close": null}));
}

fn unreadable_extended(run: &mut Run<'_>) {
    run.poll_text(200, "{\"job_id\": ");
    run.decide(60_000, json!({"hold": "2025-04-18T12:00:00.000Z"}));
    run.decide(
        120_000,
        json!({"extend": {"extension": {"time_ms": 900_000, "requests": 1, "failures": 1, "throttles": 1}}}),
    );
    run.state("failed");
    run.decide(180_000, json!({"new_operation": {"operation_id": "report-export-2025-04-18-02"}}));
}

fn needs_action(run: &mut Run<'_>) {
    run.state("waiting");
    let proposal = json!({"id": "p1", "by": "agent-7", "why": "the consent was given", "expected_effect": "it goes on",
        "extension": {"time_ms": 900_000, "requests": 4}});
    run.event(60_000, json!({"proposed": {"proposal": proposal}}));
    run.decide(120_000, json!({"decline": {"proposal": "p1"}}));
    run.decide(180_000, json!({"cancel": {}}));
    run.decide(240_000, json!({"close": null}));
}

fn denied_renewed(run: &mut Run<'_>) {
    run.credential = Some(json!({"account": "default", "digest": "aa"}));
    run.poll(401, json!({}), Value::Null);
    run.decide(60_000, json!({"renew_credential": {"renewal": {"rotated": {"digest": "bb"}}}}));
    run.credential = Some(json!({"account": null, "digest": "bb"}));
    run.poll(403, json!({}), Value::Null);
}

fn throttled(run: &mut Run<'_>) {
    run.poll(429, json!({"Retry-After": "30"}), Value::Null);
    run.poll(429, json!({"Retry-After": "soon"}), Value::Null);
    run.poll(429, json!({}), Value::Null);
}

fn failures(run: &mut Run<'_>) {
    run.fault("dns");
    run.poll(502, json!({}), Value::Null);
    run.fault("read_timeout");
}

fn lost_late_pushed_paced(run: &mut Run<'_>) {
    run.state("running");
    run.event(500, json!({"pushed": {"push": {"authentic": true, "job": "exp_71c"}}}));
    run.event(10, json!({"pushed": {"push": {"authentic": false}}}));
    let soon = run.after(60_000);
    run.event(10, json!({"paced": {"until": soon}}));
    run.charge();
    run.event(60_000, json!({"woke": {}}));
    run.event(5, json!({"unanswered": {"attempt": 2, "fence": 2, "fault": "reset"}}));
    run.state("running");
}

fn deadline_late_success(run: &mut Run<'_>) {
    run.at = at("10:59:58");
    run.charge();
    run.at = at("11:00:00");
    run.answer(
        200,
        json!({}),
        json!({"job_id": "exp_71c", "state": "succeeded", "result_url": "https://files.provider.example/a"}),
    );
    run.decide(60_000, json!({"accept_result": null}));
}

fn contradiction_accepted(run: &mut Run<'_>) {
    run.poll(200, json!({}), json!({"job_id": "exp_71c", "state": "running", "expires_at": "2025-04-18T09:00:00Z"}));
    run.decide(60_000, json!({"extend": {"extension": {"time_ms": 900_000, "requests": 1}}}));
}

fn policy_fault(run: &mut Run<'_>) {
    run.state("running");
    run.event(10, json!({"faulted": {"kind": "trap"}}));
    run.event(10, json!({"component_changed": {"component": "1".repeat(64), "by": "ana"}}));
    run.decide(60_000, json!({"close": null}));
}

fn approval(run: &mut Run<'_>) {
    run.opening["approval_per_request"] = json!(true);
    run.reopen();
    run.wake();
    run.decide(1_000, json!({"approve": {"attempt": 1}}));
    run.state("running");
}

fn submission_unknown(run: &mut Run<'_>) {
    run.opening["submission_unknown"] = json!(true);
    run.opening["job"] = json!({});
    run.reopen();
    run.decide(60_000, json!({"adopt": {"job": {"id": "exp_71c"}}}));
    run.state("running");
}

fn play(core: &dyn Core, scenario: Scenario) -> (Vec<String>, String, Vec<String>) {
    let mut run = Run::new(core);
    scenario(&mut run);
    (run.entries, run.record, run.contracts)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

fn blessing() -> bool {
    std::env::var_os("SONDEO_BLESS").is_some()
}

/// I15, D48: crate and component make these bytes, and they are those that were frozen.
#[test]
fn every_form_of_record_and_entry_is_as_it_was() {
    let component = Component::embedded().unwrap();
    for (name, scenario) in SCENARIOS {
        let native = play(&Native, *scenario);
        assert_eq!(native, play(&component, *scenario), "{name}: crate and component differ");
        let mut lines = native.0.clone();
        lines.push(native.1.clone());
        let text = format!("{}\n", lines.join("\n"));
        let path = folder().join(format!("{name}.jsonl"));
        if blessing() {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(golden == text, "{name}: the bytes differ from {}", path.display());
    }
}

/// D47, D48: what was written in format 1 is read, and verifies, for ever; whatever else this build would write today.
#[test]
fn golden_logs_are_read_and_verify() {
    if blessing() {
        // The files are being written beside this test.
        return;
    }
    let contracts = [CONTRACT.to_owned(), amended()];
    let mut seen = 0;
    for file in std::fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        let record = lines.pop().unwrap();
        let view = Native.call("read", &json!({"record": record})).unwrap();
        assert_eq!(view["revision"], json!(lines.len()), "{}", path.display());
        let log = json!({"entries": lines, "contracts": contracts, "current": record, "component": script::COMPONENT});
        let report = Native.call("verify", &log).unwrap();
        let verdict = report["verdict"].as_str().unwrap();
        assert!(verdict.starts_with("verified"), "{}: {report}", path.display());
        seen += 1;
    }
    assert_eq!(seen, SCENARIOS.len());
}

/// D49: the essay's story, in its form; a charge's line shows only on demand.
#[test]
fn the_essays_story_is_told_as_it_was() {
    let component = Component::embedded().unwrap();
    let mut run = Run::new(&component);
    essay(&mut run);
    let told: Vec<String> = run
        .entries
        .iter()
        .map(|entry| serde_json::from_str::<Value>(entry).unwrap()["sentence"].as_str().unwrap().to_owned())
        .filter(|sentence| !sentence.contains(" sent request "))
        .collect();
    let text = format!("{}\n", told.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/story.txt");
    if blessing() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text);
}
