//! Every phase with every event at every boundary, seeded walks through all of them, and records and events that nobody
//! would write: the core is total, and what it makes keeps within the rules.

use alloc::{
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use std::println;

use super::*;
use crate::{
    api::{
        Answer, Body, Decision, Ending, Exchange, Extension, FaultKind, Opening, Proposal, Renewal, ResultRef,
        Settlement, TimeLimit, TransportFault,
    },
    check, digest,
    entry::Entry,
    observation::Observation,
    open, record,
    testing::{CONTRACT, at, opening},
    verify::{self, Log, Verdict},
};

mod hostile;
mod walks;

/// A contract by what it changes in the essay's.
fn contracts() -> Vec<(&'static str, String)> {
    let with = |from: &str, to: &str| CONTRACT.replace(from, to);
    Vec::from([
        ("plain", CONTRACT.to_string()),
        ("per request", with("\"not_found\"", "\"approval\": \"per_request\", \"not_found\"")),
        (
            "bills",
            with("{\"kind\": \"none\"", "{\"kind\": \"bills\"")
                .replace("\"not_found\"", "\"approval\": \"per_request\", \"not_found\""),
        ),
        (
            "conditional, wants to be told",
            with("\"timeout\": \"30s\"", "\"timeout\": \"30s\", \"conditional\": true")
                .replace("\"spread\": \"0\"", "\"spread\": \"1/10\", \"on_hint_past_deadline\": \"escalate\""),
        ),
    ])
}

/// Limits small enough to be reached.
fn tight() -> Opening {
    let mut opening = opening();
    opening.limits.max_status_requests = Some(4);
    opening.limits.useful_until = Some(TimeLimit::At(at("10:55:00")));
    opening
}

struct Made {
    before: Record,
    after: Record,
    action: Action,
    entry: Option<Entry>,
}

/// Steps, and holds whatever came of it against the rules. `None`: refused.
fn stepped(contract: &str, record: &str, event: &Event) -> Option<Made> {
    let told = |what: &str| format!("{what}: {event:?} on {record}");
    let made = match step(contract, record, event) {
        Ok(made) => made,
        Err(refusal) => {
            assert!(!refusal.message.is_empty() && refusal.message.len() < 4_096, "{}", told("a refusal's words"));
            return None;
        }
    };
    let before = Record::parse(record).unwrap();
    let after = Record::parse(&made.record).unwrap();
    assert_eq!(made.operation, record::read(&made.record).unwrap(), "{}", told("the view is the record's"));
    let entry = made.entry.as_deref().map(|text| Entry::parse(text).unwrap());
    let Some(entry) = entry else {
        assert_eq!(made.record, record, "{}", told("no entry, so no change"));
        assert!(made.sentence.is_none());
        match made.action {
            Action::Rest { .. } => {}
            Action::Due { attempt } => may_send(&before, before.last_at.max(event.at), attempt),
            other => panic!("{}", told(&format!("{other:?} without an entry"))),
        }
        return Some(Made { before, after, action: made.action, entry: None });
    };
    assert_eq!((entry.sequence, entry.revision_before), (before.revision + 1, before.revision));
    assert_eq!((after.revision, &after.head), (entry.sequence, &entry.sha256));
    assert_eq!(entry.previous, Some(before.head.clone()));
    assert_eq!(entry.action, made.action);
    assert!(made.sentence.is_some_and(|s| s.len() <= limits::SENTENCE_BYTES_MAX && !s.chars().any(char::is_control)));
    assert_eq!(after.last_at, before.last_at.max(event.at), "{}", told("time only goes on"));
    let made = Made { before, after, action: made.action, entry: Some(entry) };
    ends_stay(&made, event, &told);
    counters_and_limits(&made, event, &told);
    plan(&made, event, &told);
    remembered(&made, contract, event, &told);
    Some(made)
}

/// D32: an end is left by a decision only; what else is written on it leaves it an end.
fn ends_stay(made: &Made, event: &Event, told: &dyn Fn(&str) -> String) {
    let decided = matches!(event.what, What::Decided { .. });
    match &made.before.phase {
        Phase::Settled { .. } => panic!("{}", told("a settled record moved")),
        Phase::Escalated { .. } if !decided => {
            assert_eq!(made.before.phase, made.after.phase, "{}", told("an end moved"));
            let noted =
                matches!(event.what, What::Proposed { .. } | What::ComponentChanged { .. } | What::Faulted { .. });
            assert!(noted, "{}", told("an ended record was written"));
            assert_eq!(made.before.authority_revision, made.after.authority_revision);
        }
        _ => {}
    }
}

/// D18 to D22: what was used never falls, limits move by a grant only, fences by a charge only.
fn counters_and_limits(made: &Made, event: &Event, told: &dyn Fn(&str) -> String) {
    let (old, new) = (&made.before, &made.after);
    let sends = matches!(made.action, Action::Send { .. });
    assert_eq!(new.status_requests_used, old.status_requests_used + u32::from(sends), "{}", told("requests"));
    let exchange = matches!(event.what, What::Answered { .. } | What::Unanswered { .. });
    for (was, is) in
        [(old.transport_failures_used, new.transport_failures_used), (old.throttles_used, new.throttles_used)]
    {
        assert!(is == was || (exchange && is == was + 1), "{}", told("failures or throttles"));
    }
    assert!(if sends { new.fence > old.fence } else { new.fence == old.fence }, "{}", told("fence"));
    assert!(new.follows >= old.follows && new.pushes >= old.pushes && new.denials >= old.denials);
    let granted = matches!(&event.what, What::Decided { decision } if grants(&decision.what));
    let limits = |r: &Record| {
        (
            r.max_status_requests,
            r.max_transport_failures,
            r.max_throttles,
            r.deadline_at,
            r.useful_until,
            r.extensions_used,
        )
    };
    if granted {
        assert!(new.deadline_at >= old.deadline_at && new.extensions_used <= old.extensions_used + 1);
    } else {
        assert_eq!(limits(old), limits(new), "{}", told("a limit without a grant"));
        let reset = matches!(&event.what, What::Decided { decision } if matches!(decision.what, DecisionWhat::Amend { .. } | DecisionWhat::RenewCredential { .. }));
        assert!(new.backoff_n >= old.backoff_n || reset, "{}", told("the exponent fell"));
    }
    let decided = matches!(event.what, What::Decided { .. });
    let ended = |r: &Record| matches!(r.phase, Phase::Escalated { .. } | Phase::Settled { .. });
    let moves = decided || (ended(new) && !ended(old));
    assert_eq!(
        new.authority_revision,
        if moves { new.revision } else { old.authority_revision },
        "{}",
        told("authority")
    );
}

fn grants(what: &DecisionWhat) -> bool {
    match what {
        DecisionWhat::Extend { .. } => true,
        DecisionWhat::Amend { extension, .. }
        | DecisionWhat::RenewCredential { extension, .. }
        | DecisionWhat::Cancel { extension }
        | DecisionWhat::Adopt { extension, .. } => extension.is_some(),
        _ => false,
    }
}

/// The action is the phase's, within time and budgets.
fn plan(made: &Made, event: &Event, told: &dyn Fn(&str) -> String) {
    let (old, new, now) = (&made.before, &made.after, made.after.last_at);
    let stop = new.stop_at();
    match (&made.action, &new.phase) {
        (Action::Sleep { until, source }, Phase::Waiting { next_poll_at, source: kept }) => {
            assert_eq!((until, source), (next_poll_at, kept));
        }
        (Action::Send { attempt, timeout_ms }, Phase::Polling { attempt: paid, lease_expires_at, .. }) => {
            assert_eq!(attempt, paid);
            may_send(old, now, *attempt);
            assert!(
                (1..=stop.since(now).min(lease_expires_at.since(now))).contains(timeout_ms),
                "{}",
                told("time-out")
            );
            assert!(!new.approval_per_request || old.approved_attempt == Some(*attempt), "{}", told("unapproved"));
        }
        (Action::Due { attempt }, Phase::Waiting { .. }) => may_send(new, now, *attempt),
        (Action::AskApproval { attempt }, Phase::Asking { attempt: asked }) => assert_eq!(attempt, asked),
        (Action::Escalate { reason, options }, Phase::Escalated { reason: kept }) => {
            assert_eq!(reason, kept);
            assert!(options.contains(&crate::api::OptionKind::Close));
        }
        (Action::Settle { settlement }, Phase::Settled { settlement: kept }) => assert_eq!(settlement, kept),
        (Action::Rest { .. }, _) => {}
        _ => panic!("{}", told("action and phase disagree")),
    }
    let decided = matches!(event.what, What::Decided { .. });
    if matches!(new.phase, Phase::Waiting { .. } | Phase::Asking { .. }) {
        let left = new.status_requests_used < new.max_status_requests
            && new.transport_failures_used < new.max_transport_failures
            && new.throttles_used < new.max_throttles;
        assert!(left, "{}", told("a wait with nothing left"));
        assert!(now < stop || (decided && now < old.stop_at()), "{}", told("a wait past its end"));
    }
    if let Phase::Waiting { next_poll_at, .. } = new.phase {
        assert!(next_poll_at <= stop, "{}", told("a wake-up after the end"));
        for floor in [new.provider_not_before, new.paced_until].into_iter().flatten() {
            assert!(next_poll_at >= floor.min(stop), "{}", told("a poll before the provider's or the account's time"));
        }
    }
    if let Phase::Polling { attempt, .. } = new.phase {
        assert_eq!(attempt, new.status_requests_used);
    }
    if let Phase::Asking { attempt } = new.phase {
        assert_eq!(attempt, new.next_attempt());
    }
}

/// D38, D44, D50: what provider and account asked for outlives whatever the step led to; an approval does not.
fn remembered(made: &Made, contract: &str, event: &Event, told: &dyn Fn(&str) -> String) {
    let (old, new, now) = (&made.before, &made.after, made.after.last_at);
    let live = matches!(old.phase, Phase::Waiting { .. } | Phase::Asking { .. } | Phase::Polling { .. });
    let max_hint = limits::MAX_HINT_DEFAULT_MS.max(old.span_ms());
    match &event.what {
        What::Paced { until } if live && *until > now && until.since(now) <= max_hint => {
            assert!(new.paced_until >= Some(*until), "{}", told("pacing was forgotten"));
        }
        What::Answered { attempt, fence, observation } if matches!(old.phase, Phase::Polling { attempt: a, fence: f, .. } if a == *attempt && f == *fence) =>
        {
            let contract = step::contract(contract).unwrap();
            let said = crate::guidance::read(&contract, observation, now, max_hint).at;
            let counts = observation.incomplete.is_none() || matches!(observation.status, 429 | 503);
            let stopped = new.phase == Phase::Escalated { reason: Reason::IdentityMismatch };
            if let (Some((at, _)), true, false) = (said, counts, stopped) {
                assert_eq!(new.provider_not_before, Some(at), "{}", told("guidance was forgotten"));
            }
        }
        _ => {}
    }
    if matches!(new.phase, Phase::Escalated { .. }) && live {
        assert_eq!((new.approved_attempt, new.held_until), (None, None), "{}", told("an end remembers too much"));
    }
}

fn may_send(r: &Record, now: Instant, attempt: u32) {
    assert!(matches!(r.phase, Phase::Waiting { next_poll_at, .. } if now >= next_poll_at), "not due");
    assert!(now < r.stop_at(), "past the end");
    assert_eq!(attempt, r.status_requests_used + 1);
    assert!(r.status_requests_used < r.max_status_requests);
    assert!(r.transport_failures_used < r.max_transport_failures && r.throttles_used < r.max_throttles);
}

type Given = (u16, &'static [(&'static str, &'static str)], &'static str);

/// Answers by status, headers and body.
const ANSWERS: &[Given] = &[
    (200, &[], r#"{"job_id": "exp_71c", "state": "running"}"#),
    (200, &[("ETag", "\"a\"")], r#"{"job_id": "exp_71c", "state": "queued"}"#),
    (200, &[("Retry-After", "90")], r#"{"job_id": "exp_71c", "state": "running"}"#),
    (200, &[("Retry-After", "86400")], r#"{"job_id": "exp_71c", "state": "running"}"#),
    (200, &[], r#"{"job_id": "exp_71c", "state": "succeeded", "result_url": "https://files.provider.example/a"}"#),
    (200, &[], r#"{"job_id": "exp_71c", "state": "succeeded"}"#),
    (200, &[], r#"{"job_id": "exp_71c", "state": "waiting"}"#),
    (200, &[], r#"{"job_id": "exp_71c", "state": "part"}"#),
    (200, &[], r#"{"job_id": "exp_71c", "state": "odd"}"#),
    (200, &[], r#"{"job_id": "exp_71c", "state": "failed", "error": "disk"}"#),
    (200, &[], r#"{"job_id": "exp_72c", "state": "running"}"#),
    (200, &[], r#"{"job_id": "exp_71c", "state": "running", "expires_at": "2025-04-18T10:30:00Z"}"#),
    (200, &[], "{"),
    (304, &[], ""),
    (401, &[], ""),
    (404, &[], ""),
    (410, &[], ""),
    (429, &[], ""),
    (429, &[("Retry-After", "120")], ""),
    (503, &[], ""),
    (503, &[("Retry-After", "soon")], ""),
];

/// What each of [`ANSWERS`] is reduced to, whole and cut off.
fn seen(contract: &str, record: &str, when: Instant) -> Vec<Observation> {
    let observe = |(status, headers, body): &Given, incomplete| {
        let answer = Answer {
            status: *status,
            headers: headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            body: if body.is_empty() { Body::None } else { Body::Text((*body).into()) },
            incomplete,
            sent_at: when,
            received_at: when,
        };
        let observed = check::observe(contract, Some(record), &answer).unwrap();
        serde_json::from_str(&observed.observation).unwrap()
    };
    let whole = ANSWERS.iter().map(|answer| observe(answer, None));
    let cut = ANSWERS.iter().filter(|(status, ..)| *status > 200);
    whole.chain(cut.map(|answer| observe(answer, Some(TransportFault::Truncated)))).collect()
}

fn extension() -> Extension {
    Extension { time_ms: 900_000, requests: 4, failures: 2, throttles: 2, useful_until: Some(at("14:00:00")) }
}

/// Every decision there is, well meant and not.
fn decisions(r: &Record) -> Vec<DecisionWhat> {
    let one = Extension { time_ms: 900_000, requests: 1, failures: 1, throttles: 1, useful_until: None };
    let job: BTreeMap<String, String> = [("id".to_string(), "exp_72d".to_string())].into();
    let renew = |renewal| DecisionWhat::RenewCredential { renewal, credential: None, extension: None };
    Vec::from([
        DecisionWhat::Extend { extension: extension(), done: Some("done".into()) },
        DecisionWhat::Extend { extension: one, done: None },
        DecisionWhat::Extend { extension: Extension::default(), done: Some("done".into()) },
        DecisionWhat::Amend { contract: r.contract_digest.clone(), extension: None },
        renew(Renewal::AccessRestored),
        renew(Renewal::Rotated { digest: "b".repeat(64) }),
        DecisionWhat::AcceptResult,
        DecisionWhat::Hold { until: r.last_at.plus(60_000) },
        DecisionWhat::Hold { until: r.last_at },
        DecisionWhat::Close,
        DecisionWhat::Cancel { extension: None },
        DecisionWhat::Cancel { extension: Some(extension()) },
        DecisionWhat::Adopt { job, address: None, extension: None },
        DecisionWhat::Adopt { job: BTreeMap::new(), address: None, extension: Some(extension()) },
        DecisionWhat::Resubmit,
        DecisionWhat::NewOperation { operation_id: "op-2".into() },
        DecisionWhat::Approve { attempt: r.next_attempt() },
        DecisionWhat::Approve { attempt: r.status_requests_used },
        DecisionWhat::Decline { proposal: "p1".into() },
    ])
}

/// Every event there is, with its variants around what the record says.
fn events(r: &Record, seen: &[Observation], when: Instant) -> Vec<What> {
    let fact = |account: &str| Some(CredentialFact { account: Some(account.into()), digest: "a".repeat(64) });
    let mut all = Vec::from([What::Woke { credential: None }, What::Woke { credential: fact("other") }]);
    for (fence, lease) in [(0, 60_000), (1, 0), (1, 1), (1, 60_000), (1, 60_001)] {
        all.push(What::Leased { fence: r.fence + fence, expires_at: when.plus(lease), credential: fact("default") });
    }
    all.push(What::Leased { fence: limits::FENCE_MAX + 1, expires_at: when.plus(60_000), credential: None });
    let (attempt, fence) = (r.status_requests_used, r.fence);
    all.extend(TransportFault::ALL.iter().map(|fault| What::Unanswered { attempt, fence, fault: *fault }));
    let observed = |observation: &Observation| Box::new(observation.clone());
    all.extend(seen.iter().map(|seen| What::Answered { attempt, fence, observation: observed(seen) }));
    for (attempt, fence) in [(attempt + 1, fence), (attempt, fence + 1), (0, 0)] {
        all.push(What::Unanswered { attempt, fence, fault: TransportFault::Reset });
        all.extend(seen.first().map(|seen| What::Answered { attempt, fence, observation: observed(seen) }));
    }
    let instants = [when, when.plus(1), when.plus(300_000), when.plus(86_400_000), when.plus(86_400_001)];
    all.extend(instants.map(|until| What::Paced { until }));
    for (authentic, job) in [(true, "exp_71c"), (false, "exp_71c"), (true, "exp_72c")] {
        all.push(What::Pushed { push: Push { authentic, job: Some(job.into()) } });
    }
    all.push(What::Proposed { proposal: proposal("p1") });
    for component in [r.component_digest.clone(), "1".repeat(64), "x".into()] {
        all.push(What::ComponentChanged { component, by: "ana".into() });
    }
    all.push(What::Faulted { kind: FaultKind::Trap });
    all.extend(decisions(r).into_iter().map(|what| decided(r.authority_revision, "d1", what)));
    all.push(decided(r.authority_revision + 1, "d1", DecisionWhat::Close));
    all.push(What::Opened { opening: Box::new(opening()) });
    all
}

fn proposal(id: &str) -> Proposal {
    Proposal {
        id: id.into(),
        by: "agent-7".into(),
        why: "why".into(),
        extension: extension(),
        expected_effect: "it ends".into(),
    }
}

fn decided(revision: u64, id: &str, what: DecisionWhat) -> What {
    let (by, role, why) = ("ana".into(), "operator".into(), "tested".into());
    What::Decided { decision: Box::new(Decision { id: id.into(), by, role, why, revision, what, proposal: None }) }
}

/// One below, at and one above each instant that the record names; of an ended one only a few.
fn instants(r: &Record) -> Vec<Instant> {
    let live = r.next_at().is_some();
    let named = [r.next_at(), Some(r.deadline_at), r.useful_until, r.job_expires_at, Some(r.last_at)];
    let around = |at: Instant| [Instant::from_ms(at.ms().saturating_sub(1)).unwrap(), at, at.plus(1)];
    let mut all: Vec<Instant> = named.into_iter().filter(|_| live).flatten().flat_map(around).collect();
    all.extend([r.last_at, Instant::from_ms(limits::INSTANT_MAX).unwrap()]);
    all.sort();
    all.dedup();
    all
}

fn with_phase(r: &Record, phase: Phase) -> Record {
    Record { phase, ..r.clone() }
}

/// A record in each phase and after each reason, with budgets one below, at and above their limits where the phase has them.
fn records(contract: &str) -> Vec<String> {
    let opened = open::open(contract, &tight(), at("10:20:00")).unwrap();
    let r = Record::parse(&opened.record).unwrap();
    let polled = Record {
        status_requests_used: 1,
        fence: 3,
        results: Vec::from([ResultRef { name: "file".into(), sha256: "a".repeat(64), secret: false }]),
        last_exchange: Some(Exchange {
            attempt: 1,
            status: Some(401),
            fault: None,
            sent_at: None,
            at: r.last_at,
            request_id: None,
        }),
        credential_digest: Some("a".repeat(64)),
        paced_until: Some(at("10:21:00")),
        job_expires_at: Some(at("10:30:00")),
        ..r.clone()
    };
    let waiting = |at| Phase::Waiting { next_poll_at: at, source: crate::api::DelaySource::LocalBackoff };
    let polling =
        |attempt| Phase::Polling { attempt, since: at("10:20:05"), fence: 3, lease_expires_at: at("10:21:05") };
    let mut all = Vec::from([r.clone(), with_phase(&polled, waiting(at("10:22:00")))]);
    for used in [1, 3, 4] {
        let failing =
            Record { status_requests_used: used, transport_failures_used: 2, throttles_used: 2, ..polled.clone() };
        all.push(with_phase(&failing, polling(used)));
    }
    if r.approval_per_request {
        all.push(with_phase(&polled, Phase::Asking { attempt: 2 }));
        all.push(with_phase(&Record { approved_attempt: Some(2), ..polled.clone() }, waiting(at("10:22:00"))));
    }
    // What is offered after each reason is one table for all contracts.
    let few = if contract == CONTRACT { Reason::ALL.len() } else { 3 };
    for reason in Reason::ALL.iter().take(few) {
        all.push(with_phase(&Record { late_success: true, ..polled.clone() }, Phase::Escalated { reason: *reason }));
    }
    for ending in Ending::ALL {
        let settlement = Settlement { ending: *ending, results: Vec::new(), actions: Vec::new() };
        all.push(with_phase(&polled, Phase::Settled { settlement }));
    }
    all.iter().map(|r| r.text().unwrap()).collect()
}

#[test]
fn every_phase_with_every_event_at_every_boundary_keeps_the_rules() {
    let (mut steps, mut refused, mut written) = (0u64, 0u64, 0u64);
    for (name, contract) in contracts() {
        for record in records(&contract) {
            let r = Record::parse(&record).unwrap();
            let seen = seen(&contract, &record, r.last_at);
            for when in instants(&r) {
                for what in events(&r, &seen, when) {
                    let made = stepped(&contract, &record, &Event { at: when, what });
                    steps += 1;
                    refused += u64::from(made.is_none());
                    written += u64::from(made.is_some_and(|made| made.entry.is_some()));
                }
            }
        }
        println!("{name}: {steps} steps, {refused} refused, {written} written");
    }
    assert!(refused > 1_000 && written > 1_000);
}
