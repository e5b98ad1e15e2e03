//! The one command that builds the component. The build script and the test of reproducibility both use it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target the component is built for.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Variables of the outer cargo that would change the inner build, or make both wait for one lock.
const REMOVED: [&str; 6] = ["CARGO", "RUST", "CLIPPY", "__CARGO", "DEP_", "LLVM_PROFILE"];
/// The same, by their whole name.
const REMOVED_NAMES: [&str; 7] = ["TARGET", "HOST", "PROFILE", "OPT_LEVEL", "DEBUG", "NUM_JOBS", "OUT_DIR"];
/// Exceptions: where packages come from, the job server, and which toolchain this is.
const KEPT: [&str; 7] =
    ["CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_", "RUSTUP_"];

/// The command that builds the component of the workspace in `root` under `target_dir`.
pub(crate) fn command(cargo: &OsStr, rustc: &OsStr, root: &Path, target_dir: &Path) -> Command {
    build(cargo, rustc, root, target_dir, "sondeo-guest")
}

/// The same for another package of the workspace.
///
/// Paths are mapped to fixed names, so that no later panic location can carry the folder into the bytes.
pub(crate) fn build(cargo: &OsStr, rustc: &OsStr, root: &Path, target_dir: &Path, package: &str) -> Command {
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_removed) {
            command.env_remove(name);
        }
    }
    command
        .current_dir(root)
        .env("RUSTC", rustc)
        .env("CARGO_ENCODED_RUSTFLAGS", remaps(rustc, root).join("\u{1f}"))
        .args(["rustc", "--package", package, "--lib", "--crate-type", "cdylib"])
        .args(["--profile", "component", "--locked", "--target", TARGET])
        .arg("--target-dir")
        .arg(target_dir);
    command
}

/// Where [`command`] leaves the component.
pub(crate) fn output(target_dir: &Path) -> PathBuf {
    target_dir.join(TARGET).join("component").join("sondeo_guest.wasm")
}

fn is_removed(name: &str) -> bool {
    let listed = REMOVED.iter().any(|prefix| name.starts_with(prefix)) || REMOVED_NAMES.contains(&name);
    listed && !KEPT.iter().any(|prefix| name.starts_with(prefix))
}

fn remaps(rustc: &OsStr, root: &Path) -> Vec<String> {
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    [(Some(root.to_owned()), "/sondeo"), (cargo_home, "/cargo"), (sysroot(rustc, root), "/rust")]
        .into_iter()
        .filter_map(|(from, to)| Some(format!("--remap-path-prefix={}={to}", from?.display())))
        .collect()
}

fn sysroot(rustc: &OsStr, root: &Path) -> Option<PathBuf> {
    print(rustc, root, &["--print", "sysroot"])
}

/// The folder of the target's own libraries, if the compiler can name it. It may not exist.
#[allow(dead_code, reason = "the build script asks; the test that shares this file does not")]
pub(crate) fn target_libdir(rustc: &OsStr, root: &Path) -> Option<PathBuf> {
    print(rustc, root, &["--print", "target-libdir", "--target", TARGET])
}

fn print(rustc: &OsStr, root: &Path, args: &[&str]) -> Option<PathBuf> {
    let output = Command::new(rustc).current_dir(root).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim()))
}
