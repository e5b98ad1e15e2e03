//! One job, one wait (D4); contracts and components by digest (D48).

use super::*;

pub(super) const CASES: &[Case] = &[
    ("D4: a job that is held is returned, not opened again", held),
    ("D4: the closure sees the last operation of an ended job", ended),
    ("D4: the constraint holds where the key names another job", other_key),
    ("D4: other tenants, contracts and accounts have jobs of their own", apart),
    ("D4: a followed id is added where free and handed on at the end", followed),
    ("D3: a submission whose fate is unknown adopts a free job only", adopts),
    ("D4: of two that open at once, one creates", opening_race),
    ("D48: contracts and components are kept by digest", digests),
    ("D33: an amendment brings its contract along", amends),
];

fn open(store: &dyn Store, key: Option<&JobKey>, staged: Staged) -> Result<Opened, StoreError> {
    store.open_operation(key, &mut |_| Ok(Open::Create(Box::new(staged.clone()))))
}

fn existing(opened: Opened) -> String {
    match opened {
        Opened::Exists(stored) => stored.row.operation_id,
        Opened::Created(saved) => panic!("created {saved:?}"),
    }
}

fn holder(store: &dyn Store, job: &str) -> Option<String> {
    let found = store.find_job(&fixture::key(job)).unwrap();
    found.map(|stored| stored.row.operation_id)
}

fn settle(store: &dyn Store, id: &str) {
    store.step(id, &mut |loaded| Ok(Some(fixture::settled(&loaded.row)))).unwrap();
}

fn held(bench: &dyn Bench) {
    let store = plain(bench);
    let key = fixture::key("job-1");
    let opened = open(&*store, Some(&key), fixture::opening("op-2", "job-1"));
    assert_eq!(existing(opened.unwrap()), "op-1");
    assert_eq!(store.get("op-2").unwrap(), None);
    // Escalated still holds it.
    store
        .step("op-1", &mut |loaded| {
            Ok(Some(fixture::next(&loaded.row, |row| {
                row.phase = Phase::Escalated;
            })))
        })
        .unwrap();
    let opened = open(&*store, Some(&key), fixture::opening("op-2", "job-1"));
    assert_eq!(existing(opened.unwrap()), "op-1");
    let refused = store.open_operation(Some(&key), &mut |opening| {
        assert!(opening.existing.is_some());
        Err("other limits".into())
    });
    assert!(matches!(refused, Err(StoreError::Refused(_))));
}

fn ended(bench: &dyn Bench) {
    let store = plain(bench);
    let key = fixture::key("job-1");
    settle(&*store, "op-1");
    let opened = store.open_operation(Some(&key), &mut |opening| {
        assert_eq!(opening.at, START);
        let existing = opening.existing.as_ref().unwrap();
        assert_eq!(existing.row.phase, Phase::Settled);
        Ok(Open::UseExisting)
    });
    assert_eq!(existing(opened.unwrap()), "op-1");
    fixture::open(&*store, fixture::opening("op-2", "job-1"));
    assert_eq!(holder(&*store, "job-1"), Some("op-2".to_owned()));
    settle(&*store, "op-2");
    assert_eq!(holder(&*store, "job-1"), Some("op-2".to_owned()));
    assert_eq!(holder(&*store, "job-9"), None);
    let nothing = store.open_operation(Some(&fixture::key("job-9")), &mut |_| Ok(Open::UseExisting));
    assert!(matches!(nothing, Err(StoreError::NotFound(_))));
}

fn other_key(bench: &dyn Bench) {
    let store = plain(bench);
    for key in [None, Some(fixture::key("job-9"))] {
        let opened = open(&*store, key.as_ref(), fixture::opening("op-2", "job-1"));
        assert_eq!(existing(opened.unwrap()), "op-1");
    }
    assert_eq!(store.get("op-2").unwrap(), None);
}

fn apart(bench: &dyn Bench) {
    let store = plain(bench);
    let change: [fn(&mut Derived); 3] =
        [|row| row.namespace.push('x'), |row| row.contract_id.push('x'), |row| row.account.push('x')];
    for (n, change) in change.into_iter().enumerate() {
        let mut row = fixture::derived(&format!("op-x{n}"), "job-1");
        change(&mut row);
        let opened = open(&*store, None, fixture::stage(row)).unwrap();
        assert!(matches!(opened, Opened::Created(_)));
    }
    assert_eq!(holder(&*store, "job-1"), Some("op-1".to_owned()));
}

fn follow(store: &dyn Store, id: &str, job: &str) -> Saved {
    let outcome = store.step(id, &mut |loaded| {
        Ok(Some(fixture::next(&loaded.row, |row| {
            row.jobs.push(job.to_owned());
        })))
    });
    match outcome.unwrap() {
        Outcome::Saved(saved) => saved,
        other => panic!("{other:?}"),
    }
}

