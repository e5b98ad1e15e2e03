//! A step changes all that it stages, or nothing (I12, I14).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

pub(super) const CASES: &[Case] = &[
    ("I12: entries have no gap, a step that fails leaves none", sequence),
    ("I14: one operation's error touches no other of its batch", batch),
    ("D22: limits change by a decision only", limits),
    ("D32: what is settled never changes", settled),
    ("I14: a panic in the closure leaves everything as it was", panicking),
    ("D11, D31: values are kept and dropped with their step", kept),
];

fn sequence(bench: &dyn Bench) {
    let store = plain(bench);
    for n in 0..20_u64 {
        let result = store.step("op-1", &mut |loaded| {
            if n % 3 == 0 {
                return Err("no".into());
            }
            Ok(Some(fixture::next(&loaded.row, |_| {})))
        });
        assert_eq!(matches!(result, Err(StoreError::Refused(_))), n % 3 == 0);
    }
    let error = refused(&*store, &mut |loaded| {
        let mut staged = fixture::next(&loaded.row, |_| {});
        staged.entry.seq += 1;
        Ok(Some(staged))
    });
    assert_eq!(bound(error), "entry");
    let entries = store.entries("op-1", 1, 1_000).unwrap();
    let numbers: Vec<_> = entries.iter().map(|entry| entry.seq).collect();
    let stored = row(&*store).row;
    assert_eq!(numbers, (1..=stored.revision).collect::<Vec<_>>());
    assert_eq!(entries.last().map(|entry| &entry.sha256), Some(&stored.head));
    assert_eq!(store.entries("op-1", 3, 2).unwrap(), entries[2..4]);
}

fn batch(bench: &dyn Bench) {
    let store = plain(bench);
    fixture::open(&*store, fixture::opening("op-2", "job-2"));
    let results = store
        .steps(&["op-1", "op-0", "op-2", "op-2"], &mut |index, loaded| {
            let mut staged = fixture::next(&loaded.row, |_| {});
            if index == 2 {
                // Saved in part by the time it fails: its entry is there, its job isn't free.
                staged = fixture::next(&loaded.row, |row| row.next_at = Some(u64::MAX));
            }
            Ok(Some(staged))
        })
        .unwrap();
    assert!(matches!(results[0], Ok(Outcome::Saved(_))));
    assert!(matches!(results[1], Err(StoreError::NotFound(_))));
    assert!(matches!(results[2], Err(StoreError::Bounds(_))));
    assert!(matches!(results[3], Ok(Outcome::Saved(_))));
    assert_eq!(row(&*store).row.revision, 2);
    assert_eq!(store.entries("op-2", 1, 10).unwrap().len(), 2);
}

fn limits(bench: &dyn Bench) {
    let store = plain(bench);
    let raise = |authority: bool| {
        move |loaded: &Loaded| {
            let mut staged = fixture::next(&loaded.row, |row| {
                row.requests.max += 4;
                row.deadline_at += 900_000;
                row.authority_revision = row.revision;
            });
            staged.authority = authority;
            Ok(Some(staged))
        }
    };
    assert_eq!(bound(refused(&*store, &mut raise(false))), "requests_max");
    store.step("op-1", &mut raise(true)).unwrap();
    let stored = row(&*store).row;
    assert_eq!((stored.requests.max, stored.deadline_at), (9, DEADLINE + 900_000));
    // Past its budget by a decision's own hand, which the table itself refuses.
    let error = refused(&*store, &mut |loaded| {
        let mut staged = fixture::next(&loaded.row, |row| row.failures.used = row.failures.max + 1);
        staged.authority = true;
        Ok(Some(staged))
    });
    assert_eq!(bound(error), "constraint");
}

fn settled(bench: &dyn Bench) {
    let store = plain(bench);
    store.step("op-1", &mut |loaded| Ok(Some(fixture::settled(&loaded.row)))).unwrap();
    let error = refused(&*store, &mut |loaded| {
        let mut staged = fixture::next(&loaded.row, |_| {});
        staged.authority = true;
        Ok(Some(staged))
    });
    assert!(matches!(error, StoreError::Settled(_)));
    assert!(matches!(store.mark_fault("op-1", None, "trap", DUE), Err(StoreError::Settled(_))));
    bench.advance(Duration::from_millis(DUE - START));
    assert_eq!(claim(&*store), Outcome::Unchanged);
}

fn panicking(bench: &dyn Bench) {
    let store = plain(bench);
    let before = row(&*store);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let calls = Cell::new(0);
        store.steps(&["op-1", "op-1"], &mut |_, loaded| {
            calls.set(calls.get() + 1);
            assert_eq!(calls.get(), 1, "on purpose");
            Ok(Some(fixture::next(&loaded.row, |_| {})))
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(row(&*store), before);
    let again = store.step("op-1", &mut |loaded| Ok(Some(fixture::next(&loaded.row, |_| {}))));
    assert!(is_saved(&again.unwrap()));
}

fn kept(bench: &dyn Bench) {
    let store = plain(bench);
    let keep = |role: &str| KeptRow {
        sha256: "ab".repeat(32),
        role: role.to_owned(),
        sealed: role == "address",
        value: b"value".to_vec(),
    };
    let staged = |loaded: &Loaded| {
        let mut staged = fixture::next(&loaded.row, |_| {});
        staged.kept = vec![keep("address"), keep("result")];
        staged
    };
    refused(&*store, &mut |loaded| {
        let mut staged = staged(loaded);
        staged.derived.account.push('x');
        Ok(Some(staged))
    });
    assert_eq!(store.kept("op-1").unwrap(), []);
    for _ in 0..2 {
        store.step("op-1", &mut |loaded| Ok(Some(staged(loaded)))).unwrap();
        let both = [keep("address"), keep("result")];
        assert_eq!(store.kept("op-1").unwrap(), both);
    }
    store
        .step("op-1", &mut |loaded| {
            let mut staged = fixture::settled(&loaded.row);
            staged.drops = vec!["address".to_owned()];
            Ok(Some(staged))
        })
        .unwrap();
    assert_eq!(store.kept("op-1").unwrap(), [keep("result")]);
    assert_eq!(store.drop_kept("op-1", "result").unwrap(), 1);
    assert_eq!(store.drop_kept("op-1", "result").unwrap(), 0);
    assert_eq!(store.kept("op-1").unwrap(), []);
}
