//! The component against `wit/`, and the host's calls against the component.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use sondeo::component::types::{Action, RefusalKind, What};
use sondeo::component::{CallError, Component, LoadError, audit, describe};
use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{Function, InterfaceId, Resolve, Type, TypeDefKind, WorldId};

#[path = "support/script.rs"]
mod script;

use script::{CONTRACT, START, Script, body};

fn embedded() -> Component {
    Component::embedded().unwrap()
}

/// The shape behind a name: aliases are followed, and named types stand as their name.
fn shape(resolve: &Resolve, ty: &Type) -> String {
    let Type::Id(id) = ty else {
        return format!("{ty:?}").to_lowercase();
    };
    let def = &resolve.types[*id];
    if let TypeDefKind::Type(inner) = &def.kind {
        return shape(resolve, inner);
    }
    match &def.name {
        Some(name) => name.clone(),
        None => definition(resolve, &def.kind),
    }
}

fn optional(resolve: &Resolve, ty: Option<&Type>) -> String {
    ty.map_or_else(|| "_".into(), |ty| shape(resolve, ty))
}

fn definition(resolve: &Resolve, kind: &TypeDefKind) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter().map(|f| format!("{}: {}", f.name, shape(resolve, &f.ty)));
            format!("record {{{}}}", list(fields.collect()))
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter().map(|c| format!("{}({})", c.name, optional(resolve, c.ty.as_ref())));
            format!("variant {{{}}}", list(cases.collect()))
        }
        TypeDefKind::Enum(words) => {
            format!("enum {{{}}}", list(words.cases.iter().map(|c| c.name.clone()).collect()))
        }
        TypeDefKind::Tuple(tuple) => {
            format!("tuple<{}>", list(tuple.types.iter().map(|ty| shape(resolve, ty)).collect()))
        }
        TypeDefKind::Option(ty) => format!("option<{}>", shape(resolve, ty)),
        TypeDefKind::List(ty) => format!("list<{}>", shape(resolve, ty)),
        TypeDefKind::Result(result) => {
            format!("result<{}, {}>", optional(resolve, result.ok.as_ref()), optional(resolve, result.err.as_ref()))
        }
        TypeDefKind::Type(ty) => shape(resolve, ty),
        other => panic!("the interface has no {}", other.as_str()),
    }
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let params: Vec<String> =
        function.params.iter().map(|p| format!("{}: {}", p.name, shape(resolve, &p.ty))).collect();
    format!("func({}) -> {}", params.join(", "), optional(resolve, function.result.as_ref()))
}

/// Every type and function of an interface, by name. A `use` of another interface's type is no type of its own.
fn members(resolve: &Resolve, id: InterfaceId) -> BTreeMap<String, String> {
    let interface = &resolve.interfaces[id];
    let types = interface.types.iter().filter_map(|(name, id)| {
        let kind = &resolve.types[*id].kind;
        let used = matches!(kind, TypeDefKind::Type(Type::Id(_)));
        (!used).then(|| (name.clone(), definition(resolve, kind)))
    });
    let functions = interface.functions.iter().map(|(name, f)| (name.clone(), signature(resolve, f)));
    types.chain(functions).collect()
}

fn exports(resolve: &Resolve, world: WorldId) -> BTreeMap<String, BTreeMap<String, String>> {
    let world = &resolve.worlds[world];
    assert!(world.imports.is_empty(), "imports: {:?}", world.imports.keys());
    let interfaces = world.exports.iter().map(|(key, item)| match item {
        wit_parser::WorldItem::Interface { id, .. } => (resolve.name_world_key(key), members(resolve, *id)),
        other => panic!("{other:?} is exported beside the interfaces"),
    });
    interfaces.collect()
}

