//! `sondeo watch` against a provider that is not part of this code: every ending with its exit code and story, and a count
//! of requests that is never more than was charged, whatever interrupts the wait.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

mod common;

use common::{Done, Program, Setup, at_once};
use serde_json::json;

/// One wait, and what has to come of it.
struct Case {
    /// The provider's script; also the job's id.
    job: &'static str,
    args: &'static [&'static str],
    code: i32,
    /// Reason or outcome, as `list` names it.
    stands: &'static str,
    /// Requests that the provider counts.
    requests: u32,
    /// What the story's lines say, in order.
    story: &'static [&'static str],
    /// The least time between the first two requests, by the provider's clock.
    gap_ms: u64,
}

const CASE: Case = Case { job: "", args: &[], code: 3, stands: "", requests: 1, story: &[], gap_ms: 0 };

const CASES: &[Case] = &[
    Case {
        job: "queued.running.done",
        code: 0,
        stands: "succeeded",
        requests: 3,
        story: &[
            "submitted job queued.running.done, deadline ",
            "polled, state queued, next poll ",
            "polled, state running, next poll ",
            "polled, state done, settled: succeeded",
            "result file: http://127.0.0.1:",
            "permits: fetch",
        ],
        ..CASE
    },
    Case {
        job: "running.failed",
        code: 4,
        stands: "job_failed",
        requests: 2,
        story: &["state failed, job failed, escalated (the provider says: \u{201c}the disk is full\u{201d})", "Error"],
        ..CASE
    },
    Case { job: "expired", code: 4, stands: "job_expired", ..CASE },
    Case {
        job: "running.paused.running",
        stands: "unknown_state",
        requests: 2,
        story: &["unknown state, escalated", "Last state (provider's word): \u{201c}paused\u{201d}", "amend: "],
        ..CASE
    },
    Case {
        job: "e401.done",
        stands: "authorization_denied",
        story: &["received 401, authorization denied, escalated", "renew_credential: "],
        ..CASE
    },
    Case {
        job: "running--budget",
        args: &["--max-requests", "3"],
        stands: "request_budget_exhausted",
        requests: 3,
        story: &["request budget exhausted, escalated", "Status requests: 3 of 3", "extend: "],
        ..CASE
    },
    Case {
        job: "ra503-2.done",
        code: 0,
        stands: "succeeded",
        requests: 2,
        story: &["received 503, Retry-After 2, next poll ", " from provider guidance", "settled: succeeded"],
        gap_ms: 2_000,
        ..CASE
    },
    Case {
        job: "ra429-1.e429.running",
        args: &["--max-throttles", "2"],
        stands: "rate_limited",
        requests: 2,
        story: &["received 429, Retry-After 1, next poll ", "received 429, rate limited, escalated"],
        gap_ms: 1_000,
        ..CASE
    },
    Case {
        job: "e503.e500",
        args: &["--max-failures", "2"],
        stands: "provider_failure",
        requests: 2,
        story: &["received 503, next poll ", "received 500, provider failure, escalated"],
        ..CASE
    },
    Case {
        job: "drop.half.drop",
        stands: "ambiguous_delivery",
        requests: 3,
        story: &["no answer: reset, next poll ", "cut off: truncated, next poll ", "ambiguous delivery, escalated"],
        ..CASE
    },
    Case {
        job: "hang",
        args: &["--max-failures", "1"],
        stands: "ambiguous_delivery",
        story: &["no answer: read timeout, ambiguous delivery, escalated"],
        ..CASE
    },
    Case { job: "running.garbage", stands: "unreadable_response", requests: 2, ..CASE },
    Case { job: "lies", stands: "identity_mismatch", ..CASE },
];

/// The main job: a wait on a real endpoint, bounded and explained, and nothing sent that was not paid for.
#[test]
fn every_ending_has_its_exit_code_its_story_and_its_count() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |contract| contract["request"]["timeout"] = json!("1s"));
    at_once(CASES, |case| {
        let mut args = vec!["watch", &contract, case.job];
        args.extend(case.args);
        let done = setup.sondeo(&args).run().code(case.code);
        told_in_order(&done, case.story);
    });
    for (row, received) in setup.audited() {
        let case = CASES.iter().find(|case| case.job == row.job).unwrap();
        assert_eq!(row.stands, case.stands, "{row:?}");
        assert_eq!((received, row.used), (case.requests, case.requests), "{row:?}");
        let log = setup.provider.requests(&row.job);
        assert_eq!(log.len(), received as usize, "the provider's log and its count agree");
        if case.gap_ms > 0 {
            let gap = log[1].at_ms - log[0].at_ms;
            assert!(gap >= case.gap_ms, "asked again after {gap} ms: {row:?}");
        }
    }
}

