//! Decisions, proposals and approvals (D33 to D41, D48).

use super::*;

/// D38, D50: a stopping answer's `Retry-After` still holds when somebody extends at once.
#[test]
fn d38_a_minimum_of_the_answer_that_stopped_holds_through_an_extension() {
    let mut run = Run::open("10:20:00");
    run.poll(429, &[], "");
    run.poll(429, &[], "");
    let when = run.next();
    assert_eq!(reason(run.at_poll(when, 429, &[("Retry-After", "300")], "")), Some(Reason::RateLimited));
    match run.decide(when.plus(1_000), "d1", extend(EXTENSION)).unwrap() {
        Action::Sleep { until, source: DelaySource::ManualExtension } => assert_eq!(*until, when.plus(300_000)),
        other => panic!("{other:?}"),
    }
    run.verified(&[]);
}

/// D38: the memory of decisions is bounded, and never stands in the way of an end.
#[test]
fn d38_an_operation_with_many_decisions_can_still_be_closed() {
    let mut run = Run::open("10:20:00");
    run.state("paused");
    for n in 0..limits::DECISIONS_MAX + 6 {
        let until = at("10:40:00").plus(u64::try_from(n).unwrap());
        run.decide(at("10:30:00"), &format!("h{n}"), DecisionWhat::Hold { until }).unwrap();
    }
    assert!(run.record().decisions.len() <= limits::DECISIONS_MAX);
    match run.decide(at("10:31:00"), "end", DecisionWhat::Close).unwrap() {
        Action::Settle { settlement } => assert_eq!(settlement.ending, Ending::Closed),
        other => panic!("{other:?}"),
    }
    run.verified(&[]);
}

