//! A decision that was made before under the same id: what the command leaves open is as it was then (D38), so that a script
//! may run it again without knowing whether it came through.

use serde::Deserialize;
use serde_json::Value;

use crate::cli::{CliError, input};
use crate::component::types;
use crate::controller::Controller;

/// Entries read at once.
const PAGE: u32 = 500;

/// What was decided, as the log has it.
#[derive(Debug)]
pub(super) struct Earlier {
    /// The revision that was seen.
    pub(super) revision: u64,
    /// What a hold was until.
    pub(super) until: Option<u64>,
    /// What it granted.
    pub(super) extension: Option<types::Extension>,
}

#[derive(Deserialize)]
struct Logged {
    id: String,
    revision: u64,
    what: Value,
}

#[derive(Deserialize)]
struct Granted {
    time_ms: u64,
    requests: u32,
    failures: u32,
    throttles: u32,
    useful_until: Option<String>,
}

/// The decision with this id in an operation's log, if there is one.
pub(super) fn find(controller: &Controller, id: &str, decision: &str) -> Result<Option<Earlier>, CliError> {
    let mut from = 1;
    loop {
        let page = controller.store().entries(id, from, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        from = last.seq.saturating_add(1);
        for entry in &page {
            let found = logged(&entry.text).filter(|logged| logged.id == decision);
            if let Some(found) = found {
                return earlier(found).map(Some);
            }
        }
    }
}

fn logged(entry: &str) -> Option<Logged> {
    let mut entry: Value = serde_json::from_str(entry).ok()?;
    let decision = entry.pointer_mut("/event/what/decided/decision")?.take();
    serde_json::from_value(decision).ok()
}

fn earlier(logged: Logged) -> Result<Earlier, CliError> {
    // `{"extend": {"extension": ...}}`: the one key is the option.
    let inner = logged.what.as_object().and_then(|what| what.values().next());
    let until = inner.and_then(|inner| inner.get("until")).and_then(Value::as_str);
    let granted = inner.and_then(|inner| inner.get("extension")).filter(|value| !value.is_null());
    Ok(Earlier {
        revision: logged.revision,
        until: until.map(|text| input::time("hold", text)).transpose()?,
        extension: granted.map(granted_amounts).transpose()?,
    })
}

fn granted_amounts(value: &Value) -> Result<types::Extension, CliError> {
    let granted = Granted::deserialize(value)?;
    let useful_until = granted.useful_until.map(|text| input::time("--useful-until", &text)).transpose()?;
    Ok(types::Extension {
        time_ms: granted.time_ms,
        requests: granted.requests,
        failures: granted.failures,
        throttles: granted.throttles,
        useful_until,
    })
}
