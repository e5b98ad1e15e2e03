use alloc::{string::String, vec::Vec};

use super::*;
use crate::{
    api::{DelaySource, Ending, Extension, OptionKind, TransportFault},
    digest,
    testing::{CONTRACT, Run, at, opening},
    verify::{self, Log, Verdict},
};

fn log(run: &Run) -> Log {
    Log {
        entries: run.entries.clone(),
        contracts: Vec::from([run.contract.clone()]),
        start: None,
        current: Some(run.record.clone()),
        component: "0".repeat(64),
    }
}

/// The essay's provider: queued, running, 503 with `Retry-After: 120`, running, then the budget is spent.
#[test]
fn d49_the_essays_story_reads_as_the_essay_tells_it() {
    let mut run = Run::open("10:20:00");
    run.state("queued");
    run.state("running");
    run.poll(503, &[("Retry-After", "120")], "");
    while !matches!(run.action, Action::Escalate { .. }) {
        run.state("running");
    }
    let told: Vec<&String> = run.sentences.iter().filter(|s| !s.contains(" sent request ")).collect();
    for line in &told {
        std::println!("{line}");
    }
    assert!(told[0].starts_with("10:20:00 submitted job exp_71c, deadline 11:00:00, budget 12"), "{}", told[0]);
    assert!(told[1].contains("polled, state queued, next poll"), "{}", told[1]);
    assert!(told[3].contains("received 503, Retry-After 120, next poll"), "{}", told[3]);
    assert!(told[3].ends_with("from provider guidance"), "{}", told[3]);
    assert!(told[12].ends_with("polled, state running, request budget exhausted, escalated"), "{}", told[12]);
    let report = verify::verify(&log(&run));
    assert_eq!(report.verdict, Verdict::Verified, "{report:?}");
    assert_eq!(report.sentences, run.sentences);
}

#[test]
fn d11_success_needs_its_reference_and_settles_with_what_it_permits() {
    let mut run = Run::open("10:20:00");
    let body = r#"{"job_id": "exp_71c", "state": "succeeded", "result_url": "https://files.provider.example/a"}"#;
    match run.poll(200, &[], body) {
        Action::Settle { settlement } => {
            assert_eq!(settlement.ending, Ending::Succeeded);
            assert_eq!(settlement.actions, ["fetch"]);
            assert_eq!(settlement.results.len(), 1);
        }
        other => panic!("{other:?}"),
    }
    let mut run = Run::open("10:20:00");
    assert_eq!(reason(run.state("succeeded")), Some(Reason::ContradictoryResponse));
    let foreign = r#"{"job_id": "exp_71c", "state": "succeeded", "result_url": "https://evil.example/a"}"#;
    assert_eq!(reason(Run::open("10:20:00").poll(200, &[], foreign)), Some(Reason::ContradictoryResponse));
}

fn reason(action: &Action) -> Option<Reason> {
    match action {
        Action::Escalate { reason, .. } => Some(*reason),
        _ => None,
    }
}

