//! What came of the demo: each story, what could be decided, the witness against the charges, the logs.

use std::path::Path;

use serde_json::{Value, json};

use super::super::{CliError, output, show, watch};
use super::quoted;
use crate::controller::Controller;
use crate::demo::Waited;
use crate::demo::provider::Provider;

/// Options that every reason that asks offers: named together.
const ALWAYS: [&str; 3] = ["inspect", "hold", "close"];

/// For people.
pub(super) fn text(controller: &Controller, all: &[Waited], seed: u64, kept: Option<&Path>) -> Result<(), CliError> {
    for waited in all {
        story(controller, waited)?;
    }
    output::line("")?;
    output::line(&table(all))?;
    output::line("")?;
    let count = |test: fn(&Waited) -> bool| all.iter().filter(|waited| test(waited)).count();
    let sum = |number: fn(&Waited) -> u32| all.iter().map(|waited| u64::from(number(waited))).sum::<u64>();
    output::line(&format!(
        "{} of {} waits ended as scripted; {} requests charged, {} counted by the provider, {} job(s) over their charges; \
         {} of {} logs verified (seed {seed})",
        count(Waited::as_scripted),
        all.len(),
        sum(|waited| waited.operation.requests.used),
        sum(|waited| waited.counted),
        count(|waited| !waited.paid()),
        count(|waited| waited.finding.is_fine()),
        all.len()
    ))?;
    match kept {
        Some(store) => output::line(&format!("kept: sondeo --store {} list", quoted(store))),
        None => Ok(()),
    }
}

fn story(controller: &Controller, waited: &Waited) -> Result<(), CliError> {
    let story = &waited.story;
    output::line("")?;
    output::line(&format!("{}: {} ({})", story.job, story.does, story.script))?;
    for sentence in waited.finding.sentences.iter().filter(|sentence| !watch::is_charge(sentence)) {
        output::line(&format!("  {sentence}"))?;
    }
    if !waited.as_scripted() {
        output::line(&format!("  NOT AS SCRIPTED: {} was to come, {} came", story.ends, waited.ended))?;
    }
    for why in &waited.finding.why {
        output::line(&format!("  LOG: {why}"))?;
    }
    let notice = notice(controller, waited)?;
    if notice.get("asks").and_then(Value::as_bool) != Some(true) {
        return Ok(());
    }
    output::line("  an operator may decide:")?;
    let options = notice.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut always = Vec::new();
    for option in options {
        let word = |name| option.get(name).and_then(Value::as_str).unwrap_or_default();
        match word("option") {
            name if ALWAYS.contains(&name) => always.push(name),
            name => output::line(&format!("    {name}: {}", output::visible(word("effect"))))?,
        }
    }
    output::line(&format!("    {}", always.join(", ")))
}

fn table(all: &[Waited]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["JOB", "ENDED", "AS SCRIPTED", "CHARGED", "COUNTED", "LOG"]);
    for waited in all {
        table.add_row([
            waited.story.job.to_owned(),
            waited.ended.to_owned(),
            if waited.as_scripted() { "yes".to_owned() } else { format!("no: {}", waited.story.ends) },
            waited.operation.requests.used.to_string(),
            waited.counted.to_string(),
            format!("{}, {} entries", waited.finding.verdict, waited.finding.entries),
        ]);
    }
    table.trim_fmt()
}

fn notice(controller: &Controller, waited: &Waited) -> Result<Value, CliError> {
    let stored = controller.stored(&waited.operation.operation_id)?;
    show::notice_json(controller, &stored)
}

/// For programs: one value.
pub(super) fn json(
    controller: &Controller,
    provider: &Provider,
    all: &[Waited],
    seed: u64,
    kept: Option<&Path>,
    exit_code: u8,
) -> Result<(), CliError> {
    let mut jobs = Vec::new();
    for waited in all {
        let story = &waited.story;
        jobs.push(json!({
            "job": story.job,
            "does": story.does,
            "script": story.script.to_string(),
            "expected": story.ends,
            "ended": waited.ended,
            "operation_id": waited.operation.operation_id,
            "charged": waited.operation.requests.used,
            "counted": waited.counted,
            "fine": waited.is_fine(),
            "story": waited.finding.sentences,
            "verify": waited.finding,
            "notice": notice(controller, waited)?,
        }));
    }
    output::json(&json!({
        "seed": seed,
        "provider": format!("http://{}", provider.address()),
        "store": kept.map(|path| path.display().to_string()),
        "jobs": jobs,
        "exit_code": exit_code,
    }))
}
