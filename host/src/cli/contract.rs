//! `contract new`, `check`, `try`, `diff`, `list` and `show`.

pub(super) mod attempt;
pub(super) mod diff;
mod list;
pub(super) mod new;
mod place;

use serde_json::json;

use super::args::{ContractArgs, ContractVerb};
use super::{App, CliError, code, input, open, output};
use crate::component::types;

/// Runs one of its verbs.
pub(super) async fn contract(app: &App, args: ContractArgs) -> Result<u8, CliError> {
    match args.verb {
        ContractVerb::Check { contracts } => check(app, &contracts),
        ContractVerb::New(args) => new::new(app, *args),
        ContractVerb::Try(args) => attempt::attempt(app, &args).await,
        ContractVerb::Diff(args) => diff::diff(app, &args),
        ContractVerb::List => list::list(app),
        ContractVerb::Show { contract, schema } => show(app, contract.as_deref(), schema),
    }
}

fn check(app: &App, contracts: &[String]) -> Result<u8, CliError> {
    let component = app.component()?;
    let mut exit = code::DONE;
    let mut found = Vec::new();
    for name in contracts {
        let result = input::contract_text(name).and_then(|text| open::summary(&component, name, &text));
        match result {
            Ok(summary) => {
                if app.common.json {
                    found.push(
                        json!({"file": name, "id": summary.id, "digest": summary.digest, "samples": summary.samples,
                        "faults": [], "warnings": places(&summary.warnings)}),
                    );
                } else {
                    output::line(&format!(
                        "{name}: fine ({}, {} samples came out as stated, sha256 {})",
                        summary.id, summary.samples, summary.digest
                    ))?;
                    for warning in &summary.warnings {
                        output::line(&format!(
                            "  warning {}: {}",
                            crate::controller::pointer(&warning.pointer),
                            warning.message
                        ))?;
                    }
                }
            }
            Err(error) => {
                exit = code::USAGE;
                match (&error, app.common.json) {
                    (CliError::Contract { faults, .. }, true) => {
                        found.push(json!({"file": name, "faults": places(faults)}))
                    }
                    (other, true) => found.push(json!({"file": name, "error": other.to_string()})),
                    (other, false) => output::note(&other.to_string()),
                }
            }
        }
    }
    if app.common.json {
        output::json(&found)?;
    }
    Ok(exit)
}

fn places(faults: &[types::Fault]) -> Vec<serde_json::Value> {
    faults.iter().map(|fault| json!({"pointer": fault.pointer, "message": fault.message})).collect()
}

fn show(app: &App, contract: Option<&str>, schema: bool) -> Result<u8, CliError> {
    match (contract, schema) {
        (_, true) => output::line(input::SCHEMA.trim_end())?,
        (Some(name), false) => output::line(input::contract_text(name)?.trim_end())?,
        (None, false) if app.common.json => {
            output::json(&input::LIBRARY.iter().map(|(name, _)| *name).collect::<Vec<_>>())?;
        }
        (None, false) => {
            for (name, _) in input::LIBRARY {
                output::line(name)?;
            }
        }
    }
    Ok(code::DONE)
}
