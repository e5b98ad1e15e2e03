//! What the component is: no imports, the exports that `wit/` names, the same bytes wherever it is built.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that goes wrong should stop at once"
)]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store};

#[path = "../host/build/nested.rs"]
mod nested;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn loaded() -> (Engine, Component) {
    let engine = Engine::default();
    let component = Component::new(&engine, sondeo::COMPONENT).unwrap();
    (engine, component)
}

#[test]
fn the_component_imports_nothing() {
    let (engine, component) = loaded();
    let imports: Vec<String> = component.component_type().imports(&engine).map(|(name, _)| name.to_owned()).collect();
    assert_eq!(imports, Vec::<String>::new());
}

#[test]
fn the_component_instantiates_in_an_empty_linker() {
    let (engine, component) = loaded();
    let mut store = Store::new(&engine, ());
    Linker::new(&engine).instantiate(&mut store, &component).unwrap();
}

#[test]
fn the_json_twin_answers_an_unknown_function_with_an_error() {
    let (engine, component) = loaded();
    let json = component.get_export_index(None, "sondeo:policy/json@0.1.0").unwrap();
    let call = component.get_export_index(Some(&json), "call").unwrap();
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &component).unwrap();
    let call = instance.get_typed_func::<(&str, &str), (Result<String, String>,)>(&mut store, call).unwrap();
    let (answer,) = call.call(&mut store, ("no such function", "{}")).unwrap();
    assert!(answer.is_err(), "{answer:?}");
}

/// An interface too few is a broken promise; one too many is one nobody wrote down.
#[test]
fn the_exports_are_those_of_the_world_in_wit() {
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(root().join("wit")).unwrap();
    let world = resolve.select_world(&[package], Some("core")).unwrap();
    let world = resolve.worlds.get(world).unwrap();
    assert!(world.imports.is_empty(), "the world imports {:?}", world.imports);
    let promised: BTreeSet<String> = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();

    let (engine, component) = loaded();
    let exported: BTreeSet<String> =
        component.component_type().exports(&engine).map(|(name, _)| name.to_owned()).collect();
    assert_eq!(exported, promised);
}

#[test]
fn the_digest_is_that_of_the_bytes() {
    assert_eq!(sondeo::COMPONENT_SHA256, hex::encode(Sha256::digest(sondeo::COMPONENT)));
}

/// Names of the packages in the normal dependency tree of `package` on `target`.
fn tree(package: &str, target: &str) -> BTreeSet<String> {
    let output = Command::new(cargo())
        .current_dir(root())
        .args(["tree", "--locked", "--package", package, "--target", target])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn nothing_under_the_component_knows_a_clock_a_socket_or_chance() {
    let tree = tree("sondeo-guest", nested::TARGET);
    assert!(tree.contains("serde_json"), "this is not the guest's tree: {tree:?}");
    for name in
        ["getrandom", "wasi", "js-sys", "wasm-bindgen", "tokio", "reqwest", "mio", "socket2", "instant", "web-time"]
    {
        assert!(!tree.contains(name), "the guest depends on `{name}`");
    }
}

/// The host runs the component; the crate behind it is for tests and benches only.
#[test]
fn the_host_does_not_link_the_guest() {
    let tree = tree("sondeo", "all");
    assert!(tree.contains("wasmtime"), "this is not the host's tree: {tree:?}");
    assert!(!tree.contains("sondeo-guest"));
}

/// Each package has its place; one that moves takes a responsibility with it.
#[test]
fn the_named_packages_are_direct_dependencies_where_they_belong() {
    let output = Command::new(cargo())
        .current_dir(root())
        .args(["metadata", "--locked", "--no-deps", "--format-version", "1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let direct: BTreeSet<(String, String, String)> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|package| {
            package["dependencies"].as_array().unwrap().iter().map(|dependency| {
                let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
                (
                    text(&package["name"]).unwrap(),
                    text(&dependency["name"]).unwrap(),
                    text(&dependency["kind"]).unwrap_or_else(|| "normal".to_owned()),
                )
            })
        })
        .collect();
    let places = [
        ("sondeo-guest", "normal", &["wit-bindgen", "serde", "serde_json", "rand_chacha", "chrono"][..]),
        ("sondeo", "normal", &["wasmtime", "tokio", "reqwest", "serde", "serde_json", "chrono", "anyhow"]),
        ("sondeo", "dev", &["criterion"]),
    ];
    for (package, kind, names) in places {
        for name in names {
            let place = (package.to_owned(), (*name).to_owned(), kind.to_owned());
            assert!(direct.contains(&place), "`{name}` is no {kind} dependency of `{package}`");
        }
    }
}

/// The digest stands in every log, so anyone with the sources must come to the same bytes, in any folder.
#[test]
fn two_clean_builds_in_two_folders_give_the_same_bytes() {
    let [first, second] = ["a", "another-folder"].map(|name| {
        let folder = tempfile::tempdir().unwrap();
        built_in(&folder.path().join(name))
    });
    assert_eq!(first, second);
    // A component given from outside may come from another toolchain.
    if option_env!("SONDEO_COMPONENT").is_none() {
        assert_eq!(first, sondeo::COMPONENT_SHA256);
    }
}

/// The digest of a component built from a copy of the sources in `folder`.
fn built_in(folder: &Path) -> String {
    for name in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "guest", "wit", "host", "benches", "tests/guests"] {
        copy(&root().join(name), &folder.join(name));
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let target_dir = folder.join("target");
    let output = nested::command(&cargo(), &rustc, folder, &target_dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    hex::encode(Sha256::digest(fs::read(nested::output(&target_dir)).unwrap()))
}

/// Copies a file, or a folder's manifests, Rust and WIT: all that cargo looks at.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    let entries = fs::read_dir(from).unwrap_or_else(|error| panic!("`{}`: {error}", from.display()));
    for entry in entries {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let wanted = path.extension().is_some_and(|ext| ["rs", "toml", "wit"].iter().any(|w| ext == *w));
        if wanted || (path.is_dir() && name != "node_modules" && name != "target") {
            copy(&path, &to.join(name));
        }
    }
}
