//! What one call of the component costs: in a fresh instance, as the host makes it, and in one kept alive.
#![allow(
    clippy::unwrap_used,
    reason = "a bench that goes wrong should stop at once"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use wasmtime::component::{
    Component, ComponentExportIndex, Instance, InstancePre, Linker, TypedFunc,
};
use wasmtime::{Config, Engine, Store};

type Call = TypedFunc<(&'static str, &'static str), (Result<String, String>,)>;

struct Loaded {
    engine: Engine,
    pre: InstancePre<()>,
    call: ComponentExportIndex,
}

impl Loaded {
    fn new() -> Self {
        let mut config = Config::new();
        config
            .consume_fuel(true)
            .cranelift_nan_canonicalization(true);
        let engine = Engine::new(&config).unwrap();
        let component = Component::new(&engine, sondeo::COMPONENT).unwrap();
        let json = component
            .get_export_index(None, "sondeo:policy/json@0.1.0")
            .unwrap();
        let call = component.get_export_index(Some(&json), "call").unwrap();
        let pre = Linker::new(&engine).instantiate_pre(&component).unwrap();
        Self { engine, pre, call }
    }

    fn instantiate(&self) -> (Store<()>, Call) {
        let mut store = Store::new(&self.engine, ());
        store.set_fuel(500_000_000).unwrap();
        let instance: Instance = self.pre.instantiate(&mut store).unwrap();
        let call = instance.get_typed_func(&mut store, self.call).unwrap();
        (store, call)
    }
}

fn bench(criterion: &mut Criterion) {
    let loaded = Loaded::new();
    criterion.bench_function("json call, fresh instance", |bencher| {
        bencher.iter(|| {
            let (mut store, call) = loaded.instantiate();
            black_box(call.call(&mut store, ("about", "{}")).unwrap())
        });
    });
    let (mut store, call) = loaded.instantiate();
    criterion.bench_function("json call, same instance", |bencher| {
        bencher.iter(|| {
            store.set_fuel(500_000_000).unwrap();
            black_box(call.call(&mut store, ("about", "{}")).unwrap())
        });
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
