//! What every engine has to do, as one suite: each case gets an empty bench of its own.

use std::sync::Barrier;
use std::time::Duration;

use super::fixture::{self, Bench, DEADLINE, DUE, LEASE, START};
use super::*;

mod jobs;
mod lists;
mod steps;

/// Makes an empty bench.
pub(crate) type Make<'a> = &'a dyn Fn() -> Box<dyn Bench>;

type Case = (&'static str, fn(&dyn Bench));

/// A change of columns, and the column that it is refused for.
type Change = (&'static str, fn(&mut Derived));

/// Runs every case; the name of the one that failed is the last printed.
pub(crate) fn conformance(make: Make<'_>) {
    for (name, case) in CASES.iter().chain(steps::CASES).chain(jobs::CASES).chain(lists::CASES) {
        println!("case: {name}");
        case(&*make());
    }
}

const CASES: &[Case] = &[
    ("I2: a charge needs time before the deadline", deadline),
    ("D19: a charge needs budget", budget),
    ("D42: a charge needs a higher fence", older_fence),
    ("D42: a charge needs a lease that lives", dead_lease),
    ("D19: a charge pays for the next request and no other", wrong_attempt),
    ("D32: nothing is charged outside a wait", wrong_phase),
    ("D33: nothing is charged under a mark", marked),
    ("I4: an answer counts under its own fence only", fenced),
    ("D42: a living lease keeps others out, an expired one doesn't", leases),
    ("I1: of two workers that race, one is charged", race),
];

fn plain(bench: &dyn Bench) -> Box<dyn Store> {
    let store = bench.store();
    fixture::open(&*store, fixture::opening("op-1", "job-1"));
    store
}

/// Opens `op-1` with columns changed by `change`, and moves the clock to when it is due.
fn due_with(bench: &dyn Bench, change: fn(&mut Derived)) -> Box<dyn Store> {
    let store = bench.store();
    let mut row = fixture::derived("op-1", "job-1");
    change(&mut row);
    fixture::open(&*store, fixture::stage(row));
    bench.advance(Duration::from_millis(DUE - START));
    store
}

fn claim(store: &dyn Store) -> Outcome {
    store.claim("op-1", &mut |loaded| Ok(Some(fixture::lease(loaded)))).unwrap()
}

fn row(store: &dyn Store) -> Stored {
    store.get("op-1").unwrap().unwrap()
}

fn is_saved(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Saved(_))
}

/// What a step that has to fail failed with, after which everything is as it was.
fn refused(store: &dyn Store, stage: &mut StageFn<'_>) -> StoreError {
    let before = (row(store), store.entries("op-1", 1, 1_000).unwrap());
    let error = store.step("op-1", stage).unwrap_err();
    let after = (row(store), store.entries("op-1", 1, 1_000).unwrap());
    assert_eq!(before, after);
    error
}

/// A charge that has to be refused, after which everything is as it was.
fn charge_refused(store: &dyn Store, stage: &mut StageFn<'_>) {
    let before = (row(store), store.entries("op-1", 1, 1_000).unwrap());
    assert_eq!(store.step("op-1", stage).unwrap(), Outcome::ChargeRefused);
    let after = (row(store), store.entries("op-1", 1, 1_000).unwrap());
    assert_eq!(before, after);
}

fn bound(error: StoreError) -> String {
    match error {
        StoreError::Bounds(bound) => bound.which,
        other => panic!("{other}"),
    }
}

fn deadline(bench: &dyn Bench) {
    let store = plain(bench);
    bench.advance(Duration::from_millis(DEADLINE - START));
    assert_eq!(store.now().unwrap(), DEADLINE);
    assert_eq!(claim(&*store), Outcome::ChargeRefused);
    charge_refused(&*store, &mut |loaded| Ok(Some(fixture::lease(loaded))));
    // The statement asks the clock itself: an instant before is early enough, and time that passes inside the step counts.
    let late = |id: &'static str| {
        fixture::open(&*store, {
            let mut row = fixture::derived(id, id);
            row.deadline_at = DEADLINE + 1;
            fixture::stage(row)
        });
    };
    late("op-2");
    late("op-3");
    let lease = |loaded: &Loaded| Ok(Some(fixture::lease(loaded)));
    assert!(is_saved(&store.claim("op-2", &mut |l| lease(l)).unwrap()));
    let outcome = store.claim("op-3", &mut |loaded| {
        bench.advance(Duration::from_millis(1));
        lease(loaded)
    });
    assert_eq!(outcome.unwrap(), Outcome::ChargeRefused);
}

