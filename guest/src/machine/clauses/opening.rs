//! Openings and leases that make no sense (D1 to D4, D42).

use super::*;

/// D3: every stage's request fits in the lease, and its credential is named at the opening.
#[test]
fn d3_a_followed_stage_is_looked_at_like_the_first() {
    let long = following("none", "60s");
    let refusal = crate::open::open(&long, &queue_opening(), at("10:20:00")).unwrap_err();
    assert_eq!(refusal.faults.first().map(|fault| fault.pointer.as_str()), Some("/lease_ms"));
    let secret = following("none", "30s").replace(
        "\"id_parts\": [\"run\"], ",
        "\"id_parts\": [\"run\"], \"credential\": {\"header\": \"authorization\"}, ",
    );
    let refusal = crate::open::open(&secret, &queue_opening(), at("10:20:00")).unwrap_err();
    assert_eq!(refusal.faults.first().map(|fault| fault.pointer.as_str()), Some("/credential"));
}

/// D1, D42: a lease is as long as the opening says, and no request is in flight for ever.
#[test]
fn d42_a_lease_is_no_longer_than_pinned() {
    let mut run = Run::open("10:20:00");
    let when = run.next();
    let lease = |ms: u64| What::Leased { fence: 1, expires_at: when.plus(ms), credential: None };
    assert_eq!(run.refuses(when, lease(0)), RefusalKind::InvalidEvent);
    assert_eq!(run.refuses(when, lease(60_001)), RefusalKind::InvalidEvent);
    match run.step(when, lease(1)).unwrap() {
        Action::Send { timeout_ms: 1, attempt: 1 } => {}
        other => panic!("{other:?}"),
    }
    let again = What::Leased { fence: 1, expires_at: when.plus(60_000), credential: None };
    assert_eq!(run.refuses(when, again), RefusalKind::Stale);
}

/// D2 to D4: openings that make no sense, each at its field.
#[test]
fn d3_openings_are_refused_at_their_field() {
    let refused = |change: &dyn Fn(&mut crate::api::Opening)| {
        let mut opening = opening();
        change(&mut opening);
        let refusal = crate::open::open(CONTRACT, &opening, at("10:20:00")).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::InvalidOpening, "{refusal:?}");
        refusal.faults.first().map(|fault| fault.pointer.clone()).unwrap_or_default()
    };
    let before = Predecessor {
        operation_id: "op-0".into(),
        status_requests_used: 3,
        transport_failures_used: 0,
        throttles_used: 0,
        decided_by: "ana".into(),
        why: "go on".into(),
    };
    for limit in [u64::MAX, limits::DURATION_MAX + 1] {
        assert_eq!(refused(&|o| o.limits.deadline = Some(TimeLimit::AfterMs(limit))), "/limits/deadline");
        assert_eq!(refused(&|o| o.limits.useful_until = Some(TimeLimit::AfterMs(limit))), "/limits/useful_until");
    }
    let far = Instant::from_ms(limits::INSTANT_MAX).unwrap();
    assert_eq!(refused(&|o| o.limits.deadline = Some(TimeLimit::At(far))), "/limits/deadline");
    assert_eq!(refused(&|o| o.limits.max_throttles = Some(0)), "/limits/max_throttles");
    assert_eq!(refused(&|o| o.limits.max_transport_failures = Some(1_000_001)), "/limits/max_transport_failures");
    let after = |p: Predecessor| move |o: &mut crate::api::Opening| o.predecessor = Some(p.clone());
    assert_eq!(refused(&after(Predecessor { decided_by: " ".into(), ..before.clone() })), "/predecessor/decided_by");
    assert_eq!(refused(&after(Predecessor { why: String::new(), ..before.clone() })), "/predecessor/why");
    assert_eq!(
        refused(&after(Predecessor { operation_id: "a\nb".into(), ..before.clone() })),
        "/predecessor/operation_id"
    );
    assert_eq!(refused(&after(Predecessor { status_requests_used: 12, ..before.clone() })), "/limits");
    let own = |o: &mut crate::api::Opening| {
        o.opened_by = "agent-1".into();
        o.predecessor = Some(Predecessor { decided_by: "agent-1".into(), ..before.clone() });
    };
    assert_eq!(refused(&own), "/predecessor/decided_by", "an operator decides, not the opener (D4, D40)");
    let unknown = |o: &mut crate::api::Opening| {
        o.submission_unknown = true;
        o.job = [("id".to_string(), "../x".to_string())].into();
    };
    assert_eq!(refused(&unknown), "/job/id");
    let seen = r#"{"body":{"bytes":0,"kind":"none"},"format":"sondeo.observation/9","received_at":"2025-04-18T10:20:00.000Z","sent_at":"2025-04-18T10:20:00.000Z","status":202}"#;
    assert_eq!(refused(&|o| o.submission = Some(seen.into())), "/submission");
    let mut start = opening();
    start.predecessor = Some(before);
    let run = Run::open_with(CONTRACT, &start, at("10:20:00"));
    assert_eq!(run.view().requests.used, 3);
    assert_eq!(run.record().predecessor.as_deref(), Some("op-0"));
}
