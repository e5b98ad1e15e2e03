//! What can be said about a component, for `sondeo component`.

use serde::Serialize;

use super::{CallError, Component};

/// A component in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Description {
    /// SHA-256 of its bytes, lower-case hex.
    pub component_sha256: String,
    /// SHA-256 of the core module within; `None` where there are several.
    pub core_sha256: Option<String>,
    /// Its own version.
    pub version: String,
    /// The formats that it reads and writes.
    pub formats: Formats,
    /// What it asks for: nothing, or it would not have been loaded.
    pub imports: Vec<String>,
    /// The interfaces that it offers.
    pub exports: Vec<String>,
}

/// Formats, each with its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Formats {
    /// Of contracts.
    pub contract: String,
    /// Of records.
    pub record: String,
    /// Of entries.
    pub entry: String,
    /// Of observations.
    pub observation: String,
}

/// Describes a component, by what it says of itself and by its bytes.
///
/// # Errors
/// Where it fails to say.
pub fn describe(component: &Component) -> Result<Description, CallError> {
    let build = component.about()?;
    Ok(Description {
        component_sha256: component.sha256().to_owned(),
        core_sha256: component.core_sha256().map(str::to_owned),
        version: build.version,
        formats: Formats {
            contract: build.contract_format,
            record: build.record_format,
            entry: build.entry_format,
            observation: build.observation_format,
        },
        imports: Vec::new(),
        exports: component.exports().to_vec(),
    })
}
