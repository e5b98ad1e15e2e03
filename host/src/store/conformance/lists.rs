//! What is due, in which order, and what lists and counts show.

use super::*;

pub(super) const CASES: &[Case] = &[
    ("I21: what fell due first is claimed first, and one can pass over", due_order),
    ("D37: lists come in parts, filtered, the latest first", lists),
    ("counts are by tenant and phase", counts),
    ("an operation is found by the start of its id", prefixes),
    ("a step starts from the store's clock, read after the record", clock),
];

fn many(store: &dyn Store) {
    for n in 0..6_u64 {
        let id = format!("op-{n}");
        let mut row = fixture::derived(&id, &id);
        // The later opened, the earlier due; the last two at once.
        row.next_at = Some(DUE - n.min(4));
        if n % 2 == 1 {
            row.namespace = "other".to_owned();
        }
        fixture::open(store, fixture::stage(row));
    }
}

fn ids(claimed: &[Claimed]) -> Vec<&str> {
    let ids = claimed.iter().map(|one| one.operation_id.as_str());
    ids.collect()
}

fn due_order(bench: &dyn Bench) {
    let store = bench.store();
    many(&*store);
    assert_eq!(store.next_due().unwrap(), Some(DUE - 4));
    let claim = |limit, after| {
        let due = Due { limit, after };
        store.claim_due(&due, &mut |_| Ok(None)).unwrap()
    };
    assert!(claim(10, None).is_empty());
    bench.advance(Duration::from_millis(DUE - 1 - START));
    assert_eq!(ids(&claim(10, None)), ["op-4", "op-5", "op-3", "op-2", "op-1"]);
    let first = claim(1, None);
    assert_eq!(ids(&first), ["op-4"]);
    assert_eq!(first[0].result.as_ref().unwrap(), &Outcome::Unchanged);
    let after = |one: &Claimed| Some((one.due_at, one.operation_id.clone()));
    let rest = claim(2, after(&first[0]));
    assert_eq!(ids(&rest), ["op-5", "op-3"]);
    assert_eq!(ids(&claim(9, after(&rest[1]))), ["op-2", "op-1"]);
    assert!(matches!(store.claim("op-9", &mut |_| Ok(None)), Err(StoreError::NotFound(_))));
    let early = store.claim("op-0", &mut |_| panic!("not due"));
    assert_eq!(early.unwrap(), Outcome::Unchanged);
}

fn lists(bench: &dyn Bench) {
    let store = bench.store();
    many(&*store);
    store.mark_fault("op-3", None, "trap", DUE).unwrap();
    store.step("op-2", &mut |loaded| Ok(Some(fixture::settled(&loaded.row)))).unwrap();
    let list = |filter: Filter| {
        let page = store.list(&filter).unwrap();
        let ids: Vec<_> = page.rows.into_iter().map(|l| l.row.operation_id).collect();
        (ids.join(" "), page.next)
    };
    let filter = || Filter { limit: 10, ..Filter::default() };
    assert_eq!(list(filter()).0, "op-5 op-4 op-3 op-2 op-1 op-0");
    let mut part = filter();
    part.limit = 4;
    let (ids, next) = list(part.clone());
    assert_eq!(ids, "op-5 op-4 op-3 op-2");
    part.after = next;
    assert_eq!(list(part), ("op-1 op-0".to_owned(), None));
    let mut other = filter();
    other.namespace = Some("other".to_owned());
    assert_eq!(list(other.clone()).0, "op-5 op-3 op-1");
    other.marked = true;
    assert_eq!(list(other).0, "op-3");
    let mut ended = filter();
    ended.phases = vec![Phase::Escalated, Phase::Settled];
    assert_eq!(list(ended.clone()).0, "op-2");
    ended.contract_id = Some("none".to_owned());
    assert_eq!(list(ended), (String::new(), None));
}

fn counts(bench: &dyn Bench) {
    let store = bench.store();
    many(&*store);
    store.step("op-2", &mut |loaded| Ok(Some(fixture::settled(&loaded.row)))).unwrap();
    let mut counts: Vec<_> =
        store.counts().unwrap().into_iter().map(|count| (count.namespace, count.phase, count.operations)).collect();
    counts.sort();
    let expected = [
        ("default".to_owned(), Phase::Waiting, 2),
        ("default".to_owned(), Phase::Settled, 1),
        ("other".to_owned(), Phase::Waiting, 3),
    ];
    assert_eq!(counts, expected);
}

fn prefixes(bench: &dyn Bench) {
    let store = bench.store();
    for id in ["ab1", "ab2", "ac1", "a%", "é1", "é2"] {
        fixture::open(&*store, fixture::opening(id, id));
    }
    assert_eq!(store.find_prefix("ab", 10).unwrap(), ["ab1", "ab2"]);
    assert_eq!(store.find_prefix("ab", 1).unwrap(), ["ab1"]);
    assert_eq!(store.find_prefix("a%", 10).unwrap(), ["a%"]);
    assert_eq!(store.find_prefix("é", 10).unwrap(), ["é1", "é2"]);
    assert!(store.find_prefix("zz", 10).unwrap().is_empty());
}

fn clock(bench: &dyn Bench) {
    let store = plain(bench);
    bench.advance(Duration::from_millis(7));
    store
        .step("op-1", &mut |loaded| {
            assert_eq!(loaded.at, START + 7);
            assert_eq!(*loaded.contract, *fixture::contract().text);
            assert_eq!(loaded.next_fence(), 1);
            Ok(None)
        })
        .unwrap();
    assert_eq!(store.now().unwrap(), START + 7);
}
