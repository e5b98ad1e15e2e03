//! The contract format as published: reader, whole-contract checks and JSON Schema agree on what is a contract, over a
//! folder of good ones (shaped after real APIs), a folder of bad ones with one fault each, and the library.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::Value;
use sondeo_guest::{
    api::Fault,
    contract::{check, parse},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The contracts of a folder, by name, in order.
fn contracts(folder: &str) -> Vec<(String, String)> {
    let folder = root().join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(".json") && !name.ends_with(".schema.json")
    };
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(&path).unwrap())
    };
    paths.into_iter().filter(wanted).map(read).collect()
}

fn schema_text() -> Value {
    let path = root().join("host/contracts/sondeo.contract-1.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn schema() -> Validator {
    jsonschema::draft202012::new(&schema_text()).unwrap()
}

fn faults(text: &str) -> Vec<Fault> {
    check::read(text).err().unwrap_or_default()
}

fn told(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect()
}

/// What `NAME.expect` beside a bad contract says.
struct Expected {
    /// Pointer, and a part of the message.
    faults: Vec<(String, String)>,
    /// Why the schema lets it pass.
    schema_cannot: Option<String>,
}

fn expected(name: &str) -> Expected {
    let path = root().join(format!("tests/contracts/bad/{name}.expect"));
    let mut expected = Expected { faults: Vec::new(), schema_cannot: None };
    for line in fs::read_to_string(&path).unwrap_or_else(|_| panic!("{path:?} is missing")).lines() {
        match line.strip_prefix("schema: cannot express: ") {
            Some(why) => expected.schema_cannot = Some(why.to_owned()),
            None => {
                let (pointer, message) = line.split_once(": ").expect(line);
                expected.faults.push((pointer.to_owned(), message.to_owned()));
            }
        }
    }
    expected
}

#[test]
fn the_schema_is_valid_itself() {
    assert!(jsonschema::meta::is_valid(&schema_text()));
}

#[test]
fn good_contracts_and_the_library_pass_reader_checks_and_schema() {
    let schema = schema();
    let all = [contracts("tests/contracts/good"), contracts("host/contracts")].concat();
    assert!(all.len() >= 12);
    for (name, text) in all {
        assert_eq!(told(&faults(&text)), Vec::<String>::new(), "{name}");
        let value: Value = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> =
            schema.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn library_contracts_are_worth_no_warning() {
    for (name, text) in contracts("host/contracts") {
        let contract = parse::parse(&text).unwrap();
        assert_eq!(told(&check::warnings(&contract)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn bad_contracts_have_exactly_their_fault_at_its_pointer() {
    let all = contracts("tests/contracts/bad");
    assert!(all.len() >= 60, "{}", all.len());
    let mut wrong = Vec::new();
    for (name, text) in all {
        let (found, expected) = (faults(&text), expected(&name));
        let same = |fault: &Fault, (pointer, message): &(String, String)| {
            fault.pointer == *pointer && fault.message.contains(message.as_str())
        };
        let fits = found.len() == expected.faults.len()
            && found.iter().zip(&expected.faults).all(|(fault, wanted)| same(fault, wanted));
        if !fits {
            wrong.push(format!("{name}\n   found {:#?}\n   wanted {:?}", told(&found), expected.faults));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bad_contracts_fail_the_schema_where_a_schema_can_say_it() {
    let schema = schema();
    let mut wrong = Vec::new();
    for (name, text) in contracts("tests/contracts/bad") {
        let passes = serde_json::from_str(&text).is_ok_and(|value: Value| schema.is_valid(&value));
        let cannot = expected(&name).schema_cannot;
        if passes != cannot.is_some() {
            wrong.push(format!("{name}: passes: {passes}, expected to: {cannot:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_cut_or_changed_byte_does_more_than_make_faults() {
    for (name, text) in contracts("tests/contracts/good") {
        let text = text.trim_end();
        let places = (0..text.len()).step_by(17).filter(|at| text.is_char_boundary(*at));
        for at in places {
            let (before, after) = text.split_at(at);
            assert!(parse::parse(before).is_err(), "{name} cut at {at}");
            for put in ["\u{0}", "\"", "{", "~", "9"] {
                let rest: String = after.chars().skip(1).collect();
                drop(faults(&format!("{before}{put}{rest}")));
            }
        }
    }
}

/// The names of every `properties` of the schema, and of every object of a contract.
fn names(value: &Value, schema: bool, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if schema && name == "properties" {
                    into.extend(value.as_object().unwrap().keys().cloned());
                } else if !schema {
                    into.insert(name.clone());
                }
                names(value, schema, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, schema, into)),
        _ => {}
    }
}

#[test]
fn every_field_of_the_schema_stands_in_some_good_contract_and_is_read() {
    let (mut published, mut used) = (BTreeSet::new(), BTreeSet::new());
    names(&schema_text(), true, &mut published);
    for (_, text) in contracts("tests/contracts/good") {
        names(&serde_json::from_str(&text).unwrap(), false, &mut used);
    }
    let unused: Vec<&String> = published.difference(&used).collect();
    assert!(unused.is_empty(), "{unused:?}");
}