/// Each ending that one answer leads to.
#[test]
fn d26_to_d33_each_answer_ends_for_its_own_reason() {
    let cases: &[(u16, &str, Reason)] = &[
        (401, "", Reason::AuthorizationDenied),
        (403, "", Reason::AuthorizationDenied),
        (407, "", Reason::AuthorizationDenied),
        (410, "", Reason::JobExpired),
        (302, "", Reason::IntegrationFailure),
        (400, "", Reason::IntegrationFailure),
        (200, r#"{"job_id": "exp_71c", "state": "paused"}"#, Reason::UnknownState),
        (200, r#"{"job_id": "exp_71c"}"#, Reason::UnknownState),
        (200, r#"{"job_id": "exp_71c", "state": "Running"}"#, Reason::UnknownState),
        (200, r#"{"job_id": "exp_71c", "state": "failed", "error": "disk"}"#, Reason::JobFailed),
        (200, r#"{"job_id": "exp_71c", "state": "cancelled"}"#, Reason::JobCancelled),
        (200, r#"{"job_id": "exp_71c", "state": "expired"}"#, Reason::JobExpired),
        (200, r#"{"job_id": "exp_71c", "state": "waiting"}"#, Reason::NeedsAction),
        (200, r#"{"job_id": "exp_71c", "state": "part"}"#, Reason::PartialResult),
        (200, r#"{"job_id": "exp_99x", "state": "running"}"#, Reason::IdentityMismatch),
        (200, r#"{"job_id": 71, "state": "running"}"#, Reason::IdentityMismatch),
        (200, r#"{"state": "running"}"#, Reason::IdentityMismatch),
        (
            200,
            r#"{"job_id": "exp_71c", "state": "running", "expires_at": "2025-04-18T10:00:00Z"}"#,
            Reason::ContradictoryResponse,
        ),
        (200, r#"{"job_id": "exp_71c", "state": "runn"#, Reason::UnreadableResponse),
        (200, r#"{"job_id": "exp_71c", "state": "running", "state": "failed"}"#, Reason::UnreadableResponse),
    ];
    for (status, body, expected) in cases {
        let mut run = Run::open("10:20:00");
        assert_eq!(reason(run.poll(*status, &[], body)), Some(*expected), "{status} {body}");
        let record = run.record.clone();
        let later = run.next_after_the_end();
        assert!(matches!(run.step(later, What::Woke { credential: None }).unwrap(), Action::Rest { .. }));
        assert_eq!(record, run.record, "an ended record moved");
        assert_eq!(verify::verify(&log(&run)).verdict, Verdict::Verified);
    }
}

impl Run {
    fn next_after_the_end(&self) -> Instant {
        at("10:59:00")
    }
}

#[test]
fn d17_the_deadline_stops_before_a_request_and_after_an_answer() {
    let mut run = Run::open("10:20:00");
    assert_eq!(
        reason(run.step(at("11:00:00"), What::Woke { credential: None }).unwrap()),
        Some(Reason::DeadlineExceeded)
    );
    let mut run = Run::open("10:20:00");
    run.charge(at("10:59:59"));
    let body = r#"{"job_id": "exp_71c", "state": "succeeded", "result_url": "https://files.provider.example/a"}"#;
    match run.answer(at("11:00:00"), 200, &[], body) {
        Action::Escalate { reason: Reason::DeadlineExceeded, options } => {
            assert!(options.contains(&OptionKind::AcceptResult), "{options:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(run.view().last_known_state.as_deref(), Some("succeeded"));
    match run.decide(at("11:05:00"), "d1", DecisionWhat::AcceptResult).unwrap() {
        Action::Settle { settlement } => assert_eq!(settlement.ending, Ending::Accepted),
        other => panic!("{other:?}"),
    }
    let mut run = Run::open("10:20:00");
    run.charge(at("10:59:59"));
    assert!(matches!(run.answer(at("10:59:59.999"), 200, &[], body), Action::Settle { .. }));
}

#[test]
fn d20_d21_totals_stop_under_their_own_reasons() {
    let mut run = Run::open("10:20:00");
    run.poll(503, &[], "");
    run.state("running");
    run.poll(500, &[], "");
    assert_eq!(reason(run.poll(502, &[], "")), Some(Reason::ProviderFailure));
    let mut run = Run::open("10:20:00");
    run.fault(TransportFault::Dns);
    run.fault(TransportFault::Dns);
    assert_eq!(reason(run.fault(TransportFault::ReadTimeout)), Some(Reason::AmbiguousDelivery));
    let mut run = Run::open("10:20:00");
    run.poll(429, &[], "");
    assert_eq!(Record::parse(&run.record).unwrap().backoff_n, 3);
    run.poll(429, &[("Retry-After", "60")], "");
    assert_eq!(reason(run.poll(429, &[], "")), Some(Reason::RateLimited));
}

#[test]
fn d42_a_lost_request_stays_counted_and_a_late_answer_is_noted_once() {
    let mut run = Run::open("10:20:00");
    let when = run.next();
    run.charge(when);
    assert!(matches!(run.step(when.plus(59_999), What::Woke { credential: None }).unwrap(), Action::Rest { .. }));
    let since = when.plus(60_000);
    assert!(matches!(run.step(since, What::Woke { credential: None }).unwrap(), Action::Sleep { .. }));
    assert_eq!(run.view().requests.used, 1);
    assert_eq!(run.view().failures.used, 0);
    assert!(run.next() <= since, "the backoff counts from the request's own time");
    let entries = run.entries.len();
    let stale = What::Unanswered { attempt: 1, fence: run.fence, fault: TransportFault::Reset };
    assert!(matches!(run.step(since, stale.clone()).unwrap(), Action::Rest { .. }));
    assert_eq!(run.entries.len(), entries + 1);
    run.step(since, stale).unwrap();
    assert_eq!(run.entries.len(), entries + 1, "the same note isn't repeated");
    assert_eq!(run.charge(since), 2);
    assert_eq!(verify::verify(&log(&run)).verdict, Verdict::Verified);
}

#[test]
fn d38_an_extension_is_bounded_bound_to_a_revision_and_given_once() {
    let mut run = Run::open("10:20:00");
    run.step(at("11:00:00"), What::Woke { credential: None }).unwrap();
    let amounts = |time_ms, requests| DecisionWhat::Extend {
        extension: Extension { time_ms, requests, failures: 0, throttles: 0, useful_until: None },
        done: None,
    };
    let over = run.decide(at("11:05:00"), "d1", amounts(900_001, 4)).unwrap_err();
    assert_eq!(over.kind, RefusalKind::OverCeiling);
    let before = run.record.clone();
    let none = run.decide(at("11:05:00"), "d1", amounts(0, 4)).unwrap_err();
    assert_eq!(none.kind, RefusalKind::InvalidEvent, "leaves no future deadline");
    assert_eq!(before, run.record);
    match run.decide(at("11:05:00"), "d1", amounts(900_000, 4)).unwrap() {
        Action::Sleep { until, source: DelaySource::ManualExtension } => assert_eq!(*until, at("11:05:01")),
        other => panic!("{other:?}"),
    }
    assert_eq!(run.view().deadline_at, at("11:20:00"));
    run.step(at("11:20:00"), What::Woke { credential: None }).unwrap();
    let spent = run.decide(at("11:21:00"), "d2", amounts(900_000, 4)).unwrap_err();
    assert_eq!(spent.kind, RefusalKind::NotOffered, "max_extensions is 1");
    assert_eq!(verify::verify(&log(&run)).verdict, Verdict::Verified);
}

#[test]
fn d38_after_an_end_four_more_requests_are_four_whatever_was_left() {
    let extend = |requests, failures| DecisionWhat::Extend {
        extension: Extension { time_ms: 900_000, requests, failures, throttles: 0, useful_until: None },
        done: None,
    };
    let mut run = Run::open("10:20:00");
    run.state("queued");
    run.step(at("11:00:00"), What::Woke { credential: None }).unwrap();
    run.decide(at("11:05:00"), "d1", extend(4, 2)).unwrap();
    let view = run.view();
    assert_eq!((view.requests.used, view.requests.max), (1, 5));
    assert_eq!((view.failures.used, view.failures.max), (0, 2));
    assert_eq!((view.throttles.used, view.throttles.max), (0, 3), "not named, so as it was");
    assert_eq!(verify::verify(&log(&run)).verdict, Verdict::Verified);

    // D33: after an answer that can't be read the option is for one request.
    let mut run = Run::open("10:20:00");
    run.poll(200, &[], "{");
    let when = run.view().last_exchange.unwrap().at;
    run.decide(when, "d1", extend(1, 0)).unwrap();
    assert_eq!(reason(run.poll(503, &[], "")), Some(Reason::RequestBudgetExhausted));

    // While it waits, nothing that is left is taken away.
    let mut run = Run::open("10:20:00");
    run.decide(at("10:20:01"), "d1", extend(4, 2)).unwrap();
    assert_eq!((run.view().requests.max, run.view().failures.max), (12, 3));
}

#[test]
fn d10_an_amendment_goes_on_under_the_new_contract_and_replays() {
    let mut run = Run::open("10:20:00");
    run.state("paused");
    let amended = CONTRACT.replace("\"queued\": \"pending\"", "\"queued\": \"pending\", \"paused\": \"pending\"");
    let digest = digest::sha256_hex(amended.as_bytes());
    let old = run.contract.clone();
    run.contract = amended;
    let what = DecisionWhat::Amend { contract: digest, extension: None };
    assert!(matches!(run.decide(at("10:30:00"), "d1", what).unwrap(), Action::Sleep { .. }));
    assert!(matches!(run.state("paused"), Action::Sleep { .. }));
    let mut all = log(&run);
    all.contracts.push(old);
    let report = verify::verify(&all);
    assert_eq!(report.verdict, Verdict::Verified, "{report:?}");
}

#[test]
fn d47_edits_deletions_reordering_and_a_cut_tail_are_found() {
    let mut run = Run::open("10:20:00");
    run.state("queued");
    run.state("running");
    let good = log(&run);
    assert_eq!(verify::verify(&good).verdict, Verdict::Verified);
    let check = |change: &dyn Fn(&mut Log)| {
        let mut bad = good.clone();
        change(&mut bad);
        verify::verify(&bad).verdict
    };
    assert_eq!(check(&|log| log.entries[1] = log.entries[1].replace("\"used\":1", "\"used\":0")), Verdict::Broken);
    assert_eq!(check(&|log| drop(log.entries.remove(2))), Verdict::Broken);
    assert_eq!(check(&|log| log.entries.swap(1, 2)), Verdict::Broken);
    assert_eq!(check(&|log| drop(log.entries.pop())), Verdict::Broken);
    let verdict =
        check(&|log| log.current = log.current.as_ref().map(|r| r.replace("\"backoff_n\":2", "\"backoff_n\":3")));
    assert_eq!(verdict, Verdict::Diverged);
    assert_eq!(check(&|log| log.contracts.clear()), Verdict::NotCheckable);
}

/// The contract, with the status address from the opening.
fn by_address() -> String {
    let template = r#""url": "https://api.provider.example/v1/jobs/{id}", "id_parts": ["id"]"#;
    CONTRACT.replacen(template, r#""url_from": "opening", "id_parts": ["id"]"#, 1).replace(
        r#""url": "https://api.provider.example/v1/jobs/{id}/cancel""#,
        r#""url": "https://api.provider.example/v1/cancel""#,
    )
}

#[test]
fn d31_a_secret_address_is_in_no_record_and_no_entry_and_replays_by_its_digest() {
    let secret = "https://api.provider.example/v1/jobs/exp_71c?token=S3CR3T";
    let mut opening = opening();
    opening.address = Some(secret.into());
    opening.sealing = true;
    let mut run = Run::open_with(&by_address(), &opening, at("10:20:00"));
    run.state("running");
    assert!(!run.record.contains("S3CR3T"), "{}", run.record);
    assert!(run.entries.iter().all(|entry| !entry.contains("S3CR3T")), "{}", run.entries[0]);
    assert_eq!(run.view().address_secret, Some(digest::sha256_hex(secret.as_bytes())));
    let report = verify::verify(&log(&run));
    assert_eq!(report.verdict, Verdict::Verified, "{report:?}");

    opening.submission_unknown = true;
    opening.address = None;
    let mut run = Run::open_with(&by_address(), &opening, at("10:20:00"));
    let job = alloc::collections::BTreeMap::from([("id".into(), "exp_71c".into())]);
    let adopt = DecisionWhat::Adopt { job, address: Some(secret.into()), extension: None };
    run.decide(at("10:21:00"), "d1", adopt.clone()).unwrap();
    assert!(run.entries.iter().all(|entry| !entry.contains("S3CR3T")), "{}", run.entries[1]);
    assert_eq!(run.view().address_secret, Some(digest::sha256_hex(secret.as_bytes())));
    assert_eq!(verify::verify(&log(&run)).verdict, Verdict::Verified);
}

#[test]
fn d31_an_address_by_digest_is_whole_and_on_an_allowed_origin() {
    let refused = |address: &str, sealing| {
        let mut opening = opening();
        (opening.address, opening.sealing) = (Some(address.into()), sealing);
        crate::open::open(&by_address(), &opening, at("10:20:00")).is_err()
    };
    let sha = "ab".repeat(32);
    assert!(!refused(&alloc::format!("https://api.provider.example/v1/a#sha256:{sha}"), true));
    assert!(refused(&alloc::format!("https://api.provider.example/v1/a#sha256:{sha}"), false), "no key");
    assert!(refused(&alloc::format!("https://evil.example/v1/a#sha256:{sha}"), true));
    assert!(refused(&alloc::format!("https://api.provider.example/v1/a?b=1#sha256:{sha}"), true));
    assert!(refused("https://api.provider.example/v1/a#sha256:ab", true));
    assert!(refused("https://api.provider.example/v1/a#b", true));
}

/// D6, D23: fifty operations opened in one millisecond do not march in step.
#[test]
fn d23_fifty_openings_in_one_millisecond_poll_apart() {
    let mut times: Vec<Instant> = (0..50u32)
        .map(|n| {
            let mut opening = opening();
            opening.seed = alloc::format!("{n:064x}");
            Run::open_with(CONTRACT, &opening, at("10:20:00")).next()
        })
        .collect();
    times.sort();
    times.dedup();
    assert!(times.len() >= 45, "{} distinct first polls", times.len());
    assert!(times.iter().all(|t| *t >= at("10:20:02.5") && *t <= at("10:20:05")));
}

#[test]
fn d3_the_essays_budget_is_warned_about_and_senseless_limits_are_refused() {
    let run = Run::open("10:20:00");
    assert!(run.view().warnings.iter().any(|w| w.contains("before half of the time")), "{:?}", run.view().warnings);
    let refused = |change: &dyn Fn(&mut crate::api::Opening)| {
        let mut opening = opening();
        change(&mut opening);
        let refusal = crate::open::open(CONTRACT, &opening, at("10:20:00")).unwrap_err();
        refusal.faults.first().map(|f| f.pointer.clone()).unwrap_or_default()
    };
    use crate::api::TimeLimit;
    assert_eq!(refused(&|o| o.limits.deadline = Some(TimeLimit::At(at("10:20:00")))), "/limits/deadline");
    assert_eq!(refused(&|o| o.limits.deadline = Some(TimeLimit::AfterMs(1_000))), "/limits/deadline");
    assert_eq!(refused(&|o| o.limits.max_status_requests = Some(0)), "/limits/max_status_requests");
    assert_eq!(refused(&|o| o.lease_ms = 30_000), "/lease_ms");
    assert_eq!(refused(&|o| drop(o.job.insert("id".into(), "../x".into()))), "/job/id");
    assert_eq!(refused(&|o| o.job.clear()), "/job/id");
    assert_eq!(refused(&|o| o.seed = "1".into()), "/seed");
}
