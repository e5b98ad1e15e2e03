//! What no component may do: a real transition is within every bound, and each lie about it breaks one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use sondeo::bounds::{check_bounds, check_opened, check_plan};
use sondeo::component::Component;
use sondeo::component::types::{
    Action, ComponentChange, Decision, DecisionWhat, Ending, Event, ExtendDecision, Extension, LeasedEvent, Operation,
    Phase, PlanOrigin, PollingPhase, Push, Settlement, Transition, TransportFault, WaitingPhase, What, WokeEvent,
};

#[path = "support/script.rs"]
mod script;

use script::{CONTRACT, LEASE_MS, START, Script, body, opening};

fn embedded() -> Component {
    Component::embedded().unwrap()
}

/// A word of the sentence about it, and the lie.
type Lie<T> = (&'static str, fn(&mut T));

/// What a step started from, what happened, and what was made of it.
#[derive(Clone)]
struct Case {
    before: Operation,
    event: Event,
    made: Transition,
}

impl Case {
    fn of(before: &Script, at: u64, what: What) -> Case {
        let event = Event { at, what };
        let made = before.component.step(CONTRACT, &before.made.record, &event).unwrap();
        let case = Case { before: before.made.operation.clone(), event, made };
        assert_eq!(case.check(), Ok(()), "the real one keeps every bound");
        case
    }

    fn check(&self) -> Result<(), String> {
        check_bounds(&self.before, &self.event, &self.made)
    }

    /// The sentence about a lie.
    fn lie(&self, lie: impl FnOnce(&mut Case)) -> String {
        let mut case = self.clone();
        lie(&mut case);
        case.check().expect_err("the lie went through")
    }
}

fn leased(script: &Script, at: u64) -> Case {
    let lease = LeasedEvent { fence: script.operation().fence + 1, expires_at: at + LEASE_MS, credential: None };
    Case::of(script, at, What::Leased(lease))
}

fn send(case: &mut Case) -> &mut PollingPhase {
    match &mut case.made.operation.phase {
        Phase::Polling(polling) => polling,
        other => panic!("{other:?}"),
    }
}

fn has(sentence: &str, words: &str) {
    assert!(sentence.contains(words), "`{words}` is not in: {sentence}");
}

/// D17, D19, D42: a request is the next one, within time and budget, under its own lease.
#[test]
fn a_request_is_bounded_by_lease_time_and_budget() {
    let script = Script::open(&embedded());
    let at = script.next();
    let case = leased(&script, at);
    let timeout = |ms: u64| {
        case.lie(|c| {
            c.made.action = match &c.made.action {
                Action::Send(send) => Action::Send(sondeo::component::types::SendAction { timeout_ms: ms, ..*send }),
                other => panic!("{other:?}"),
            }
        })
    };
    has(&timeout(0), "a timeout of 0 ms");
    has(&timeout(LEASE_MS + 1), "not between 1 and 60000 ms");
    has(&case.lie(|c| c.before.deadline_at = at), "can't go from");
    has(
        &case.lie(|c| {
            c.before.deadline_at = at;
            c.made.operation.deadline_at = at;
        }),
        "when the wait is over (D17)",
    );
    has(
        &case.lie(|c| {
            c.before.useful_until = Some(at);
            c.made.operation.useful_until = Some(at);
        }),
        "when the wait is over (D17)",
    );
    has(&case.lie(|c| send(c).attempt = 2), "is number 1");
    has(&case.lie(|c| c.made.operation.requests.used = 0), "is number 1");
    has(&case.lie(|c| c.made.operation.requests.used = 2), "can't go from 0 to 2");
    has(&case.lie(|c| send(c).fence = 7), "fence 1, above 0");
    let longer = |c: &mut Case| {
        send(c).lease_expires_at += 1;
        c.made.operation.next_at = c.made.operation.next_at.map(|at| at + 1);
    };
    has(&case.lie(longer), "when it was said to end");
    has(&case.lie(|c| c.before.failures.used = c.before.failures.max), "can't go from 3 to 0");
    has(
        &case.lie(|c| {
            c.before.throttles.used = c.before.throttles.max;
            c.made.operation.throttles.used = c.before.throttles.max;
        }),
        "3 of 3 throttled answers are used",
    );
    has(&case.lie(|c| c.event.at = at - 1), "before");
    has(&case.lie(|c| c.event.what = What::Woke(WokeEvent { credential: None })), "lease");
}

/// D25: no look is planned after the end of the wait; action, phase and next look agree.
#[test]
fn a_sleep_ends_before_the_wait_does() {
    let mut script = Script::open(&embedded());
    script.lease(script.next()).unwrap();
    let unanswered = sondeo::component::types::UnansweredEvent { attempt: 1, fence: 1, fault: TransportFault::Reset };
    let case = Case::of(&script, script.next() - LEASE_MS + 5, What::Unanswered(unanswered));
    let until = |c: &mut Case, until: u64| {
        let Action::Sleep(sleep) = &mut c.made.action else {
            panic!("{:?}", c.made.action);
        };
        sleep.until = until;
        c.made.operation.phase = Phase::Waiting(WaitingPhase { next_poll_at: until, source: sleep.source });
        c.made.operation.next_at = Some(until);
    };
    has(&case.lie(|c| until(c, c.before.deadline_at + 1)), "when the wait is over (D25)");
    has(&case.lie(|c| c.made.operation.next_at = None), "`next_at`");
    has(&case.lie(|c| c.made.action = Action::Settle(settlement(Ending::Succeeded))), "does not go with");
    has(&case.lie(|c| c.made.operation.failures.used = 3), "failures can't go from 0 to 3");
    has(&case.lie(|c| c.made.operation.requests.used = 0), "requests can't go from 1 to 0");
    has(&case.lie(|c| c.made.operation.fence = 2), "the fence can't go from 1 to 2");
    has(&case.lie(|c| c.made.operation.authority_revision = 3), "`authority_revision`");
}

fn settlement(ending: Ending) -> Settlement {
    Settlement { ending, results: vec![], actions: vec![] }
}

/// D1, D22: what is pinned stays, and limits move with a grant only.
#[test]
fn what_is_pinned_stays_and_limits_need_a_grant() {
    let script = Script::open(&embedded());
    let case = Case::of(&script, START + 5, What::Paced(script.next() + 5_000));
    let lies: [Lie<Operation>; 19] = [
        ("operation_id", |o| o.operation_id.push('x')),
        ("namespace", |o| o.namespace.push('x')),
        ("contract_id", |o| o.contract_id.push('x')),
        ("contract_digest", |o| o.contract_digest.push('x')),
        ("component_digest", |o| o.component_digest.push('x')),
        ("account", |o| o.account.push('x')),
        ("credential", |o| o.credential = Some("env:OTHER".into())),
        ("provider_job_id", |o| o.provider_job_id.push('x')),
        ("address", |o| o.address = Some("https://elsewhere.example/".into())),
        ("started_at", |o| o.started_at += 1),
        ("opened_by", |o| o.opened_by.push('x')),
        ("lease_ms", |o| o.lease_ms += 1),
        ("limits_given", |o| o.limits_given.max_throttles = Some(9)),
        ("held_until", |o| o.held_until = Some(1)),
        ("deadline", |o| o.deadline_at += 1),
        ("deadline", |o| o.deadline_at -= 1),
        ("allowed requests", |o| o.requests.max += 1),
        ("allowed failures", |o| o.failures.max -= 1),
        ("useful_until", |o| o.useful_until = Some(START + 60_000_000)),
    ];
    for (name, lie) in lies {
        has(&case.lie(|c| lie(&mut c.made.operation)), name);
    }
}

/// D47: record, entry and head belong together.
#[test]
fn texts_are_bounded_readable_and_chained() {
    let script = Script::open(&embedded());
    let case = Case::of(&script, START + 5, What::Paced(script.next() + 5_000));
    let entry = |from: &'static str, to: &'static str| {
        move |c: &mut Case| c.made.entry = c.made.entry.as_ref().map(|entry| entry.replacen(from, to, 1))
    };
    has(&case.lie(|c| c.made.record.push(' ')), "not the digest of the record");
    has(&case.lie(|c| c.made.record = "{".into()), "the record is not JSON");
    has(&case.lie(|c| c.made.record = "[]".into()), "no JSON object");
    has(&case.lie(|c| c.made.entry = Some("}".into())), "the entry is not JSON");
    has(&case.lie(|c| c.made.entry = Some("{}".into())), "no link to the log");
    has(&case.lie(|c| c.made.entry = Some(format!("{{\"a\":\"{}\"}}", "x".repeat(200_000)))), "are allowed");
    has(&case.lie(entry("\"sequence\":2", "\"sequence\":3")), "makes revision 2");
    has(&case.lie(entry("\"previous\":\"", "\"previous\":\"x")), "the one before it");
    has(&case.lie(|c| c.made.operation.head.push('x')), "does not name its last entry");
    has(&case.lie(|c| c.made.operation.revision = 3), "makes revision 2");
    has(&case.lie(|c| c.made.sentence = None), "has a sentence");
    has(&case.lie(|c| c.made.sentence = Some("two\nlines".into())), "one line");
    has(&case.lie(|c| (c.made.entry, c.made.sentence) = (None, None)), "no entry says so");
}

/// Without an entry nothing is done: a request may be said to be due, and only if it is.
#[test]
fn without_an_entry_there_is_rest_or_a_due_request() {
    let script = Script::open(&embedded());
    let at = script.next();
    let rests = Case::of(&script, at - 1, What::Woke(WokeEvent { credential: None }));
    let due = Case::of(&script, at, What::Woke(WokeEvent { credential: None }));
    assert!(matches!(due.made.action, Action::Due(_)));
    has(&rests.lie(|c| c.made.action = due.made.action.clone()), "when it is due");
    has(&due.lie(|c| c.made.action = Action::Settle(settlement(Ending::Succeeded))), "needs an entry");
    has(&due.lie(|c| c.before.deadline_at += 1), "no entry says so");
}

/// D32: success comes from an answer, acceptance and closing from a person, and after an end only a person goes on.
#[test]
fn an_end_is_reached_by_its_own_event_and_left_by_a_decision() {
    let mut script = Script::open(&embedded());
    let waiting = Case::of(&script, START + 5, What::Paced(script.next() + 5_000));
    let settle = |c: &mut Case, ending: Ending| {
        c.made.action = Action::Settle(settlement(ending));
        c.made.operation.phase = Phase::Settled(settlement(ending));
        c.made.operation.next_at = None;
        c.made.operation.authority_revision = c.made.operation.revision;
    };
    for ending in [Ending::Succeeded, Ending::Accepted, Ending::Closed] {
        has(&waiting.lie(|c| settle(c, ending)), "by a person (D32)");
    }
    has(&waiting.lie(|c| c.before.phase = Phase::Settled(settlement(Ending::Closed))), "never changes (D32)");
    script.state("nonsense").unwrap();
    assert!(matches!(script.operation().phase, Phase::Escalated(_)));
    let change = ComponentChange { component: "0".repeat(64), by: "ana".into() };
    let moved = Case::of(&script, START + 600_000, What::ComponentChanged(change));
    has(&moved.lie(|c| c.made.operation.phase = waiting.made.operation.phase.clone()), "leads out of an escalation");
    let woke = Case::of(&script, START + 600_000, What::Pushed(Push { authentic: true, job: None }));
    assert!(woke.made.entry.is_none());
}

/// D38: a grant raises limits by what it says, not by more.
#[test]
fn a_grant_gives_no_more_than_it_says() {
    let script = Script::open(&embedded());
    let extension = Extension { time_ms: 60_000, requests: 1, failures: 1, throttles: 0, useful_until: None };
    let decision = Decision {
        id: "d1".into(),
        by: "ana".into(),
        role: "operator".into(),
        why: "tested".into(),
        revision: script.operation().authority_revision,
        what: DecisionWhat::Extend(ExtendDecision { extension, done: None }),
        proposal: None,
    };
    let at = script.next() - 1;
    let case = Case::of(&script, at, What::Decided(decision));
    has(&case.lie(|c| c.made.operation.deadline_at = c.before.deadline_at + 60_001), "the deadline can't go");
    has(&case.lie(|c| c.made.operation.requests.max += 1), "allowed requests");
    has(&case.lie(|c| c.made.operation.throttles.max += 1), "allowed throttled");
    has(&case.lie(|c| c.made.operation.extensions_used += 1), "used extensions");
    has(&case.lie(|c| c.made.operation.authority_revision = 0), "`authority_revision`");
}

/// D2: an opening is what was asked for.
#[test]
fn an_opening_is_what_was_asked_for() {
    let component = embedded();
    let opening = opening(&component);
    let made = component.open(CONTRACT, &opening, START).unwrap();
    assert_eq!(check_opened(&opening, START, &made), Ok(()));
    let lies: [Lie<Transition>; 9] = [
        ("operation_id", |t| t.operation.operation_id.push('x')),
        ("component_digest", |t| t.operation.component_digest.push('x')),
        ("credential", |t| t.operation.credential = Some("env:OTHER".into())),
        ("started_at", |t| t.operation.started_at += 1),
        ("used requests", |t| t.operation.requests.used = 1),
        ("allowed requests", |t| t.operation.requests.max = 0),
        ("useful_until", |t| t.operation.useful_until = Some(START + 1)),
        ("lease", |t| t.operation.fence = 1),
        ("makes entry 1", |t| t.entry = None),
    ];
    for (name, lie) in lies {
        let mut made = made.clone();
        lie(&mut made);
        has(&check_opened(&opening, START, &made).expect_err(name), name);
    }
    let mut given = opening.clone();
    given.limits.max_status_requests = Some(3);
    let made = component.open(CONTRACT, &given, START).unwrap();
    assert_eq!(check_opened(&given, START, &made), Ok(()));
    let mut more = made.clone();
    more.operation.requests.max = 4;
    has(&check_opened(&given, START, &more).unwrap_err(), "not what was given");
}

/// D28: a request goes where the contract says, with the operation's own credential.
#[test]
fn a_planned_request_goes_where_the_contract_says() {
    let script = Script::open(&embedded());
    let plan = script.component.request(CONTRACT, &script.made.record).unwrap();
    let check = |plan: &_| check_plan(CONTRACT, script.operation(), plan);
    assert_eq!(check(&plan), Ok(()));

    let mut other = plan.clone();
    other.origins.push(PlanOrigin { origin: "https://elsewhere.example".into(), allow_private: false });
    has(&check(&other).unwrap_err(), "`https://elsewhere.example`");
    let mut other = plan.clone();
    other.origins[0].allow_private = true;
    has(&check(&other).unwrap_err(), "`https://api.provider.example`");
    let mut other = plan.clone();
    other.origin = "https://elsewhere.example".into();
    has(&check(&other).unwrap_err(), "not among the origins");
    let mut other = plan.clone();
    other.url = Some("https://api.provider.example/v1/jobs/other".into());
    has(&check(&other).unwrap_err(), "not the record's");
    let mut other = plan.clone();
    other.url = None;
    has(&check(&other).unwrap_err(), "one address");
    let mut other = plan;
    other.credential = Some(sondeo::component::types::PlanCredential {
        header: "authorization".into(),
        prefix: "Bearer ".into(),
        reference: "env:OTHER".into(),
    });
    has(&check(&other).unwrap_err(), "not the operation's");
}

/// Whatever happens, in whatever order, the real component keeps every bound.
#[test]
fn the_real_component_keeps_every_bound() {
    for seed in 0..40_u64 {
        let mut script = Script::open(&embedded());
        let mut random = seed;
        let mut at = START;
        for _ in 0..40 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let Some(next) = script.operation().next_at else {
                break;
            };
            at = at.max(next.saturating_sub(random >> 8 & 0xff));
            let _ = match random >> 33 & 7 {
                0 => script.wake(at),
                1 | 2 => script.lease(at),
                3 => script.answer(at, 200, &[], &body("running")),
                4 => script.answer(at, 503, &[("retry-after", "90")], ""),
                5 => script.step(at, What::Paced(at + 30_000)),
                6 => script.step(at, What::Pushed(Push { authentic: true, job: Some("exp_71c".into()) })),
                _ => script.answer(at, 429, &[], ""),
            };
        }
        assert_eq!(script.broken, Vec::<String>::new(), "seed {seed}");
        assert!(script.entries.len() > 2, "seed {seed}");
    }
}