/// Each text stands in a line of the output, none before the one before it.
fn told_in_order(done: &Done, story: &[&str]) {
    let mut from = 0;
    for text in story {
        let found = done.stdout[from..].find(text);
        from += found.unwrap_or_else(|| panic!("`{text}` is not told, or too early: {done}"));
    }
}

/// D17: a job that runs for ever stops at the deadline, and not later; no wake-up lies beyond it.
#[test]
fn d17_a_deadline_ends_the_wait() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let jobs = ["running--ever", "ra503-3600"];
    at_once(&jobs, |job| {
        let done = setup.sondeo(&["watch", &contract, job, "--deadline", "3s", "--json"]).run().code(3);
        let end = done.json();
        assert_eq!(end["exit_code"], 3);
        assert_eq!(end["notice"]["reason"], "deadline_exceeded", "{end}");
        assert_eq!(end["notice"]["options"][0]["option"], "extend", "{end}");
        assert!(done.stderr.contains("deadline exceeded, escalated"), "the story stands beside the JSON: {done}");
    });
    for (row, received) in setup.audited() {
        // One that was charged in the last moment may find no time left to be sent.
        assert!(received + 1 >= row.used, "{received} received: {row:?}");
        let log = setup.provider.requests(&row.job);
        for request in &log {
            assert!(request.at_ms < log[0].at_ms + 3_000, "after the deadline: {request:?}");
        }
    }
}

/// A wait that is killed goes on where it was, by the same command; what was in flight stays counted (D22, `lost`).
#[test]
fn kill_9_at_any_moment_loses_nothing() {
    let setup = Setup::new();
    let slow = setup.contract("slow.json", |contract| {
        contract["pace"] = json!({"base": "2s", "max": "2s", "floor": "1", "min_delay": "1s"});
    });
    let quick = setup.contract("quick.json", |contract| contract["id"] = json!("loopback.quick"));
    let steady = setup.contract("steady.json", |contract| {
        contract["id"] = json!("loopback.steady");
        contract["request"]["timeout"] = json!("5s");
    });
    at_once(&[0, 1, 2], |scene| match scene {
        0 => killed_while_waiting(&setup, &slow),
        1 => killed_in_flight(&setup, &steady),
        _ => killed_anywhere(&setup, &quick),
    });
    for (row, _) in setup.audited() {
        assert_eq!(row.stands, "succeeded", "{row:?}");
    }
}

fn killed_while_waiting(setup: &Setup, contract: &str) {
    let watch = || setup.sondeo(&["watch", contract, "queued.running.done", "--lease", "3s"]);
    for (after, goes_on) in [("submitted job", false), ("polled, state queued", true), ("polled, state running", true)]
    {
        let mut running = watch().start();
        running.wait_for_line(after);
        let done = running.kill9();
        assert_eq!(done.code, None, "a signal ended it: {done}");
        assert_eq!(done.stdout.contains(" goes on\n"), goes_on, "{done}");
    }
    watch().run().code(0).line("settled: succeeded");
}

fn killed_in_flight(setup: &Setup, contract: &str) {
    let job = "after4500-running.done";
    let watch = || setup.sondeo(&["watch", contract, job, "--lease", "6s", "--max-requests", "2"]);
    let running = watch().start();
    setup.provider.wait_for_request(job, 1);
    running.kill9();
    assert_eq!(setup.operation(job).phase, "polling", "the crash left its trace");
    let done = watch().run().code(0);
    done.line("request 1 was lost: no answer while its lease lasted");
    assert_eq!(setup.provider.count(job), 2, "every request was charged, the lost one too: {done}");
    assert_eq!(setup.operation(job).used, 2);
}

/// Whenever the kill comes: within start, opening, request or wait.
fn killed_anywhere(setup: &Setup, contract: &str) {
    let job = "queued.running.after300-running.running.after300-running.running.running.done";
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    println!("seed {seed}");
    let mut random = seed;
    for _ in 0..4 {
        let mut running = setup.sondeo(&["watch", contract, job, "--lease", "3s", "--max-requests", "15"]).start();
        running.wait_for_line("operation ");
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(std::time::Duration::from_millis(u64::from(random >> 16) % 700));
        running.kill9();
    }
    setup.sondeo(&["watch", contract, job, "--lease", "3s", "--max-requests", "15"]).run().code(0);
}

