//! `contract check`, `try`, `list` and `show`.

mod list;

use serde_json::json;

use super::args::{ContractArgs, ContractVerb};
use super::{App, CliError, code, input, open, output};
use crate::component::types;

pub(super) fn contract(app: &App, args: ContractArgs) -> Result<u8, CliError> {
    match args.verb {
        ContractVerb::Check { contracts } => check(app, &contracts),
        ContractVerb::Try { contract, answer, job, parts, ctx, account } => {
            let component = app.component()?;
            let text = input::contract_text(&contract)?;
            let summary = open::summary(&component, &contract, &text)?;
            let now = crate::clock::Clock::now_ms(&crate::clock::SystemClock::new());
            let trial = types::Trial {
                contract: text,
                answer: input::response(&answer, now)?,
                job: input::job(&summary.id_parts, job.as_deref(), &parts)?,
                account,
                ctx: input::ctx(&ctx)?,
            };
            tried(app, &component.try_answer(&trial)?)
        }
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

fn tried(app: &App, tried: &types::Tried) -> Result<u8, CliError> {
    let by = match tried.rule {
        Some(rule) => format!("rule /decide/{rule}"),
        None => "no rule of the contract (the defaults, or a check before the rules)".to_owned(),
    };
    if app.common.json {
        let rejected: Vec<_> = tried.rejected.iter().map(|r| json!({"place": r.place, "why": r.why})).collect();
        let observation: serde_json::Value = serde_json::from_str(&tried.observation)?;
        output::json(
            &json!({"outcome": tried.outcome, "state": tried.state, "rule": tried.rule, "notes": tried.notes,
            "not_before": tried.not_before.map(input::at), "eta": tried.eta.map(input::at), "rejected": rejected,
            "observation": observation}),
        )?;
        return Ok(code::DONE);
    }
    output::line(&format!("outcome   {}", tried.outcome))?;
    output::line(&format!("by        {by}"))?;
    if let Some(state) = &tried.state {
        output::line(&format!("state     \u{201c}{}\u{201d} (the provider's word)", output::visible(state)))?;
    }
    for note in &tried.notes {
        output::line(&format!("note      {}", output::visible(note)))?;
    }
    if let Some(at) = tried.not_before {
        output::line(&format!("guidance  not before {}", input::at(at)))?;
    }
    if let Some(at) = tried.eta {
        output::line(&format!("guidance  expected to end at {}", input::at(at)))?;
    }
    for rejected in &tried.rejected {
        output::line(&format!("guidance  {} not used: {}", rejected.place, rejected.why))?;
    }
    Ok(code::DONE)
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
