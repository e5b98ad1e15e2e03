//! `list`, `show` and `notice`: reading, which never sends (D37).

use std::sync::Arc;

use serde_json::{Value, json};

use super::args::{IdArgs, ListArgs, ShowArgs};
use super::{App, CliError, code, input, output, watch};
use crate::clock::{Clock, SystemClock};
use crate::component::Component;
use crate::component::types::{self, Event, What};
use crate::controller::{Controller, fault_kind};
use crate::store::{Derived, Filter, Phase, Stored, Unlisted};

/// Options that a verb of `decide` carries out; the others are a person's to carry out elsewhere.
const CARRIED_OUT: [&str; 8] =
    ["extend", "amend", "renew_credential", "accept_result", "adopt", "hold", "close", "inspect"];

/// An operation's id from its beginning.
pub(super) fn find(controller: &Controller, prefix: &str) -> Result<String, CliError> {
    let ids = controller.store().find_prefix(prefix, 5)?;
    match ids.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(CliError::Input(format!("there is no operation `{prefix}`: `sondeo list` shows those there are"))),
        several => match several.iter().find(|id| *id == prefix) {
            Some(exact) => Ok(exact.clone()),
            None => Err(CliError::Input(format!("`{prefix}` begins several ids: {}", several.join(", ")))),
        },
    }
}

/// `list`.
pub(super) async fn list(app: &App, args: &ListArgs) -> Result<u8, CliError> {
    // Columns are all that a list needs: no component is compiled for it.
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let page = app.store_to_read(&clock)?.list(&Filter {
        namespace: args.namespace.clone(),
        phases: args.phase.iter().filter_map(|word| Phase::parse(word)).collect(),
        contract_id: args.contract.clone(),
        limit: args.limit,
        ..Filter::default()
    })?;
    if app.common.json {
        let rows: Vec<Value> = page.rows.iter().map(|listed| row_json(&listed.row, listed.mark.as_ref())).collect();
        let damaged: Vec<Value> =
            page.damaged.iter().map(|row| json!({"operation_id": row.operation_id, "why": row.why})).collect();
        output::json(&json!({"operations": rows, "damaged": damaged, "more": page.next.is_some()}))?;
        return Ok(if page.damaged.is_empty() { code::DONE } else { code::FAILED });
    }
    for row in &page.damaged {
        output::note(&unlisted(row));
    }
    if page.rows.is_empty() && page.damaged.is_empty() {
        output::line("no operations")?;
        return Ok(code::DONE);
    }
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["ID", "CONTRACT", "JOB", "STANDS", "STATE", "REQUESTS", "NEXT"]);
    for listed in &page.rows {
        let row = &listed.row;
        table.add_row([
            row.operation_id.get(..12).unwrap_or(&row.operation_id).to_owned(),
            row.contract_id.clone(),
            output::visible(row.jobs.first().map_or("unknown", String::as_str)),
            stands(row, listed.mark.as_ref().map(|mark| mark.kind.as_str())),
            output::visible(row.state.as_deref().unwrap_or("-")),
            format!("{} of {}", row.requests.used, row.requests.max),
            row.next_at.map_or_else(|| "-".to_owned(), input::at),
        ]);
    }
    output::line(&table.trim_fmt())?;
    if page.next.is_some() {
        output::note(&format!("the latest {}; `--limit` shows more", page.rows.len()));
    }
    Ok(if page.damaged.is_empty() { code::DONE } else { code::FAILED })
}

/// A row that can't be read, by name (D47).
pub(super) fn unlisted(row: &Unlisted) -> String {
    format!("operation {} can't be read, and nothing is sent for it: {}", row.operation_id, row.why)
}

fn stands(row: &Derived, mark: Option<&str>) -> String {
    match (mark, &row.reason, &row.outcome) {
        (Some(kind), ..) => format!("policy_fault ({kind})"),
        (None, Some(reason), _) => reason.clone(),
        (None, None, Some(outcome)) => outcome.clone(),
        (None, None, None) => row.phase.as_str().to_owned(),
    }
}

fn row_json(row: &Derived, mark: Option<&crate::store::Fault>) -> Value {
    json!({
        "operation_id": row.operation_id,
        "namespace": row.namespace,
        "contract_id": row.contract_id,
        "account": row.account,
        "jobs": row.jobs,
        "phase": row.phase.as_str(),
        "reason": row.reason,
        "outcome": row.outcome,
        "state": row.state,
        "next_at": row.next_at.map(input::rfc3339),
        "deadline_at": input::rfc3339(row.deadline_at),
        "revision": row.revision,
        "requests": {"used": row.requests.used, "max": row.requests.max},
        "failures": {"used": row.failures.used, "max": row.failures.max},
        "throttles": {"used": row.throttles.used, "max": row.throttles.max},
        "fault": mark.map(|mark| &mark.kind),
    })
}

