//! What the host makes of components that misbehave.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use sondeo::component::types::{Action, DelaySource, FaultKind, Reason};
use sondeo::component::{CallError, Component, Components, PinnedError, audit};

#[path = "support/hostile.rs"]
mod hostile;
#[path = "support/script.rs"]
mod script;

use script::{CONTRACT, START, Script};

fn component(variant: &str) -> Component {
    Component::load(&hostile::build(variant)).unwrap()
}

/// A step that fails, and what is left of the component after it.
fn fails(variant: &str, expected: FaultKind) -> String {
    let component = component(variant);
    let mut script = Script::open(&component);
    let record = script.made.record.clone();
    let mut said = Vec::new();
    // The second time it may come upon what the first left behind.
    for _ in 0..2 {
        let error = script.wake(START + 1).unwrap_err();
        let CallError::Faulted { kind, detail } = error else {
            panic!("{variant}: {error:?}");
        };
        assert_eq!(kind, expected, "{variant}: {detail}");
        said.push(detail);
        assert_eq!(component.read(&record).unwrap().revision, 1, "{variant}: the next call works");
    }
    assert_eq!(said[0], said[1], "a fault is a function of the call");
    said.remove(0)
}

#[test]
fn a_component_that_spins_runs_out_of_fuel() {
    assert!(fails("spin", FaultKind::OutOfFuel).starts_with("all its fuel is spent"));
}

#[test]
fn a_component_that_grows_runs_out_of_memory() {
    assert!(fails("grow", FaultKind::OutOfMemory).contains("bytes of memory, where"));
}

#[test]
fn a_component_that_recurses_traps() {
    fails("recurse", FaultKind::Trap);
}

/// Names of functions are all that is left of a panic, so they have to be there.
#[test]
fn a_component_that_panics_traps_and_says_where() {
    let detail = fails("trap", FaultKind::Trap);
    assert!(detail.contains("unreachable") && detail.contains("panic"), "{detail}");
}

#[test]
fn a_component_that_sleeps_seven_seconds_is_obeyed() {
    let mut script = Script::open(&component("sleep7"));
    for state in ["running", "failed", "succeeded"] {
        let action = script.state(state).unwrap();
        let seen = script.operation().last_exchange.as_ref().unwrap().at;
        assert!(
            matches!(&action, Action::Sleep(s) if s.until == seen + 7_000 && s.source == DelaySource::LocalBackoff),
            "{action:?}"
        );
    }
    assert_eq!(script.broken, Vec::<String>::new());
}

#[test]
fn a_component_that_always_escalates_is_obeyed() {
    let mut script = Script::open(&component("escalate"));
    let action = script.lease(script.next()).unwrap();
    assert!(matches!(&action, Action::Escalate(e) if e.reason == Reason::UnknownState), "{action:?}");
    assert_eq!(script.broken, Vec::<String>::new());
}

/// D17: whatever a component says, nothing is sent at the deadline or later.
#[test]
fn a_request_after_the_deadline_breaks_the_bounds() {
    let mut script = Script::open(&component("poll_after_deadline"));
    let deadline = script.operation().deadline_at;
    script.wake(deadline).unwrap();
    script.lease(deadline).unwrap();
    let [due, send] = script.broken.as_slice() else {
        panic!("{:?}", script.broken);
    };
    assert!(due.contains("when the wait is over (D17)"), "{due}");
    assert!(send.contains("(D17)"), "{send}");
}

/// D19: whatever a component says, no request is sent beyond the budget.
#[test]
fn a_request_over_the_budget_breaks_the_bounds() {
    let component = component("over_budget");
    let mut opening = script::opening(&component);
    opening.limits.max_status_requests = Some(2);
    let mut script = Script::open_with(&component, &opening);
    script.state("running").unwrap();
    script.state("running").unwrap();
    assert_eq!(script.broken, Vec::<String>::new(), "to wait is no breach");
    script.lease(script.next()).unwrap();
    let [send] = script.broken.as_slice() else {
        panic!("{:?}", script.broken);
    };
    assert!(send.contains("2 of 2 requests are used"), "{send}");
}

/// D48: one default changed, and the log replays as diverged, at the field that differs.
#[test]
fn another_components_log_diverges_at_its_first_entry() {
    let other = component("floor_third");
    let mut script = Script::open(&other);
    script.state("running").unwrap();
    assert_eq!(script.broken, Vec::<String>::new());
    let log = audit::Log {
        entries: script.entries.clone(),
        contracts: vec![CONTRACT.into()],
        start: None,
        current: Some(script.made.record.clone()),
        component: other.sha256().into(),
    };
    let report = Component::embedded().unwrap().verify(&log).unwrap();
    assert_eq!(report.verdict, audit::Verdict::Diverged, "{report:?}");
    assert_eq!(report.entry, Some(1));
    assert!(
        report.field.is_some_and(|field| field.contains("delay") || field.contains("action")),
        "it names the delay"
    );
}

/// The others differ in one thing only: without a variant the same steps make the same bytes, under another digest.
#[test]
fn the_variant_that_does_nothing_makes_the_same_bytes() {
    let embedded = Component::embedded().unwrap();
    let none = component("none");
    assert_ne!(none.sha256(), embedded.sha256());
    let opening = script::opening(&embedded);
    let [mut a, mut b] = [&embedded, &none].map(|component| Script::open_with(component, &opening));
    for script in [&mut a, &mut b] {
        script.poll(503, &[("retry-after", "120")], "").unwrap();
        script.state("succeeded").unwrap();
        assert_eq!(script.broken, Vec::<String>::new());
    }
    assert_eq!(a.entries, b.entries);
    assert_eq!(a.made.record, b.made.record);
}

/// D48: an operation goes on with the component that it is pinned to, and with no other in its place.
#[test]
fn a_pinned_component_is_loaded_by_its_digest_or_not_at_all() {
    let embedded = Component::embedded().unwrap();
    let components = Components::new(embedded.clone());
    let bytes = hostile::build("sleep7");
    let pinned = component("sleep7").sha256().to_owned();

    let nothing = || Ok::<_, String>(None);
    assert_eq!(components.pinned(embedded.sha256(), nothing).unwrap().sha256(), embedded.sha256());
    assert!(matches!(components.pinned(&pinned, nothing), Err(PinnedError::Absent(_))));
    let failing = || Err("no disk".to_owned());
    assert!(matches!(components.pinned(&pinned, failing), Err(PinnedError::Fetch(_))));
    let other = || Ok::<_, String>(Some(hostile::build("spin")));
    assert!(matches!(components.pinned(&pinned, other), Err(PinnedError::Damaged { .. })));

    let found = || Ok::<_, String>(Some(bytes.clone()));
    assert_eq!(components.pinned(&pinned, found).unwrap().sha256(), pinned);
    assert_eq!(components.pinned(&pinned, nothing).unwrap().sha256(), pinned, "it was compiled once");
}
