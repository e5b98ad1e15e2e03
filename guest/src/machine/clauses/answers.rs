//! What answers, faults and guidance lead to, at the boundaries (D5, D10 to D29).

use super::*;

/// D29: a 304 to our own `ETag` repeats the last outcome, whichever it was.
#[test]
fn d29_not_modified_repeats_what_the_entity_said() {
    let contract = changed("\"timeout\": \"30s\"", "\"timeout\": \"30s\", \"conditional\": true");
    let tag = [("ETag", "\"a\"")];
    for (state, expected) in [("waiting", Reason::NeedsAction), ("part", Reason::PartialResult)] {
        let mut run = Run::open_with(&contract, &opening(), at("10:20:00"));
        run.poll(200, &tag, &format!(r#"{{"job_id": "exp_71c", "state": "{state}"}}"#));
        let done = DecisionWhat::Extend { extension: ONE, done: Some("consent given".into()) };
        run.decide(at("10:30:00"), "d1", done).unwrap();
        assert_eq!(reason(run.poll(304, &[], "")), Some(expected), "{state}");
        run.verified(&[]);
    }
    let mut run = Run::open_with(&contract, &opening(), at("10:20:00"));
    run.poll(200, &tag, r#"{"job_id": "exp_71c", "state": "running"}"#);
    assert!(matches!(run.poll(304, &[], ""), Action::Sleep { .. }));
    assert_eq!(run.record().backoff_n, 2);
    // An answer without a tag is not what a later 304 repeats.
    run.poll(200, &[], r#"{"job_id": "exp_71c", "state": "queued"}"#);
    assert_eq!(run.record().etag, None);
    assert_eq!(reason(run.poll(304, &[], "")), Some(Reason::IntegrationFailure), "a 304 to nothing");
}

/// D10: under a revised contract the entity is asked for anew: its tag would only bring "as before" back.
#[test]
fn d10_an_amendment_forgets_the_entity_tag() {
    let contract = changed("\"timeout\": \"30s\"", "\"timeout\": \"30s\", \"conditional\": true");
    let mut run = Run::open_with(&contract, &opening(), at("10:20:00"));
    run.poll(200, &[("ETag", "\"a\"")], r#"{"job_id": "exp_71c", "state": "paused"}"#);
    run.contract = contract.replace("\"queued\": \"pending\"", "\"queued\": \"pending\", \"paused\": \"pending\"");
    let what = DecisionWhat::Amend { contract: digest::sha256_hex(run.contract.as_bytes()), extension: None };
    run.decide(at("10:30:00"), "d1", what).unwrap();
    let plan = crate::request::request(&run.contract, &run.record).unwrap();
    assert!(!plan.headers.iter().any(|(name, _)| name == "if-none-match"), "{plan:?}");
    run.verified(&[&contract]);
}

/// D17: what is accepted late is that success' own result, not one of an earlier answer.
#[test]
fn d17_a_late_success_offers_its_own_results_only() {
    let contract = changed("{\"require\": [{\"at\": \"/result_url\"}]}", "{\"require\": [{\"at\": \"/id\"}]}");
    let mut run = Run::open_with(&contract, &opening(), at("10:20:00"));
    let early = r#"{"job_id": "exp_71c", "state": "running", "result_url": "https://files.provider.example/draft"}"#;
    run.poll(200, &[], early);
    assert_eq!(run.record().results.len(), 1);
    run.charge(at("10:59:59"));
    run.answer(at("11:00:00"), 200, &[], r#"{"job_id": "exp_71c", "state": "succeeded", "id": "r1"}"#);
    match run.decide(at("11:01:00"), "d1", DecisionWhat::AcceptResult).unwrap() {
        Action::Settle { settlement } => assert!(settlement.results.is_empty(), "{settlement:?}"),
        other => panic!("{other:?}"),
    }
}

/// D5, D28, D41: where the job goes on at a request that bills, each one needs its own approval from then on.
#[test]
fn d5_a_follow_to_a_request_with_effects_asks_for_each() {
    let contract = following("bills", "30s");
    let mut run = Run::open_with(&contract, &queue_opening(), at("10:20:00"));
    run.poll(200, &[], r#"{"run": "r7"}"#);
    assert_eq!(run.record().job.get("run").map(String::as_str), Some("r7"), "pinned in the same entry");
    assert_eq!(run.record().provider_job_id, "q1");
    let when = run.next();
    assert!(matches!(run.woke(when), Action::AskApproval { attempt: 2 }), "{:?}", run.action);
    run.decide(when, "d1", DecisionWhat::Approve { attempt: 2 }).unwrap();
    run.charge(when);
    let lost = run.step(when, What::Unanswered { attempt: 2, fence: run.fence, fault: TransportFault::Reset }).unwrap();
    assert_eq!(reason(lost), Some(Reason::AmbiguousDelivery));
    run.verified(&[]);
}

/// D28: identity is tested against the new id, and a job is followed three times.
#[test]
fn d28_a_follow_is_pinned_bounded_and_tested() {
    let contract = following("none", "30s");
    let mut run = Run::open_with(&contract, &queue_opening(), at("10:20:00"));
    run.poll(200, &[], r#"{"run": "r7"}"#);
    assert_eq!(run.record().followed, ["r7"]);
    assert_eq!(reason(run.poll(200, &[], r#"{"run": "q1", "state": "running"}"#)), Some(Reason::IdentityMismatch));
    for id in ["..", "a/../b", ".", "", "a\u{7}"] {
        let mut run = Run::open_with(&contract, &queue_opening(), at("10:20:00"));
        let body = serde_json::json!({"run": id}).to_string();
        assert_eq!(reason(run.poll(200, &[], &body)), Some(Reason::IntegrationFailure), "{id:?}");
        assert_eq!(run.record().follows, 0);
    }
}

/// D24, D25: an expected completion past the deadline is a provider's wait past it, if the contract wants to be told.
#[test]
fn d25_guidance_past_the_deadline_clips_or_escalates() {
    let eta = "\"hints\": [{\"at\": \"/eta\", \"unit\": \"rfc3339\", \"kind\": \"eta\"}], \"not_found\"";
    let clip = changed("\"not_found\"", eta);
    let escalate = clip.replace("\"spread\": \"0\"", "\"spread\": \"0\", \"on_hint_past_deadline\": \"escalate\"");
    let body = |eta: &str| format!(r#"{{"job_id": "exp_71c", "state": "running", "eta": "2025-04-18T{eta}Z"}}"#);
    for (eta, past) in [("10:59:59.999", false), ("11:00:00", true), ("11:30:00", true)] {
        let mut run = Run::open_with(&clip, &opening(), at("10:20:00"));
        run.poll(200, &[], &body(eta));
        assert_eq!(run.next(), at("11:00:00").min(at(eta)), "{eta}");
        let mut run = Run::open_with(&escalate, &opening(), at("10:20:00"));
        let action = run.poll(200, &[], &body(eta));
        assert_eq!(reason(action) == Some(Reason::ProviderWaitExceedsDeadline), past, "{eta}");
        run.verified(&[]);
    }
    let answer = crate::api::Answer {
        status: 202,
        headers: Vec::from([("Retry-After".to_string(), "2400".to_string())]),
        body: Body::Text(r#"{"job_id": "exp_71c", "state": "queued"}"#.into()),
        incomplete: None,
        sent_at: at("10:20:00"),
        received_at: at("10:20:00"),
    };
    for (contract, past) in [(&clip, false), (&escalate, true)] {
        let mut start = opening();
        let seen = crate::check::observe(contract, None, &answer).unwrap();
        start.submission = Some(seen.observation);
        let opened = crate::open::open(contract, &start, at("10:20:00")).unwrap();
        assert_eq!(reason(&opened.action) == Some(Reason::ProviderWaitExceedsDeadline), past, "{:?}", opened.action);
    }
}

/// D13: a credential of another account sends nothing.
#[test]
fn d13_a_credential_of_another_account_sends_nothing() {
    for leased in [false, true] {
        let mut run = Run::open("10:20:00");
        let when = run.next();
        let credential = Some(CredentialFact { account: Some("other".into()), digest: "a".repeat(64) });
        let what = match leased {
            true => What::Leased { fence: 1, expires_at: when.plus(60_000), credential },
            false => What::Woke { credential },
        };
        assert_eq!(reason(run.step(when, what).unwrap()), Some(Reason::IdentityMismatch));
        assert_eq!(offered(&run), [OptionKind::Hold, OptionKind::Inspect, OptionKind::Close]);
        assert_eq!(run.record().fence, 0, "no lease is taken");
        run.verified(&[]);
    }
}

/// D22: of several limits that are reached at once the first in the rules' order names the stop.
#[test]
fn d22_several_limits_at_once_stop_under_the_first() {
    let tight = |useful: Option<Instant>| {
        let mut start = opening();
        start.limits.max_status_requests = Some(1);
        start.limits.max_transport_failures = Some(1);
        start.limits.max_throttles = Some(1);
        start.limits.useful_until = useful.map(TimeLimit::At);
        Run::open_with(CONTRACT, &start, at("10:20:00"))
    };
    let end = at("11:00:00");
    for (useful, when, status, expected) in [
        (Some(end), end, 503, Reason::UsefulnessExpired),
        (Some(end.plus(1)), end, 503, Reason::DeadlineExceeded),
        (None, end, 429, Reason::DeadlineExceeded),
        (None, at("10:30:00"), 503, Reason::ProviderFailure),
        (None, at("10:30:00"), 429, Reason::RateLimited),
        (None, at("10:30:00"), 404, Reason::IntegrationFailure),
    ] {
        let mut run = tight(useful);
        run.charge(at("10:29:00"));
        assert_eq!(reason(run.answer(when, status, &[], "")), Some(expected), "{useful:?} {when} {status}");
        run.verified(&[]);
    }
    let mut run = tight(None);
    run.charge(at("10:29:00"));
    let running = r#"{"job_id": "exp_71c", "state": "running"}"#;
    assert_eq!(reason(run.answer(at("10:29:00"), 200, &[], running)), Some(Reason::RequestBudgetExhausted));
    let mut run = tight(None);
    run.charge(at("10:29:00"));
    let fault = What::Unanswered { attempt: 1, fence: 1, fault: TransportFault::Reset };
    assert_eq!(reason(run.step(at("10:29:00"), fault).unwrap()), Some(Reason::AmbiguousDelivery));
    let mut run = tight(None);
    run.charge(at("10:29:00"));
    assert_eq!(reason(run.woke(at("10:30:00"))), Some(Reason::RequestBudgetExhausted), "lost, and nothing left");
}

/// D27's and D12's boundaries: grace `<`, expiry `>`.
#[test]
fn d27_d12_boundaries_of_grace_and_expiry() {
    let graced = changed("\"grace\": \"30s\"", "\"grace\": \"60s\"");
    for (when, waits) in [("10:20:59.999", true), ("10:21:00", false)] {
        let mut run = Run::open_with(&graced, &opening(), at("10:20:00"));
        let action = run.at_poll(at(when), 404, &[], "");
        assert_eq!(matches!(action, Action::Sleep { .. }), waits, "{when}");
        assert_eq!(run.record().transport_failures_used, 0);
        assert_eq!(run.record().last_outcome, None, "a 404 tells nothing of the job");
    }
    let mut start = opening();
    start.submitted_at = Some(at("10:19:30"));
    let mut run = Run::open_with(&graced, &start, at("10:20:00"));
    assert_eq!(reason(run.at_poll(at("10:20:30"), 404, &[], "")), Some(Reason::IntegrationFailure));
    let expiring = changed("\"format\": \"rfc3339\"}", "\"format\": \"rfc3339\", \"grace\": \"10s\"}");
    let body = r#"{"job_id": "exp_71c", "state": "running", "expires_at": "2025-04-18T10:30:00Z"}"#;
    for (when, fine) in [("10:30:10", true), ("10:30:10.001", false)] {
        let mut run = Run::open_with(&expiring, &opening(), at("10:20:00"));
        let action = run.at_poll(at(when), 200, &[], body);
        assert_eq!(reason(action), (!fine).then_some(Reason::ContradictoryResponse), "{when}");
    }
    // The value last seen holds where an answer omits it; one that can't be read is noted and not used.
    let mut run = Run::open_with(&expiring, &opening(), at("10:20:00"));
    run.at_poll(at("10:25:00"), 200, &[], body);
    let odd = r#"{"job_id": "exp_71c", "state": "running", "expires_at": "soon"}"#;
    run.at_poll(at("10:30:00"), 200, &[], odd);
    assert!(run.entries.last().unwrap().contains("the job's expiry was not used"));
    let without = r#"{"job_id": "exp_71c", "state": "running"}"#;
    assert_eq!(reason(run.at_poll(at("10:30:11"), 200, &[], without)), Some(Reason::ContradictoryResponse));
    assert_eq!(run.view().last_known_state.as_deref(), Some("running"));
}

/// D18: one for every attempt that ended, however; three for a 429 without valid guidance; a grant sets it to 0.
#[test]
fn d18_the_exponent_counts_attempts() {
    let n = |run: &Run| run.record().backoff_n;
    let mut run = Run::open("10:20:00");
    assert_eq!(n(&run), 0);
    run.state("running");
    assert_eq!(n(&run), 1);
    run.fault(TransportFault::Dns);
    assert_eq!(n(&run), 2);
    for (headers, steps) in [
        (Vec::from([("Retry-After", "soon")]), 3),
        (Vec::from([("Retry-After", "30")]), 1),
        (Vec::from([("Retry-After", "0")]), 3),
    ] {
        let mut run = Run::open("10:20:00");
        run.poll(429, &headers, "");
        assert_eq!(n(&run), steps, "{headers:?}");
    }
    let when = run.next();
    run.charge(when);
    run.woke(when.plus(60_000));
    assert_eq!(n(&run), 3, "lost");
    run.poll(404, &[], "");
    assert_eq!(n(&run), 4);
    run.decide(at("10:40:00"), "d1", extend(ONE)).unwrap();
    assert_eq!(n(&run), 0);
}

/// D20: what the last exchange was decides the word.
#[test]
fn d20_ambiguous_is_what_may_have_left_without_an_answer() {
    for fault in TransportFault::ALL {
        let mut run = Run::open("10:20:00");
        run.poll(503, &[], "");
        run.poll(503, &[], "");
        let expected = if fault.may_have_left() { Reason::AmbiguousDelivery } else { Reason::ProviderFailure };
        assert_eq!(reason(run.fault(*fault)), Some(expected), "{fault}");
    }
    // An outcome of the exchange never counts twice, and never as the job's.
    let mut run = Run::open("10:20:00");
    run.poll(503, &[], "");
    assert_eq!(run.view().last_outcome, None::<Outcome>);
    assert_eq!((run.view().failures.used, run.view().throttles.used), (1, 0));
}
