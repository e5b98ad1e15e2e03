//! `contract diff`: which answers change meaning between two contracts, found by asking the component about both.

mod fields;
mod probes;

use clap::Args;
use serde_json::{Value, json};

use super::super::{App, CliError, code, input, open, output};
use crate::clock::{Clock, SystemClock};
use crate::component::{CallError, Component, types};
use fields::Change;
use probes::Probe;

/// Longest value that is shown to people.
const SHOWN_MAX: usize = 100;

/// Options of `contract diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The contract as it was: a file, or a name.
    before: String,
    /// The contract as it is now.
    after: String,
}

/// An answer that changes meaning.
struct Turned {
    label: String,
    was: String,
    is: String,
}

/// One of the two contracts.
struct Side {
    text: String,
    value: Value,
    id_parts: Vec<String>,
    ctx: Vec<String>,
}

/// Compares two contracts; they may differ, so the exit code is 0 either way.
pub(super) fn diff(app: &App, args: &DiffArgs) -> Result<u8, CliError> {
    let component = app.component()?;
    let before = side(&component, &args.before)?;
    let after = side(&component, &args.after)?;
    let probes = probes::probes(&before.value, &after.value);
    let at = SystemClock::new().now_ms();
    let mut turned = Vec::new();
    for probe in &probes {
        let (was, is) = (meaning(&component, &before, probe, at)?, meaning(&component, &after, probe, at)?);
        if was != is {
            turned.push(Turned { label: probe.label.clone(), was, is });
        }
    }
    let changes = fields::changes(&before.value, &after.value);
    let rewritten = fields::rules_differ(&before.value, &after.value);
    match app.common.json {
        true => output::json(&as_json(&turned, &changes, probes.len(), rewritten))?,
        false => as_words(&turned, &changes, probes.len(), rewritten)?,
    }
    Ok(code::DONE)
}

fn side(component: &Component, name: &str) -> Result<Side, CliError> {
    let text = input::contract_text(name)?;
    let summary = open::summary(component, name, &text)?;
    Ok(Side { value: serde_json::from_str(&text)?, text, id_parts: summary.id_parts, ctx: summary.ctx })
}

/// What an answer comes to, guidance included: two that are equal here are the same to a wait.
fn meaning(component: &Component, side: &Side, probe: &Probe, at: u64) -> Result<String, CliError> {
    let trial = types::Trial {
        contract: side.text.clone(),
        answer: probe.answer(at),
        job: probe.job(&side.id_parts),
        account: "default".to_owned(),
        ctx: probe.ctx.iter().filter(|(name, _)| side.ctx.contains(name)).cloned().collect(),
    };
    let tried = match component.try_answer(&trial) {
        Ok(tried) => tried,
        Err(CallError::Refused(refusal)) => return Ok(format!("refused ({})", refusal.message)),
        Err(error) => return Err(error.into()),
    };
    let mut text = tried.outcome;
    let from_now = |at_ms: u64| input::span(at_ms.saturating_sub(at));
    if let Some(not_before) = tried.not_before {
        text.push_str(&format!(", not before {} later", from_now(not_before)));
    }
    if let Some(eta) = tried.eta {
        text.push_str(&format!(", expected to end {} later", from_now(eta)));
    }
    Ok(text)
}

fn as_json(turned: &[Turned], changes: &[Change], tried: usize, rewritten: bool) -> Value {
    let answers: Vec<Value> =
        turned.iter().map(|turned| json!({"answer": turned.label, "was": turned.was, "is": turned.is})).collect();
    let fields: Vec<Value> =
        changes.iter().map(|change| json!({"pointer": change.pointer, "was": change.was, "is": change.is})).collect();
    json!({"same": turned.is_empty() && changes.is_empty(), "answers_tried": tried, "answers": answers,
        "fields": fields, "rules_rewritten": rewritten})
}

fn as_words(turned: &[Turned], changes: &[Change], tried: usize, rewritten: bool) -> Result<(), CliError> {
    if turned.is_empty() {
        output::line(&format!("none of {tried} answers that were tried changes meaning"))?;
        if rewritten {
            output::line("  (the rules are written differently, or look at what no sample holds)")?;
        }
    } else {
        output::line(&format!("{} of {tried} answers that were tried change meaning:", turned.len()))?;
    }
    for turned in turned {
        output::line(&format!("  {}: was {}, is {}", output::visible(&turned.label), turned.was, turned.is))?;
    }
    if changes.is_empty() {
        output::line("no other field differs")?;
        return Ok(());
    }
    output::line(&format!("{} other field(s) differ:", changes.len()))?;
    for change in changes {
        output::line(&format!(
            "  {}: {} -> {}",
            change.pointer,
            shown(change.was.as_ref()),
            shown(change.is.as_ref())
        ))?;
    }
    Ok(())
}

/// A value on one line, cut where it is long.
fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "(not given)".to_owned();
    };
    let text = output::visible(&value.to_string());
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    let cut: String = text.chars().take(SHOWN_MAX).collect();
    format!("{cut}\u{2026}")
}
