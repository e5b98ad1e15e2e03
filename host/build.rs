//! Builds the policy component with a nested cargo and embeds it, with its digest.
//!
//! `SONDEO_COMPONENT=/path/file.wasm` embeds that file instead; the wasm target is not needed then.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sha2::{Digest, Sha256};

#[path = "build/nested.rs"]
mod nested;

/// What the component is made from, below the workspace's root.
const SOURCES: [&str; 8] = [
    "guest/src",
    "guest/Cargo.toml",
    "wit",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "host/build.rs",
    "host/build",
];

fn main() -> ExitCode {
    match embed() {
        Ok(()) => ExitCode::SUCCESS,
        Err(lines) => {
            for line in lines.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn embed() -> Result<(), String> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out_dir = PathBuf::from(variable("OUT_DIR")?);
    println!("cargo::rerun-if-env-changed=SONDEO_COMPONENT");
    let component = match env::var_os("SONDEO_COMPONENT") {
        Some(given) => {
            let given = PathBuf::from(given);
            println!("cargo::rerun-if-changed={}", given.display());
            given
        }
        None => build(&root, &out_dir)?,
    };
    let bytes = fs::read(&component)
        .map_err(|error| format!("the component `{}` can't be read: {error}", component.display()))?;
    write_if_changed(&out_dir.join("sondeo.component.wasm"), &bytes)?;
    println!("cargo::rustc-env=SONDEO_COMPONENT_SHA256={}", hex(&Sha256::digest(&bytes)));
    Ok(())
}

fn build(root: &Path, out_dir: &Path) -> Result<PathBuf, String> {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    let cargo = variable("CARGO")?;
    let rustc = variable("RUSTC")?;
    require_target(&rustc, root)?;
    // <target>/<profile>/build/sondeo-<hash>/out: one folder beside the profiles serves them all. It is not
    // the outer target folder itself, whose lock the outer cargo holds.
    let target_dir = out_dir
        .ancestors()
        .nth(4)
        .ok_or_else(|| format!("`{}` is not a folder that cargo made", out_dir.display()))?
        .join("guest");
    let status = nested::command(&cargo, &rustc, root, &target_dir)
        .status()
        .map_err(|error| format!("cargo can't be started for the component: {error}"))?;
    if !status.success() {
        return Err(format!("the policy component was not built ({status}); cargo's reason is above"));
    }
    Ok(nested::output(&target_dir))
}

/// Makes sure that the wasm target is there. Without it the user would only read that `core` is missing.
fn require_target(rustc: &OsString, root: &Path) -> Result<(), String> {
    let installed = || nested::target_libdir(rustc, root).is_some_and(|folder| folder.is_dir());
    if installed() {
        return Ok(());
    }
    // A machine without rustup, or without network, is told below what to do.
    let _ = Command::new("rustup").current_dir(root).args(["target", "add", nested::TARGET]).output();
    if installed() {
        return Ok(());
    }
    let target = nested::TARGET;
    Err(format!(
        "the Rust target {target} is not installed, and the policy component is built for it: run \
         `rustup target add {target}`, or point SONDEO_COMPONENT at a component built elsewhere"
    ))
}

/// Leaves the file's time alone when nothing changed, so that nothing is compiled again.
fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|error| format!("`{}` can't be written: {error}", path.display()))
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name).ok_or_else(|| format!("cargo did not set {name}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