/// A name or a type that `wit/` does not have was never promised, and one that is missing is a broken promise.
#[test]
fn the_interfaces_are_those_of_wit_name_by_name() {
    let mut promised = Resolve::default();
    let (package, _) = promised.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("wit")).unwrap();
    let world = promised.select_world(&[package], Some("core")).unwrap();
    let promised = exports(&promised, world);

    let DecodedWasm::Component(resolve, world) = decode(sondeo::COMPONENT).unwrap() else {
        panic!("no component");
    };
    let found = exports(&resolve, world);
    for (interface, members) in &promised {
        for (name, shape) in members {
            assert_eq!(found[interface].get(name), Some(shape), "{interface} {name}");
        }
    }
    assert_eq!(found, promised);
    assert!(promised["sondeo:policy/decide@0.1.0"].contains_key("step"));
}

/// DESIGN: resources, bytes and floats close the door for hosts that can only drive the core module.
#[test]
fn no_resource_float_or_byte_list_crosses() {
    let DecodedWasm::Component(resolve, world) = decode(sondeo::COMPONENT).unwrap() else {
        panic!("no component");
    };
    for (interface, members) in exports(&resolve, world) {
        for (name, shape) in members {
            for banned in ["f32", "f64", "list<u8>", "resource", "own<", "borrow<"] {
                assert!(!shape.contains(banned), "{interface} {name}: {shape}");
            }
        }
    }
}

#[test]
fn a_component_is_described_by_its_bytes_and_its_own_word() {
    let description = describe(&embedded()).unwrap();
    assert_eq!(description.component_sha256, embedded().sha256());
    assert_eq!(description.formats.record, "sondeo.record/1");
    assert_eq!(description.imports, Vec::<String>::new());
    assert_eq!(description.exports.len(), 4);
    let core = description.core_sha256.unwrap();
    assert!(core.len() == 64 && core != description.component_sha256, "{core}");
    let json = serde_json::to_value(describe(&embedded()).unwrap()).unwrap();
    assert_eq!(json["formats"]["entry"], "sondeo.entry/1");
}

/// The smallest component that imports something: one function, `x`.
const IMPORTING: &[u8] = b"\0asm\x0d\0\x01\0\x07\x05\x01\x40\0\x01\0\x0a\x06\x01\0\x01x\x01\0";

#[test]
fn a_component_that_asks_for_something_is_refused_by_name() {
    let Err(LoadError::Imports(names)) = Component::load(IMPORTING) else {
        panic!("{:?}", Component::load(IMPORTING));
    };
    assert_eq!(names, ["x"]);
    let message = Component::load(IMPORTING).unwrap_err().to_string();
    assert!(message.contains("none are granted: `x`"), "{message}");
}

fn replaced(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = sondeo::COMPONENT.to_vec();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "`{from}` is nowhere in the component");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[test]
fn what_is_no_component_for_this_host_is_refused_with_the_reason() {
    assert!(matches!(Component::load(b"not wasm"), Err(LoadError::Unreadable(_))));
    let Err(LoadError::Exports(missing)) = Component::load(b"\0asm\x0d\0\x01\0") else {
        panic!("an empty component was loaded");
    };
    assert_eq!(missing.len(), 4);
    let Err(LoadError::Exports(missing)) = Component::load(&replaced("@0.1.0", "@0.2.0")) else {
        panic!("another line of versions was loaded");
    };
    assert!(missing.contains(&"sondeo:policy/decide".to_owned()));
    let other = Component::load(&replaced("secret-url-sha256", "secret-uri-sha256"));
    let Err(LoadError::Interface(why)) = other else {
        panic!("another shape was loaded");
    };
    assert!(why.contains("secret-url-sha256"), "{why}");
}

#[test]
fn a_later_patch_of_the_interface_is_as_good() {
    let later = Component::load(&replaced("@0.1.0", "@0.1.7")).unwrap();
    let about = later.about().unwrap();
    assert_eq!(about, embedded().about().unwrap());
    assert!(later.exports().iter().all(|name| name.ends_with("@0.1.7")), "{:?}", later.exports());
}