fn budget(bench: &dyn Bench) {
    let spent: [fn(&mut Derived); 3] = [
        |row| row.requests.used = row.requests.max,
        |row| row.failures.used = row.failures.max,
        |row| row.throttles.used = row.throttles.max,
    ];
    let store = bench.store();
    bench.advance(Duration::from_millis(DUE - START));
    for (n, spend) in spent.into_iter().enumerate() {
        let id = format!("op-{n}");
        let mut row = fixture::derived(&id, &id);
        spend(&mut row);
        fixture::open(&*store, fixture::stage(row));
        let outcome = store.claim(&id, &mut |loaded| Ok(Some(fixture::lease(loaded))));
        assert_eq!(outcome.unwrap(), Outcome::ChargeRefused, "{id}");
    }
}

fn older_fence(bench: &dyn Bench) {
    let store = due_with(bench, |_| {});
    assert!(is_saved(&claim(&*store)));
    store.step("op-1", &mut |loaded| Ok(Some(fixture::pending(loaded)))).unwrap();
    assert_eq!(row(&*store).row.fence, 1);
    for fence in [0, 1] {
        charge_refused(&*store, &mut |loaded| {
            let charge = Charge { attempt: loaded.row.requests.used + 1, fence, lease_expires_at: loaded.at + LEASE };
            Ok(Some(fixture::charge_as(&loaded.row, charge)))
        });
    }
}

fn dead_lease(bench: &dyn Bench) {
    let store = due_with(bench, |_| {});
    charge_refused(&*store, &mut |loaded| Ok(Some(fixture::charge(&loaded.row, loaded.at))));
    let alive = store.claim("op-1", &mut |loaded| Ok(Some(fixture::charge(&loaded.row, loaded.at + 1))));
    assert!(is_saved(&alive.unwrap()));
}

fn wrong_attempt(bench: &dyn Bench) {
    let store = due_with(bench, |_| {});
    for attempt in [0, 2] {
        charge_refused(&*store, &mut |loaded| {
            let mut staged = fixture::lease(loaded);
            staged.charge = staged.charge.map(|charge| Charge { attempt, ..charge });
            Ok(Some(staged))
        });
    }
    // A record that counts otherwise, or forgets to, or comes from another revision.
    let wrong: [Change; 3] = [
        ("requests_used", |row| row.requests.used += 1),
        ("requests_used", |row| row.requests.used -= 1),
        ("revision", |row| row.revision += 1),
    ];
    for (which, change) in wrong {
        let error = refused(&*store, &mut |loaded| {
            let mut staged = fixture::lease(loaded);
            let charge = staged.charge;
            change(&mut staged.derived);
            staged = fixture::stage(staged.derived);
            staged.charge = charge;
            Ok(Some(staged))
        });
        assert_eq!(bound(error), which);
    }
}

fn wrong_phase(bench: &dyn Bench) {
    let store = due_with(bench, |_| {});
    assert!(is_saved(&claim(&*store)));
    charge_refused(&*store, &mut |loaded| Ok(Some(fixture::lease(loaded))));
    store
        .step("op-1", &mut |loaded| {
            Ok(Some(fixture::next(&loaded.row, |row| {
                row.phase = Phase::Escalated;
                row.lease_expires_at = None;
                row.reason = Some("unknown_state".to_owned());
            })))
        })
        .unwrap();
    charge_refused(&*store, &mut |loaded| Ok(Some(fixture::lease(loaded))));
    assert_eq!(claim(&*store), Outcome::Unchanged);
}

