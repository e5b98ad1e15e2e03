//! What goes out: lines for people on standard output, one JSON value for programs, errors on standard error.

use std::io::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::CliError;
use crate::component::{Component, types};
use crate::controller::{ControlError, ResultValue, asks, ending_word};

/// One line; a closed pipe ends the program quietly.
pub(crate) fn line(text: &str) -> Result<(), CliError> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// One line for the operator, beside the output proper.
pub(crate) fn note(text: &str) {
    // Standard error that is closed must not end a wait.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// One JSON value, on one line.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), CliError> {
    line(&serde_json::to_string(value)?)
}

/// An error: words for people, or JSON with the faults.
pub(crate) fn error(error: &CliError, as_json: bool) {
    if !as_json {
        note(&format!("sondeo: {error}"));
        return;
    }
    let faults = match error {
        CliError::Contract { faults, .. } => faults.as_slice(),
        CliError::Control(ControlError::Refused(refusal)) => refusal.faults.as_slice(),
        _ => &[],
    };
    let faults: Vec<Value> =
        faults.iter().map(|fault| json!({"pointer": fault.pointer, "message": fault.message})).collect();
    note(&json!({"error": error.to_string(), "faults": faults, "exit_code": error.code()}).to_string());
}

/// A call of the JSON twin, as a value.
pub(crate) fn twin(component: &Component, function: &str, input: &Value) -> Result<Value, CliError> {
    match component.json(function, &input.to_string())? {
        Ok(text) | Err(text) => Ok(serde_json::from_str(&text)?),
    }
}

/// The exit code of an operation as it stands.
pub(crate) fn exit_code(operation: &types::Operation, marked: bool) -> u8 {
    use super::code;
    match &operation.phase {
        types::Phase::Settled(settlement) => match settlement.ending {
            types::Ending::Succeeded | types::Ending::Accepted => code::DONE,
            types::Ending::Closed => code::ENDED,
        },
        types::Phase::Escalated(reason) if asks(*reason) => code::ASKS,
        types::Phase::Escalated(_) => code::ENDED,
        _ if marked => code::ASKS,
        _ => code::WAITING,
    }
}

/// A settled result for people.
pub(crate) fn results(operation: &types::Operation, results: &[ResultValue]) -> Result<(), CliError> {
    let types::Phase::Settled(settlement) = &operation.phase else {
        return Ok(());
    };
    line(&format!("settled: {}", ending_word(settlement.ending)))?;
    for result in results {
        match (&result.value, &result.why) {
            (Some(value), _) => line(&format!("result {}: {}", result.name, visible(value)))?,
            (None, why) => line(&format!(
                "result {}: sha256 {} ({})",
                result.name,
                result.sha256,
                why.as_deref().unwrap_or("no value")
            ))?,
        }
    }
    if !settlement.actions.is_empty() {
        line(&format!("permits: {}", settlement.actions.join(", ")))?;
    }
    Ok(())
}

/// Provider text on a terminal: whatever could move the cursor or reorder what is read is shown escaped.
pub(crate) fn visible(text: &str) -> String {
    let risky = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}')
    };
    text.chars().map(|c| if risky(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

/// The same for programs.
pub(crate) fn results_json(results: &[ResultValue]) -> Vec<Value> {
    results
        .iter()
        .map(|result| json!({"name": result.name, "sha256": result.sha256, "value": result.value, "why": result.why}))
        .collect()
}
