//! From bytes to something that can be called.

use sha2::{Digest, Sha256};
use wasmparser::{Parser, Payload};
use wasmtime::Engine;
use wasmtime::component::{Component as Compiled, Linker};

use super::Loaded;
use super::bindings::CorePre;
use super::engine::{Memory, engine};
use super::instance::Pool;

/// The interfaces that are called, without their version.
const INTERFACES: [&str; 4] =
    ["sondeo:policy/audit", "sondeo:policy/decide", "sondeo:policy/json", "sondeo:policy/types"];

/// The line of versions that this host speaks: `0.1` and what is compatible with it.
const VERSIONS: &str = "0.1.";

/// Why bytes are not a component that can decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// This machine can't run one at all.
    #[error("no component can run here: {0}")]
    Engine(String),
    /// Not a component, or one that this engine can't compile.
    #[error("not a WebAssembly component that can be compiled: {0}")]
    Unreadable(String),
    /// It asks for something, and there is nothing to give.
    #[error("the component asks for imports, and none are granted: `{}`: build it without them", .0.join("`, `"))]
    Imports(Vec<String>),
    /// Something is missing.
    #[error("the component does not export `{}` in version {VERSIONS}x: build it for the world `sondeo:policy/core`", .0.join("`, `"))]
    Exports(Vec<String>),
    /// The names are there, with other shapes behind them, or nothing that can be started.
    #[error("the component can't be used by this host: {0}")]
    Interface(String),
}

pub(super) fn load(bytes: &[u8]) -> Result<Loaded, LoadError> {
    let engine = engine().map_err(LoadError::Engine)?;
    let compiled = Compiled::new(engine, bytes).map_err(|error| LoadError::Unreadable(format!("{error:#}")))?;
    let exports = check_world(engine, &compiled)?;
    // Nothing is put into the linker: there is nothing to grant.
    let pre = Linker::<Memory>::new(engine)
        .instantiate_pre(&compiled)
        .and_then(CorePre::new)
        .map_err(|error| LoadError::Interface(format!("{error:#}")))?;
    let pool = Pool::new(pre).map_err(|error| LoadError::Interface(error.to_string()))?;
    Ok(Loaded {
        bytes: bytes.into(),
        sha256: sha256(bytes),
        core_sha256: core_module(bytes).map(sha256),
        exports,
        pool,
    })
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Refuses imports, and gives the exports' names in order.
fn check_world(engine: &Engine, compiled: &Compiled) -> Result<Vec<String>, LoadError> {
    let world = compiled.component_type();
    let imports: Vec<String> = world.imports(engine).map(|(name, _)| name.to_owned()).collect();
    if !imports.is_empty() {
        return Err(LoadError::Imports(imports));
    }
    let mut exports: Vec<String> = world.exports(engine).map(|(name, _)| name.to_owned()).collect();
    exports.sort();
    let offered = |interface: &str| {
        exports
            .iter()
            .filter_map(|export| export.split_once('@'))
            .any(|(name, version)| name == interface && version.starts_with(VERSIONS))
    };
    let missing: Vec<String> =
        INTERFACES.into_iter().filter(|interface| !offered(interface)).map(str::to_owned).collect();
    if missing.is_empty() { Ok(exports) } else { Err(LoadError::Exports(missing)) }
}

/// The one core module within a component; `None` where there are several.
pub(super) fn core_module(bytes: &[u8]) -> Option<&[u8]> {
    let mut found = None;
    for payload in Parser::new(0).parse_all(bytes) {
        if let Payload::ModuleSection { unchecked_range, .. } = payload.ok()? {
            if found.is_some() {
                return None;
            }
            found = Some(bytes.get(unchecked_range)?);
        }
    }
    found
}