fn followed(bench: &dyn Bench) {
    let store = plain(bench);
    fixture::open(&*store, fixture::opening("op-2", "job-2"));
    assert_eq!(follow(&*store, "op-1", "job-3").contested, []);
    // Its own again is no conflict.
    assert_eq!(follow(&*store, "op-1", "job-1").contested, []);
    let key = fixture::key("job-3");
    let opened = open(&*store, Some(&key), fixture::opening("op-3", "job-3"));
    assert_eq!(existing(opened.unwrap()), "op-1");
    let contested = Contested { job: "job-3".to_owned(), holder: "op-1".to_owned() };
    assert_eq!(follow(&*store, "op-2", "job-3").contested, [contested]);
    assert_eq!(holder(&*store, "job-3"), Some("op-1".to_owned()));
    settle(&*store, "op-1");
    assert_eq!(holder(&*store, "job-3"), Some("op-2".to_owned()));
    let opened = open(&*store, None, fixture::opening("op-3", "job-3"));
    assert_eq!(existing(opened.unwrap()), "op-2");
    settle(&*store, "op-2");
    fixture::open(&*store, fixture::opening("op-3", "job-3"));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

fn adopts(bench: &dyn Bench) {
    let store = plain(bench);
    for id in ["op-2", "op-3"] {
        let mut row = fixture::derived(id, "");
        row.jobs.clear();
        row.phase = Phase::Escalated;
        row.next_at = None;
        fixture::open(&*store, fixture::stage(row));
    }
    let adopt = |job: &str| {
        store.step("op-2", &mut |loaded| {
            let mut staged = fixture::next(&loaded.row, |row| {
                row.jobs.push(job.to_owned());
                row.phase = Phase::Waiting;
            });
            staged.authority = true;
            Ok(Some(staged))
        })
    };
    assert!(matches!(
        adopt("job-1"),
        Err(StoreError::JobTaken { holder, .. }) if holder == "op-1"
    ));
    assert_eq!(store.get("op-2").unwrap().unwrap().row.revision, 1);
    assert!(is_saved(&adopt("job-2").unwrap()));
    assert_eq!(holder(&*store, "job-2"), Some("op-2".to_owned()));
}

fn opening_race(bench: &dyn Bench) {
    fixture::prepare(&*bench.store());
    let handles = [("op-1", bench.store()), ("op-2", bench.store())];
    let start = Barrier::new(handles.len());
    let created: usize = std::thread::scope(|scope| {
        let work = |(id, store): (&str, Box<dyn Store>)| {
            start.wait();
            let key = fixture::key("job-1");
            let opened = open(&*store, Some(&key), fixture::opening(id, "job-1")).unwrap();
            usize::from(matches!(opened, Opened::Created(_)))
        };
        let running = handles.map(|one| scope.spawn(move || work(one)));
        running.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(created, 1);
}

fn digests(bench: &dyn Bench) {
    let store = bench.store();
    let (contract, component) = (fixture::contract(), fixture::component());
    assert_eq!(store.contract(&contract.digest).unwrap(), None);
    assert_eq!(store.component(&component.digest).unwrap(), None);
    for _ in 0..2 {
        fixture::prepare(&*store);
    }
    assert_eq!(store.contract(&contract.digest).unwrap(), Some(contract.text.clone()));
    assert_eq!(store.component(&component.digest).unwrap(), Some(component.clone()));
    let mut other = contract;
    other.text.push(' ');
    assert!(matches!(store.put_contract(&other), Err(StoreError::Digest { .. })));
    let mut other = component;
    other.bytes.push(0);
    assert!(matches!(store.put_component(&other), Err(StoreError::Digest { .. })));
}

fn amends(bench: &dyn Bench) {
    let store = plain(bench);
    let text = "{\"amended\":true}".to_owned();
    let contract = ContractText { digest: bounds::sha256(text.as_bytes()), text };
    let amend = |brings: Option<ContractText>| {
        let digest = contract.digest.clone();
        move |loaded: &Loaded| {
            let mut staged = fixture::next(&loaded.row, |row| row.contract_digest.clone_from(&digest));
            staged.authority = true;
            staged.contract.clone_from(&brings);
            Ok(Some(staged))
        }
    };
    // One that nobody brought is refused by the store's own references.
    assert_eq!(bound(refused(&*store, &mut amend(None))), "constraint");
    store.step("op-1", &mut amend(Some(contract.clone()))).unwrap();
    store
        .step("op-1", &mut |loaded| {
            assert_eq!(*loaded.contract, *contract.text);
            Ok(None)
        })
        .unwrap();
}
