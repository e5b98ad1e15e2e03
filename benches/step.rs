//! What the component costs: to compile, and for each call as the host makes it, instances used again and fuel counted. Beside
//! them the same step through the JSON twin, and without a component at all.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that goes wrong should stop at once")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};
use sondeo::component::Component;
use sondeo::component::audit;
use sondeo::component::types::{Answer, AnsweredEvent, Body, Event, What};

#[path = "../tests/support/script.rs"]
mod script;

use script::{CONTRACT, Script};

/// A poll that is answered `running`: the record before, the answer, and the event that this becomes.
struct Poll {
    record: String,
    answer: Answer,
    event: Event,
    /// The step's input for the twin.
    input: String,
    /// The event for the crate behind the component.
    native: sondeo_guest::api::Event,
}

impl Poll {
    fn new(component: &Component) -> Poll {
        let mut script = Script::open(component);
        let at = script.next();
        script.lease(at).unwrap();
        let record = script.made.record.clone();
        let answer = Answer {
            status: 200,
            headers: vec![("content-type".into(), "application/json".into())],
            body: Body::Text(r#"{"job_id": "exp_71c", "state": "running"}"#.into()),
            incomplete: None,
            sent_at: at,
            received_at: at,
        };
        let observation = component.observe(CONTRACT, Some(&record), &answer).unwrap().observation;
        let observed: Value = serde_json::from_str(&observation).unwrap();
        let when = sondeo_guest::time::Instant::from_ms(at).unwrap().to_string();
        let native = json!({
            "at": when, "what": { "answered": { "attempt": 1, "fence": 1, "observation": observed } }
        });
        let input = json!({ "contract": CONTRACT, "record": record, "event": native }).to_string();
        let event = Event { at, what: What::Answered(AnsweredEvent { attempt: 1, fence: 1, observation }) };
        Poll { record, answer, event, input, native: serde_json::from_value(native).unwrap() }
    }
}

fn load(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load");
    group.sample_size(20).measurement_time(Duration::from_secs(10));
    group.bench_function("compile the component", |bencher| {
        bencher.iter(|| Component::load(black_box(sondeo::COMPONENT)).unwrap());
    });
    group.finish();
}

fn calls(criterion: &mut Criterion) {
    let component = Component::embedded().unwrap();
    let poll = Poll::new(&component);
    let Poll { record, answer, event, input, native } = &poll;
    let made = component.step(CONTRACT, record, event).unwrap();
    // All three ways decide alike, or there is nothing to compare.
    let twin: Value = serde_json::from_str(&component.json("step", input).unwrap().unwrap()).unwrap();
    assert_eq!(twin["record"].as_str(), Some(made.record.as_str()));
    let plain = sondeo_guest::machine::step(CONTRACT, record, native).unwrap();
    assert_eq!(plain.record, made.record);

    let mut group = criterion.benchmark_group("step of an answered poll");
    group.bench_function("typed, as the host calls it", |bencher| {
        bencher.iter(|| component.step(CONTRACT, black_box(record), event).unwrap());
    });
    group.bench_function("JSON twin", |bencher| {
        bencher.iter(|| component.json("step", black_box(input)).unwrap().unwrap());
    });
    group.bench_function("native, without a component", |bencher| {
        bencher.iter(|| sondeo_guest::machine::step(CONTRACT, black_box(record), native).unwrap());
    });
    group.finish();

    criterion.bench_function("observe", |bencher| {
        bencher.iter(|| component.observe(CONTRACT, Some(black_box(record)), answer).unwrap());
    });
    criterion.bench_function("check_contract", |bencher| {
        bencher.iter(|| component.check_contract(black_box(CONTRACT)).unwrap());
    });
}

/// What a fresh instance costs before its first call; the host uses its instances again.
fn instantiate(criterion: &mut Criterion) {
    let engine = wasmtime::Engine::new(wasmtime::Config::new().consume_fuel(true)).unwrap();
    let compiled = wasmtime::component::Component::new(&engine, sondeo::COMPONENT).unwrap();
    let linker = wasmtime::component::Linker::<()>::new(&engine);
    criterion.bench_function("a fresh instance", |bencher| {
        bencher.iter(|| {
            let mut store = wasmtime::Store::new(&engine, ());
            store.set_fuel(u64::MAX).unwrap();
            linker.instantiate(&mut store, black_box(&compiled)).unwrap()
        });
    });
}

/// A log that ends with its request budget: 25 entries, each checked in the chain and decided again.
fn audit(criterion: &mut Criterion) {
    let component = Component::embedded().unwrap();
    let mut script = Script::open(&component);
    while script.operation().next_at.is_some() {
        script.poll(200, &[], r#"{"job_id": "exp_71c", "state": "running"}"#).unwrap();
    }
    let log = audit::Log {
        entries: script.entries.clone(),
        contracts: vec![CONTRACT.to_owned()],
        start: None,
        current: Some(script.made.record.clone()),
        component: component.sha256().to_owned(),
    };
    assert_eq!(component.verify(&log).unwrap().verdict, audit::Verdict::Verified);
    let native = sondeo_guest::verify::Log {
        entries: log.entries.clone(),
        contracts: log.contracts.clone(),
        start: None,
        current: log.current.clone(),
        component: log.component.clone(),
    };
    let mut group = criterion.benchmark_group("verify and replay");
    group.throughput(Throughput::Elements(u64::try_from(log.entries.len()).unwrap()));
    group
        .bench_function("through the component", |bencher| bencher.iter(|| component.verify(black_box(&log)).unwrap()));
    group.bench_function("native, without a component", |bencher| {
        bencher.iter(|| sondeo_guest::verify::verify(black_box(&native)));
    });
    group.finish();
}

criterion_group!(benches, load, instantiate, calls, audit);
criterion_main!(benches);