fn twin(function: &str, input: &Value) -> Value {
    let text = embedded().json(function, &input.to_string()).unwrap().unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Both doors of the component itself, as it will run.
#[test]
fn typed_and_twin_make_the_same_bytes_in_the_component() {
    let component = embedded();
    let mut script = Script::open(&component);
    let opening = json!({
        "operation_id": "report-export-2025-04-18-01", "namespace": "default", "component": component.sha256(),
        "account": "default", "job": {"id": "exp_71c"}, "opened_by": "cli", "lease_ms": script::LEASE_MS,
        "seed": "07".repeat(32),
    });
    let opened = twin("open", &json!({"contract": CONTRACT, "opening": opening, "at": "2025-04-18T10:00:00.000Z"}));
    assert_eq!(opened["record"], script.made.record.as_str());
    assert_eq!(opened["entry"], json!(script.made.entry));

    script.lease(script.next()).unwrap();
    let record = script.made.record.clone();
    script.answer(script.operation().last_seen_at.unwrap_or(START) + 9_000, 200, &[], &body("succeeded")).unwrap();
    assert!(matches!(script.made.action, Action::Settle(_)), "{:?}", script.made.action);
    assert_eq!(script.broken, Vec::<String>::new());
    let entry: Value = serde_json::from_str(script.made.entry.as_deref().unwrap()).unwrap();
    let stepped = twin("step", &json!({"contract": CONTRACT, "record": record, "event": entry["event"]}));
    assert_eq!(stepped["record"], script.made.record.as_str());
    assert_eq!(stepped["entry"], json!(script.made.entry));
    assert_eq!(stepped["sentence"], json!(script.made.sentence));
}

#[test]
fn a_refusal_is_no_fault() {
    let component = embedded();
    let CallError::Refused(refusal) = component.check_contract("{}").unwrap_err() else {
        panic!("an empty contract is a fault of the component");
    };
    assert_eq!(refusal.kind, RefusalKind::InvalidContract);
    assert!(refusal.faults.iter().all(|fault| !fault.message.is_empty()), "{refusal:?}");
    assert!(component.check_contract(CONTRACT).unwrap().samples == 0);
    let CallError::Refused(refusal) = component.read("{}").unwrap_err() else {
        panic!("an empty record is a fault of the component");
    };
    assert_eq!(refusal.kind, RefusalKind::InvalidRecord);
    assert!(component.json("nothing", "{}").unwrap().is_err());
}

/// Instances are used again, past the number of calls after which they are replaced, and no call feels the ones before it.
#[test]
fn the_same_call_gives_the_same_bytes_however_often_it_is_made() {
    let component = embedded();
    let first = Script::open(&component).made;
    for _ in 0..500 {
        assert_eq!(Script::open(&component).made, first);
    }
    for _ in 0..10_000 {
        component.about().unwrap();
    }
    assert_eq!(Script::open(&component).made, first);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let component = component.clone();
            std::thread::spawn(move || Script::open(&component).made)
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), first);
    }
}

/// D48: a log longer than an instance could hold at once is verified in parts, to the same verdict.
#[test]
fn a_long_log_is_verified_in_parts() {
    let component = embedded();
    let mut script = Script::open(&component);
    let first = script.next();
    let mut bytes = 0;
    while bytes < (5 << 20) {
        let n = script.entries.len() as u64;
        script.step(START + n, What::Paced(first + n * 10)).unwrap();
        bytes += script.entries.last().unwrap().len();
    }
    assert_eq!(script.broken, Vec::<String>::new());
    let mut log = audit::Log {
        entries: script.entries.clone(),
        contracts: vec![CONTRACT.into()],
        start: None,
        current: Some(script.made.record.clone()),
        component: component.sha256().into(),
    };
    let report = component.verify(&log).unwrap();
    assert_eq!(report.verdict, audit::Verdict::Verified, "{:?}", report.why);
    assert_eq!(report.checked, log.entries.len() as u64);
    assert_eq!(report.sentences.len(), log.entries.len());
    assert_eq!(report.record, log.current);

    let late = log.entries.len() - 3;
    log.entries.remove(late);
    let report = component.verify(&log).unwrap();
    assert_eq!(report.verdict, audit::Verdict::Broken);
    assert_eq!(report.entry, Some(late as u64 + 1));
}