fn marked(bench: &dyn Bench) {
    let store = due_with(bench, |_| {});
    assert!(matches!(store.mark_fault("op-1", Some(2), "trap", DUE), Err(StoreError::Stale { found: 1, .. })));
    store.mark_fault("op-1", Some(1), "trap", DUE).unwrap();
    store.mark_fault("op-1", None, "later", DUE + 1).unwrap();
    let mark = Fault { kind: "trap".to_owned(), at: DUE };
    assert_eq!(row(&*store).mark, Some(mark));
    assert_eq!(store.next_due().unwrap(), None);
    assert_eq!(claim(&*store), Outcome::Unchanged);
    charge_refused(&*store, &mut |loaded| Ok(Some(fixture::lease(loaded))));
    let error = refused(&*store, &mut |loaded| Ok(Some(fixture::next(&loaded.row, |_| {}))));
    assert!(matches!(error, StoreError::Marked(_)));
    let cleared = store.step("op-1", &mut |loaded| {
        assert!(loaded.mark.is_some());
        let mut staged = fixture::next(&loaded.row, |row| row.phase = Phase::Escalated);
        staged.clears_mark = true;
        Ok(Some(staged))
    });
    assert!(is_saved(&cleared.unwrap()));
    assert_eq!(row(&*store).mark, None);
}

fn fenced(bench: &dyn Bench) {
    let store = due_with(bench, |_| {});
    assert!(is_saved(&claim(&*store)));
    let answer = |fence: u64| {
        move |loaded: &Loaded| {
            let mut staged = fixture::pending(loaded);
            staged.expect_fence = Some(fence);
            Ok(Some(staged))
        }
    };
    let error = refused(&*store, &mut answer(0));
    assert!(matches!(error, StoreError::Fenced { given: 0, found: 1, .. }));
    assert!(is_saved(&store.step("op-1", &mut answer(1)).unwrap()));
}

fn leases(bench: &dyn Bench) {
    let store = due_with(bench, |_| {});
    assert!(is_saved(&claim(&*store)));
    let leased = row(&*store).row;
    assert_eq!((leased.requests.used, leased.fence, leased.phase), (1, 1, Phase::Polling));
    bench.advance(Duration::from_millis(LEASE - 1));
    assert_eq!(claim(&*store), Outcome::Unchanged);
    assert_eq!(store.next_due().unwrap(), Some(DUE + LEASE));
    bench.advance(Duration::from_millis(1));
    // Lost: a step of its own, after which the next request is paid for afresh.
    let lost = store.claim("op-1", &mut |loaded| Ok(Some(fixture::pending(loaded))));
    assert!(is_saved(&lost.unwrap()));
    bench.advance(Duration::from_secs(5));
    assert!(is_saved(&claim(&*store)));
    assert_eq!(row(&*store).row.fence, 2);
    assert_eq!(row(&*store).row.requests.used, 2);
}

fn race(bench: &dyn Bench) {
    const OPERATIONS: usize = 20;
    let store = bench.store();
    for n in 0..OPERATIONS {
        let id = format!("op-{n:02}");
        fixture::open(&*store, fixture::opening(&id, &id));
    }
    bench.advance(Duration::from_millis(DUE - START));
    let handles = [bench.store(), bench.store()];
    let start = Barrier::new(handles.len());
    let charged: usize = std::thread::scope(|scope| {
        let work = |store: Box<dyn Store>| {
            start.wait();
            let mut charged = 0;
            for _ in 0..OPERATIONS {
                let due = Due { limit: 3, after: None };
                let claimed = store.claim_due(&due, &mut |loaded| Ok(Some(fixture::lease(loaded)))).unwrap();
                charged += claimed.iter().filter(|one| one.result.as_ref().is_ok_and(is_saved)).count();
            }
            charged
        };
        let running = handles.map(|store| scope.spawn(move || work(store)));
        running.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(charged, OPERATIONS);
    for n in 0..OPERATIONS {
        let stored = store.get(&format!("op-{n:02}")).unwrap().unwrap();
        assert_eq!((stored.row.requests.used, stored.row.fence), (1, 1));
    }
}
