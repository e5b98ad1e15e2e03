//! Everything else that happens to a wait (D17, D44 to D49).

use super::*;

#[test]
fn d44_pacing_is_remembered_where_no_plan_moves() {
    let mut run = Run::open("10:20:00");
    run.poll(200, &[("Retry-After", "300")], r#"{"job_id": "exp_71c", "state": "running"}"#);
    let (when, next) = (run.record().last_at, run.next());
    run.step(when, What::Paced { until: when.plus(200_000) }).unwrap();
    assert_eq!(run.next(), next, "a later poll stays");
    // A decision would bring the poll forward, but not before the account may be asked.
    run.decide(when, "d1", extend(EXTENSION)).unwrap();
    assert!(run.next() >= when.plus(200_000), "{}", run.next());
    let contract = changed("\"not_found\"", "\"approval\": \"per_request\", \"not_found\"");
    let mut run = Run::open_with(&contract, &opening(), at("10:20:00"));
    let when = run.next();
    assert!(matches!(run.woke(when), Action::AskApproval { attempt: 1 }));
    run.step(when, What::Paced { until: when.plus(60_000) }).unwrap();
    match run.decide(when, "d1", DecisionWhat::Approve { attempt: 1 }).unwrap() {
        Action::Sleep { until, source: DelaySource::AccountPacing } => assert_eq!(*until, when.plus(60_000)),
        other => panic!("{other:?}"),
    }
    run.verified(&[]);
}

/// D17: "checked on every event".
#[test]
fn d17_any_event_at_the_deadline_stops_a_wait() {
    let late = at("11:00:00");
    let events: Vec<What> = Vec::from([
        What::Woke { credential: None },
        What::Leased { fence: 9, expires_at: late.plus(30_000), credential: None },
        What::Paced { until: late.plus(5_000) },
        What::Paced { until: late },
        pushed_by("exp_71c"),
        pushed_by("another"),
        What::Proposed { proposal: proposal("p1") },
        What::Unanswered { attempt: 1, fence: 1, fault: TransportFault::Reset },
        What::ComponentChanged { component: "1".repeat(64), by: "ana".into() },
    ]);
    for what in events {
        let mut run = Run::open("10:20:00");
        run.state("running");
        let action = run.step(late, what.clone()).unwrap().clone();
        assert_eq!(reason(&action), Some(Reason::DeadlineExceeded), "{what:?}");
        run.verified(&[]);
        let mut early = Run::open("10:20:00");
        early.state("running");
        let action = early.step(at("10:59:59.999"), what.clone()).cloned();
        assert!(action.is_ok_and(|action| reason(&action).is_none()), "{what:?}");
    }
    let mut run = Run::open("10:20:00");
    run.state("running");
    let action = run.decide(late, "d1", DecisionWhat::Cancel { extension: None }).unwrap();
    assert_eq!(reason(action), Some(Reason::DeadlineExceeded));
    run.verified(&[]);
}

/// "The order of checks": pacing, a push and another component go on as `woke`, so a dead lease is a lost request.
#[test]
fn a_request_is_lost_by_whatever_comes_after_its_lease() {
    for what in [
        What::Paced { until: at("10:30:00") },
        pushed_by("exp_71c"),
        What::ComponentChanged { component: "1".repeat(64), by: "ana".into() },
    ] {
        let mut run = Run::open("10:20:00");
        let when = run.next();
        run.charge(when);
        let action = run.step(when.plus(60_000), what.clone()).unwrap();
        assert!(matches!(action, Action::Sleep { .. }), "{what:?} {action:?}");
        let record = run.record();
        assert_eq!(record.backoff_n, 1);
        assert!(matches!(record.phase, Phase::Waiting { .. }));
        if let What::Paced { until } = what {
            assert_eq!(run.next(), until);
        }
        run.verified(&[]);
    }
}

/// D33: the component's failure gets its entry before the next decision, also on a wait that has ended already; else its
/// mark would stand for ever.
#[test]
fn d33_a_failure_on_an_escalated_wait_is_in_the_log() {
    let mut run = Run::open("10:20:00");
    run.state("paused");
    let entries = run.entries.len();
    let authority = run.view().authority_revision;
    run.step(at("10:30:00"), What::Faulted { kind: FaultKind::OutOfFuel }).unwrap();
    assert_eq!(run.entries.len(), entries + 1);
    assert_eq!(run.record().phase, Phase::Escalated { reason: Reason::UnknownState });
    assert_eq!(run.view().authority_revision, authority, "no decision goes stale by it");
    run.decide(at("10:31:00"), "d1", DecisionWhat::Close).unwrap();
    let record = run.record.clone();
    run.step(at("10:32:00"), What::Faulted { kind: FaultKind::Trap }).unwrap();
    assert_eq!(record, run.record, "settled");
    run.verified(&[]);
}

/// "The same note isn't repeated until something else has happened": nor do two take turns for ever.
#[test]
fn two_notes_in_turn_are_written_once_each() {
    let mut run = Run::open("10:20:00");
    run.state("running");
    let when = run.record().last_at;
    let entries = run.entries.len();
    for _ in 0..5 {
        run.step(when, pushed_by("another")).unwrap();
        run.step(when, What::Unanswered { attempt: 1, fence: 1, fault: TransportFault::Reset }).unwrap();
    }
    assert_eq!(run.entries.len(), entries + 2);
    run.state("running");
    let entries = run.entries.len();
    let when = run.record().last_at;
    run.step(when, pushed_by("another")).unwrap();
    assert_eq!(run.entries.len(), entries + 1, "something else has happened");
    run.verified(&[]);
}

/// D45: never under half of the planned delay, nor under `min_delay`, nor before a provider's minimum; three times.
#[test]
fn d45_a_push_brings_a_poll_forward_within_bounds() {
    let mut run = Run::open("10:20:00");
    run.state("running");
    let from = run.record().last_at;
    let planned = run.next().since(from);
    run.step(from, pushed_by("exp_71c")).unwrap();
    assert_eq!(run.next().since(from), planned.div_ceil(2).max(1_000));
    let entries = run.entries.len();
    run.step(from, pushed_by("exp_71c")).unwrap();
    run.step(from, pushed_by("exp_71c")).unwrap();
    assert_eq!(run.entries.len(), entries + 1, "noted once");
    assert_eq!(run.record().pushes, 1);
    let mut run = Run::open("10:20:00");
    run.poll(200, &[("Retry-After", "60")], r#"{"job_id": "exp_71c", "state": "running"}"#);
    let (from, next) = (run.record().last_at, run.next());
    run.step(from, pushed_by("exp_71c")).unwrap();
    assert_eq!(run.next(), next, "a provider's minimum");
    let short = changed("\"spread\": \"0\"", "\"spread\": \"0\", \"base\": \"1500ms\", \"floor\": \"1\"");
    let mut run = Run::open_with(&short, &opening(), at("10:20:00"));
    let opened = at("10:20:00");
    run.step(opened, pushed_by("exp_71c")).unwrap();
    assert_eq!(run.next(), opened.plus(1_000), "`min_delay`");
    // In mid-attempt it is remembered, and counted once.
    let when = run.next();
    run.charge(when);
    run.step(when, pushed_by("exp_71c")).unwrap();
    run.answer(when, 200, &[], r#"{"job_id": "exp_71c", "state": "running"}"#);
    assert_eq!(run.record().pushes, 2);
    assert!(!run.record().push_waiting);
    assert_eq!(run.next(), when.plus(1_500), "half of 3 s");
    run.verified(&[]);
}

/// D48: nothing to check is not a proof.
#[test]
fn d48_an_empty_log_proves_nothing() {
    let log = |start: Option<String>, current: Option<String>| Log {
        entries: Vec::new(),
        contracts: Vec::new(),
        start,
        current,
        component: "0".repeat(64),
    };
    assert_eq!(verify::verify(&log(None, None)).verdict, Verdict::NotCheckable);
    let record = Run::open("10:20:00").record;
    assert_eq!(verify::verify(&log(None, Some(record.clone()))).verdict, Verdict::Broken, "the tail was cut");
    assert_eq!(verify::verify(&log(Some(record.clone()), Some(record))).verdict, Verdict::Verified);
}

/// D48: the pinned component is changed by somebody with a name; the operation goes on as if woken, limits untouched.
#[test]
fn d48_another_component_goes_on_as_woken_in_one_entry() {
    let change = |digit: &str, by: &str| What::ComponentChanged { component: digit.repeat(64), by: by.into() };
    let mut run = Run::open("10:20:00");
    let when = run.next();
    for (digit, by) in [("x", "ana"), ("1", ""), ("1", "a\nb")] {
        assert_eq!(run.refuses(when, change(digit, by)), RefusalKind::InvalidEvent);
    }
    let entries = run.entries.len();
    assert!(matches!(run.step(when, change("1", "ana")).unwrap(), Action::Due { attempt: 1 }));
    assert_eq!(run.entries.len(), entries + 1);
    assert!(matches!(run.step(when, change("1", "ana")).unwrap(), Action::Rest { .. } | Action::Due { .. }));
    assert_eq!(run.entries.len(), entries + 1);
    run.verified(&[]);
    let mut run = Run::open("10:20:00");
    run.state("paused");
    run.step(at("10:40:00"), change("1", "ana")).unwrap();
    assert_eq!(run.view().component_digest, "1".repeat(64), "an ended wait is not stranded");
    run.decide(at("10:41:00"), "d1", DecisionWhat::Close).unwrap();
}

/// D46, D49: whatever a contract and an answer hold, entry and sentence stay small and on one line.
#[test]
fn d49_sentences_and_notes_are_bounded() {
    let mut checks = String::new();
    for n in 0..60 {
        let must = format!("{{\"at\": \"/{}{n}\", \"present\": true}}", "x".repeat(200));
        checks.push_str(&format!("{{\"if\": {{\"code\": 200}}, \"must\": [{must}]}},"));
    }
    let contract =
        changed("\"not_found\"", &format!("\"consistency\": [{}], \"not_found\"", checks.trim_end_matches(',')));
    let mut run = Run::open_with(&contract, &opening(), at("10:20:00"));
    assert_eq!(reason(run.state("running")), Some(Reason::ContradictoryResponse));
    let sentence = run.sentences.last().unwrap();
    assert!(sentence.len() <= 4_096, "{} bytes", sentence.len());
    assert!(!sentence.chars().any(char::is_control));
    run.verified(&[]);
}