/// Ctrl-C finishes the request in flight; a second one leaves it to the lease. Both say that it still waits.
#[test]
fn ctrl_c_leaves_a_wait_that_goes_on() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |contract| contract["request"]["timeout"] = json!("20s"));
    at_once(&[0, 1, 2], |scene| match scene {
        0 => interrupted_in_flight(&setup, &contract),
        1 => interrupted_twice(&setup, &contract),
        _ => interrupted_while_waiting(&setup),
    });
    setup.audited();
}

fn interrupted_in_flight(setup: &Setup, contract: &str) {
    let job = "after1500-running.done";
    let running = setup.sondeo(&["watch", contract, job]).start();
    setup.provider.wait_for_request(job, 1);
    running.interrupt();
    let done = running.done().code(5);
    done.line("polled, state running, next poll ");
    assert!(done.stderr.contains("interrupted; the operation stays"), "{done}");
    assert_eq!((setup.provider.count(job), &*setup.operation(job).phase), (1, "waiting"));
    let done = setup.sondeo(&["watch", contract, job]).run().code(0);
    done.line(" goes on");
    assert_eq!(setup.provider.count(job), 2);
}

fn interrupted_twice(setup: &Setup, contract: &str) {
    let job = "hang--twice";
    let mut running = setup.sondeo(&["watch", contract, job]).start();
    setup.provider.wait_for_request(job, 1);
    running.interrupt();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(running.is_running(), "once, the request in flight is finished first");
    running.interrupt();
    let done = running.done().code(5);
    assert!(!done.stdout.contains("no answer"), "it did not wait for the answer: {done}");
    let row = setup.operation(job);
    assert_eq!((&*row.phase, row.used), ("polling", 1));
}

fn interrupted_while_waiting(setup: &Setup) {
    let contract = setup.contract("patient.json", |contract| {
        contract["id"] = json!("loopback.patient");
        contract["pace"] = json!({"base": "30s", "max": "30s", "first_delay": "100ms", "min_delay": "50ms"});
    });
    let mut running = setup.sondeo(&["watch", &contract, "running--patient"]).start();
    running.wait_for_line("polled, state running");
    running.interrupt();
    running.done().code(5);
    assert_eq!(setup.provider.count("running--patient"), 1);
}

/// D42: two processes on one job send what one would have sent, and end alike.
#[test]
fn two_at_once_wait_for_one_job_as_one() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let jobs = [("queued.running.running.done", 0, 4), ("running.running.failed", 4, 3)];
    at_once(&jobs, |(job, code, _)| {
        let watch = || setup.sondeo(&["watch", &contract, job, "--json"]).start();
        let both = [watch(), watch()];
        for running in both {
            assert_eq!(running.done().code(*code).json()["exit_code"], *code);
        }
    });
    let operations = setup.audited();
    assert_eq!(operations.len(), jobs.len(), "one operation a job (D4)");
    for (row, received) in operations {
        let known = jobs.iter().find(|known| known.0 == row.job).unwrap();
        assert_eq!((received, row.used), (known.2, known.2), "{row:?}");
    }
}

/// D4: one job, one wait. The same limits find it, as a duration that is written otherwise does; others are refused.
#[test]
fn d4_another_watch_finds_the_same_wait_or_is_refused_by_name() {
    let setup = Setup::new();
    let contract = setup.contract("exports.json", |_| {});
    let job = "queued.done";
    setup.sondeo(&["open", &contract, job, "--deadline", "60m", "--max-requests", "9"]).run().code(0);
    let id = setup.id(job);
    let changed = setup.contract("changed.json", |contract| contract["provider"] = json!("Another name"));
    let refused: [(&str, &[&str], &str); 3] = [
        (&contract, &["--deadline", "61s", "--max-requests", "10"], "`deadline` is not as it was given"),
        (&contract, &["--max-requests", "9"], "`deadline` is not as it was given"),
        (&changed, &["--deadline", "1h", "--max-requests", "9"], "`amend`"),
    ];
    at_once(&refused, |(contract, limits, names)| {
        let mut args = vec!["watch", contract, job];
        args.extend(*limits);
        let done = setup.sondeo(&args).run().code(2);
        assert!(done.error().contains(&id), "names the operation there is: {done}");
        assert!(done.error().contains(names), "says what differs: {done}");
        assert_eq!(done.stdout, "", "{done}");
    });
    assert_eq!(setup.provider.count(job), 0, "nothing was sent for any of them");
    let same: Vec<Program> =
        (0..2).map(|_| setup.sondeo(&["watch", &contract, job, "--deadline", "1h", "--max-requests", "9"])).collect();
    for watch in same {
        watch.run().code(0).line(&format!("operation {id} goes on"));
    }
    assert_eq!(setup.provider.count(job), 2, "the ended one sends nothing more");
    assert_eq!(setup.audited().len(), 1);
}