/// Amendments that would leave the operation without a meaning, an identity or an address are refused.
#[test]
fn d48_an_amendment_fits_the_operation_or_is_refused() {
    let queue = following("none", "30s");
    let refused = |first: &str, revised: String, poll: &dyn Fn(&mut Run)| {
        let opening = if first.contains("test.queue") { queue_opening() } else { opening() };
        let mut run = Run::open_with(first, &opening, at("10:20:00"));
        poll(&mut run);
        run.contract = revised;
        let what = DecisionWhat::Amend { contract: digest::sha256_hex(run.contract.as_bytes()), extension: None };
        let event = run.decides("ana", "d1", what, None);
        run.refuses(at("10:40:00"), event)
    };
    let paused = |run: &mut Run| {
        run.state("paused");
    };
    // The job has gone on to a stage that the revision lacks.
    let from = queue.find("\"follow\": {").unwrap();
    let to = queue.find("\"limits\"").unwrap();
    let short = format!("{}{}", &queue[..from], &queue[to..]).replace("\"then\": \"follow\"", "\"then\": \"pending\"");
    let unknown = |run: &mut Run| {
        run.poll(200, &[], r#"{"run": "r7"}"#);
        run.poll(200, &[], r#"{"run": "r7", "state": "odd"}"#);
    };
    assert_eq!(refused(&queue, short, &unknown), RefusalKind::InvalidContract);
    // An id part that nobody gave: its echo would say nothing.
    let part = CONTRACT.replace("\"id_parts\": [\"id\"]", "\"id_parts\": [\"id\", \"zone\"]");
    let part = part.replace("\"equals\": \"part:id\"", "\"equals\": \"part:zone\"");
    assert_eq!(refused(CONTRACT, part, &paused), RefusalKind::InvalidContract);
    // A fact that was not fixed at opening.
    let fact =
        changed("\"not_found\"", "\"ctx\": {\"kind\": {\"one_of\": [\"a\"], \"required\": true}}, \"not_found\"");
    assert_eq!(refused(CONTRACT, fact, &paused), RefusalKind::InvalidContract);
    // A timeout that no lease of this operation covers (D3).
    assert_eq!(refused(CONTRACT, changed("\"30s\"}", "\"60s\"}"), &paused), RefusalKind::InvalidContract);
    // An address that came from the opener, on an origin that the revision no longer has.
    let given = changed("\"url\": \"https://api.provider.example/v1/jobs/{id}\"", "\"url_from\": \"opening\"");
    let moved = given
        .replace("{\"origin\": \"https://api.provider.example\"}", "{\"origin\": \"https://new.provider.example\"}");
    let mut start = opening();
    start.address = Some("https://api.provider.example/v1/jobs/exp_71c".into());
    let mut run = Run::open_with(&given, &start, at("10:20:00"));
    run.state("paused");
    run.contract = moved;
    let what = DecisionWhat::Amend { contract: digest::sha256_hex(run.contract.as_bytes()), extension: None };
    let event = run.decides("ana", "d1", what, None);
    assert_eq!(run.refuses(at("10:40:00"), event), RefusalKind::InvalidContract);
}

/// D33: `hold`, `inspect` and `close` stand whatever a contract narrows; what could only be refused isn't offered (D34).
#[test]
fn d33_what_is_offered_is_what_can_be_done() {
    let narrow = changed("\"not_found\"", "\"options\": {\"unknown_state\": []}, \"not_found\"");
    let mut run = Run::open_with(&narrow, &opening(), at("10:20:00"));
    run.state("paused");
    assert_eq!(offered(&run), [OptionKind::Hold, OptionKind::Inspect, OptionKind::Close]);
    // At the ceiling of time an extension leaves no future deadline.
    let ceiling = changed("\"limits\": {", "\"limits\": {\"ceilings\": {\"deadline\": \"40m\"}, ");
    let mut run = Run::open_with(&ceiling, &opening(), at("10:20:00"));
    run.woke(at("11:00:00"));
    assert!(!offered(&run).contains(&OptionKind::Extend), "{:?}", offered(&run));
    // One that gives no failures can't end a failure budget's stop.
    let none = changed("\"failures\": 2, ", "");
    let mut run = Run::open_with(&none, &opening(), at("10:20:00"));
    for _ in 0..3 {
        run.poll(500, &[], "");
    }
    assert!(!offered(&run).contains(&OptionKind::Extend), "{:?}", offered(&run));
}

/// D33: a hold is of its own ending; what stops the wait again asks again.
#[test]
fn d33_a_new_ending_is_not_held() {
    let mut run = Run::open("10:20:00");
    run.state("paused");
    run.decide(at("10:30:00"), "d1", DecisionWhat::Hold { until: at("12:00:00") }).unwrap();
    let old = run.contract.clone();
    run.contract = changed("\"queued\": \"pending\"", "\"queued\": \"pending\", \"paused\": \"pending\"");
    let what = DecisionWhat::Amend { contract: digest::sha256_hex(run.contract.as_bytes()), extension: None };
    assert_eq!(reason(run.decide(at("11:00:00"), "d2", what).unwrap()), Some(Reason::DeadlineExceeded));
    assert_eq!(run.view().held_until, None);
    run.verified(&[&old]);
}

/// D41: an approval is for one attempt of the wait that asked, and dies with it.
#[test]
fn d41_an_approval_is_used_once_and_not_carried_over_an_end() {
    let contract = changed("\"not_found\"", "\"approval\": \"per_request\", \"not_found\"");
    let mut run = Run::open_with(&contract, &opening(), at("10:20:00"));
    let when = run.next();
    assert!(matches!(run.woke(when), Action::AskApproval { attempt: 1 }));
    assert!(matches!(run.woke(when), Action::Rest { .. }), "nothing goes before it is approved");
    let early = run.decides("ana", "d0", DecisionWhat::Approve { attempt: 2 }, None);
    assert_eq!(run.refuses(when, early), RefusalKind::NotOffered);
    run.decide(when, "d1", DecisionWhat::Approve { attempt: 1 }).unwrap();
    assert!(matches!(run.woke(when), Action::Due { attempt: 1 }));
    run.charge(when);
    assert_eq!(run.record().approved_attempt, None, "used");
    run.answer(when, 200, &[], r#"{"job_id": "exp_71c", "state": "running"}"#);
    let when = run.next();
    assert!(matches!(run.woke(when), Action::AskApproval { attempt: 2 }));
    run.decide(when, "d2", DecisionWhat::Approve { attempt: 2 }).unwrap();
    run.woke(at("11:00:00"));
    run.decide(at("11:01:00"), "d3", extend(EXTENSION)).unwrap();
    let when = run.next();
    assert!(matches!(run.woke(when), Action::AskApproval { attempt: 2 }), "{:?}", run.action);
    run.verified(&[]);
}

#[test]
fn d39_a_proposal_is_bounded_granted_by_another_and_gone_when_answered() {
    let mut run = Run::open("10:20:00");
    run.woke(at("11:00:00"));
    let when = at("11:01:00");
    let authority = run.view().authority_revision;
    for broken in [
        Proposal { id: String::new(), ..proposal("p") },
        Proposal { by: "a\nb".into(), ..proposal("p") },
        Proposal { why: " ".into(), ..proposal("p") },
        Proposal { why: "x".repeat(limits::WHY_BYTES_MAX + 1), ..proposal("p") },
        Proposal { extension: Extension { time_ms: u64::MAX, ..ONE }, ..proposal("p") },
        Proposal { extension: Extension { requests: u32::MAX, ..ONE }, ..proposal("p") },
    ] {
        assert_eq!(run.refuses(when, What::Proposed { proposal: broken }), RefusalKind::InvalidEvent);
    }
    run.step(when, What::Proposed { proposal: proposal("p1") }).unwrap();
    assert_eq!(run.view().authority_revision, authority, "a proposal makes nothing stale");
    let entries = run.entries.len();
    assert!(matches!(run.step(when, What::Proposed { proposal: proposal("p1") }).unwrap(), Action::Rest { .. }));
    assert_eq!(run.entries.len(), entries);
    let other = Proposal { why: "another".into(), ..proposal("p1") };
    assert_eq!(run.refuses(when, What::Proposed { proposal: other }), RefusalKind::InvalidEvent);
    let own = run.decides("agent-7", "d1", extend(EXTENSION), Some("p1"));
    assert_eq!(run.refuses(when, own), RefusalKind::NotAllowed);
    let nothing = run.decides("ana", "d1", extend(EXTENSION), Some("p9"));
    assert_eq!(run.refuses(when, nothing), RefusalKind::InvalidEvent);
    let notice = crate::notice::notice(&run.contract, &run.record, when).unwrap();
    assert!(notice.text.contains("1 more status request") && notice.text.contains("it ends"), "{}", notice.text);
    let granted = run.decides("ana", "d1", extend(EXTENSION), Some("p1"));
    run.step(when, granted).unwrap();
    assert!(run.view().proposals.is_empty());
    run.verified(&[]);
}

/// D40: whoever opened it, and whoever asks for it, can't decide.
#[test]
fn d40_opener_and_requester_do_not_decide() {
    let mut start = opening();
    start.opened_by = "agent-1".into();
    let mut run = Run::open_with(CONTRACT, &start, at("10:20:00"));
    run.woke(at("11:00:00"));
    run.step(at("11:00:01"), What::Proposed { proposal: proposal("p1") }).unwrap();
    for (by, named) in [("agent-1", None), ("agent-7", None), ("agent-7", Some("p1"))] {
        for what in [extend(EXTENSION), DecisionWhat::Close, DecisionWhat::Decline { proposal: "p1".into() }] {
            let event = run.decides(by, "d1", what, named);
            assert_eq!(run.refuses(at("11:01:00"), event), RefusalKind::NotAllowed, "{by}");
        }
    }
    run.decide(at("11:02:00"), "d1", extend(EXTENSION)).unwrap();
}

/// Whatever a decision says is bounded and on one line, so that records and logs stay bounded for ever.
#[test]
fn d38_a_decisions_words_are_bounded() {
    let mut run = Run::open("10:20:00");
    run.woke(at("11:00:00"));
    for (id, by, why) in [
        ("", "ana", "why"),
        ("d\u{1}", "ana", "why"),
        ("d", "a\nb", "why"),
        ("d", "ana", " "),
        ("d", "ana", "a\u{1b}[2J"),
    ] {
        let mut event = run.decides(by, id, DecisionWhat::Close, None);
        if let What::Decided { decision } = &mut event {
            decision.why = why.into();
        }
        assert_eq!(run.refuses(at("11:01:00"), event), RefusalKind::InvalidEvent, "{id:?} {by:?} {why:?}");
    }
    let long = Some("x".repeat(limits::WHY_BYTES_MAX + 1));
    let event = run.decides("ana", "d", DecisionWhat::Extend { extension: EXTENSION, done: long }, None);
    assert_eq!(run.refuses(at("11:01:00"), event), RefusalKind::InvalidEvent);
    let far = Extension { useful_until: None, time_ms: u64::MAX, ..EXTENSION };
    let event = run.decides("ana", "d", extend(far), None);
    assert_eq!(run.refuses(at("11:01:00"), event), RefusalKind::OverCeiling);
}

/// D33: a rotation is checked by its digest, or it is no rotation.
#[test]
fn d33_a_renewal_is_checked_and_offered_once() {
    let secret =
        changed("\"timeout\": \"30s\"", "\"timeout\": \"30s\", \"credential\": {\"header\": \"authorization\"}");
    let mut start = opening();
    start.credential = Some("env:TOKEN".into());
    let mut run = Run::open_with(&secret, &start, at("10:20:00"));
    let fact = |digest: &str| Some(CredentialFact { account: Some("default".into()), digest: digest.into() });
    let denied = |run: &mut Run, digest: &str| {
        let when = run.next();
        run.fence += 1;
        let lease = What::Leased { fence: run.fence, expires_at: when.plus(60_000), credential: fact(digest) };
        assert!(matches!(run.step(when, lease).unwrap(), Action::Send { .. }));
        let action = run.answer(when, 401, &[], "");
        assert_eq!(reason(action), Some(Reason::AuthorizationDenied));
    };
    denied(&mut run, &"a".repeat(64));
    let renew = |renewal: Renewal| DecisionWhat::RenewCredential { renewal, credential: None, extension: None };
    let rotated = |digit: &str| renew(Renewal::Rotated { digest: digit.repeat(64) });
    let when = at("10:30:00");
    let same = run.decides("ana", "d1", rotated("a"), None);
    assert_eq!(run.refuses(when, same), RefusalKind::InvalidEvent);
    let empty = run.decides("ana", "d1", renew(Renewal::Rotated { digest: String::new() }), None);
    assert_eq!(run.refuses(when, empty), RefusalKind::InvalidEvent);
    let before = run.view();
    run.decide(when, "d1", rotated("b")).unwrap();
    let after = run.view();
    assert_eq!(
        (before.requests, before.deadline_at, before.extensions_used),
        (after.requests, after.deadline_at, after.extensions_used),
        "changes no limit and spends no extension"
    );
    denied(&mut run, &"b".repeat(64));
    assert_eq!(offered(&run), [OptionKind::Hold, OptionKind::Inspect, OptionKind::Close]);
    // Without a known digest of what was refused nothing can be checked: access is attested instead.
    let mut run = Run::open("10:20:00");
    run.poll(403, &[], "");
    let blind = run.decides("ana", "d1", rotated("b"), None);
    assert_eq!(run.refuses(when, blind), RefusalKind::InvalidEvent);
    run.decide(when, "d1", renew(Renewal::AccessRestored)).unwrap();
    run.verified(&[]);
}