/// `show`: how it stands, its story, its result once settled.
pub(super) async fn show(app: &App, args: &ShowArgs) -> Result<u8, CliError> {
    let controller = app.reader().await?;
    let id = find(&controller, &args.id)?;
    let stored = controller.stored(&id)?;
    let (component, operation) = controller.view(&stored)?;
    let entries = entries(&controller, &id)?;
    let results = controller.results(&operation)?;
    if app.common.json {
        output::json(&json!({
            "operation": output::twin(&component, "read", &json!({"record": stored.record}))?,
            "fault": stored.mark.as_ref().map(|mark| &mark.kind),
            "entries": entries,
            "results": output::results_json(&results),
        }))?;
        return Ok(code::DONE);
    }
    head(&operation, &stored)?;
    for entry in &entries {
        let sentence = entry.get("sentence").and_then(Value::as_str).unwrap_or_default();
        if args.all || !watch::is_charge(sentence) {
            output::line(sentence)?;
        }
    }
    output::results(&operation, &results)?;
    Ok(code::DONE)
}

fn head(operation: &types::Operation, stored: &Stored) -> Result<(), CliError> {
    output::line(&format!("operation {} ({})", operation.operation_id, operation.contract_id))?;
    let mark = stored.mark.as_ref().map(|mark| mark.kind.as_str());
    output::line(&format!("stands    {}", stands(&stored.row, mark)))?;
    output::line(&format!("deadline  {}", input::at(operation.deadline_at)))?;
    output::line(&format!(
        "used      {} of {} requests, {} of {} failures, {} of {} throttled answers",
        operation.requests.used,
        operation.requests.max,
        operation.failures.used,
        operation.failures.max,
        operation.throttles.used,
        operation.throttles.max
    ))?;
    if let Some(next) = operation.next_at {
        output::line(&format!("next      {} (asking here changes nothing)", input::at(next)))?;
    }
    for warning in &operation.warnings {
        output::line(&format!("warning   {warning}"))?;
    }
    output::line("")
}

fn entries(controller: &Controller, id: &str) -> Result<Vec<Value>, CliError> {
    let mut all: Vec<Value> = Vec::new();
    let mut from = 1;
    loop {
        let page = controller.store().entries(id, from, 500)?;
        let Some(last) = page.last() else {
            return Ok(all);
        };
        from = last.seq.saturating_add(1);
        for entry in &page {
            let damaged = || json!({"sentence": format!("entry {} can't be read; see `verify`", entry.seq)});
            all.push(serde_json::from_str(&entry.text).unwrap_or_else(|_| damaged()));
        }
    }
}

/// `notice`.
pub(super) async fn notice(app: &App, args: &IdArgs) -> Result<u8, CliError> {
    let controller = app.reader().await?;
    let id = find(&controller, &args.id)?;
    let stored = controller.stored(&id)?;
    if app.common.json {
        output::json(&notice_json(&controller, &stored)?)?;
    } else {
        output::line(&notice_text(&controller, &stored)?)?;
    }
    Ok(code::DONE)
}

/// The record that a notice speaks of: of a marked row, the one that its entry will make (D33, `policy_fault`).
fn noticed(controller: &Controller, stored: &Stored) -> Result<(String, String, u64), CliError> {
    let at = controller.store().now()?;
    let contract = controller.store().contract(&stored.row.contract_digest)?;
    let contract =
        contract.ok_or_else(|| CliError::Input("the operation's contract is not in the store".to_owned()))?;
    let record = match &stored.mark {
        None => stored.record.clone(),
        Some(mark) => {
            let event = Event { at, what: What::Faulted(fault_kind(&mark.kind)) };
            // The pinned component may not even do this; then the program's own tells, and changes nothing.
            let told = judge(controller, stored)?.step(&contract, &stored.record, &event);
            match told {
                Ok(told) => told.record,
                Err(_) => own()?.step(&contract, &stored.record, &event)?.record,
            }
        }
    };
    Ok((contract, record, at))
}

fn judge(controller: &Controller, stored: &Stored) -> Result<Component, CliError> {
    Ok(controller.pinned(&stored.row.component_digest)?)
}

/// The component that this program carries, whatever `--component` says.
fn own() -> Result<Component, CliError> {
    Component::embedded().map_err(|error| CliError::Load { file: "embedded component".to_owned(), error })
}

/// The notice as a JSON value, each option marked whether a verb carries it out.
pub(super) fn notice_json(controller: &Controller, stored: &Stored) -> Result<Value, CliError> {
    let (contract, record, at) = noticed(controller, stored)?;
    let input = json!({"contract": contract, "record": record, "at": input::rfc3339(at)});
    let mut notice = output::twin(&judge(controller, stored)?, "notice", &input)?;
    if let Some(options) = notice.get_mut("options").and_then(Value::as_array_mut) {
        for option in options {
            let carried = option.get("option").and_then(Value::as_str).is_some_and(|word| CARRIED_OUT.contains(&word));
            if let Some(map) = option.as_object_mut() {
                map.insert("carried_out".to_owned(), Value::Bool(carried));
            }
        }
    }
    Ok(notice)
}

/// The notice as text, options that no verb carries out marked.
pub(super) fn notice_text(controller: &Controller, stored: &Stored) -> Result<String, CliError> {
    let (contract, record, at) = noticed(controller, stored)?;
    let notice = judge(controller, stored)?.notice(&contract, &record, at)?;
    let lines: Vec<String> = notice
        .text
        .lines()
        .map(|line| {
            let option = line.strip_prefix("  ").and_then(|line| line.split_once(": "));
            match option {
                Some((word, _)) if !CARRIED_OUT.contains(&word) => format!("{line} [no command carries this out yet]"),
                _ => line.to_owned(),
            }
        })
        .collect();
    Ok(lines.join("\n"))
}
