//! `contract list`: what comes along, and what each contract needs at opening.

use serde_json::json;

use super::super::{App, CliError, code, input, open, output};
use crate::component::types::ContractSummary;

/// Names that belong to nobody (RFC 2606): an origin there is to be replaced by the user's own.
const PLACEHOLDERS: [&str; 2] = [".example", ".example.com"];

pub(super) fn list(app: &App) -> Result<u8, CliError> {
    let component = app.component()?;
    let mut all = Vec::new();
    for (name, text) in input::LIBRARY {
        all.push(open::summary(&component, name, text)?);
    }
    if app.common.json {
        output::json(&json!({"contracts": all.iter().map(entry).collect::<Vec<_>>()}))?;
        return Ok(code::DONE);
    }
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["NAME", "PROVIDER", "EFFECTS", "DEADLINE", "NEEDS"]);
    for summary in &all {
        table.add_row([
            summary.id.clone(),
            summary.provider.clone(),
            effects(summary),
            summary.deadline_ms.map_or_else(|| "to be given".to_owned(), input::span),
            needs(summary),
        ]);
    }
    output::line(&table.trim_fmt())?;
    Ok(code::DONE)
}

fn entry(summary: &ContractSummary) -> serde_json::Value {
    json!({
        "name": summary.id,
        "provider": summary.provider,
        "digest": summary.digest,
        "effects": summary.effects,
        "approval": if summary.approval_per_request { "per_request" } else { "per_operation" },
        "deadline_ms": summary.deadline_ms,
        "max_status_requests": summary.max_status_requests,
        "needs": {
            "origin": placeholder(summary),
            "id_parts": summary.id_parts,
            "address": summary.needs_address,
            "ctx": summary.ctx,
            "credential": summary.credential_header,
        },
    })
}

fn effects(summary: &ContractSummary) -> String {
    if summary.approval_per_request {
        return format!("{}, asks before each request", summary.effects);
    }
    summary.effects.clone()
}

/// In the words of the flags that give it.
fn needs(summary: &ContractSummary) -> String {
    let mut all: Vec<String> = Vec::new();
    all.extend(placeholder(summary).map(|origin| format!("your origin for {origin} (edit a copy)")));
    if summary.needs_address {
        all.push("--address or --submission".to_owned());
    }
    match summary.id_parts.as_slice() {
        [one] => all.push(format!("the job ({one})")),
        parts => all.extend(parts.iter().map(|part| format!("--part {part}="))),
    }
    all.extend(summary.ctx.iter().map(|fact| format!("--ctx {fact}=")));
    all.extend(summary.credential_header.as_ref().map(|header| format!("--credential ({header})")));
    all.join(", ")
}

/// An origin that is still a placeholder.
fn placeholder(summary: &ContractSummary) -> Option<&str> {
    let stands_for_another = |origin: &&String| {
        let authority = origin.split_once("://").map_or(origin.as_str(), |(_, rest)| rest);
        authority.split(':').next().is_some_and(|host| PLACEHOLDERS.iter().any(|end| host.ends_with(end)))
    };
    summary.origins.iter().find(stands_for_another).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(origin: &str) -> ContractSummary {
        ContractSummary {
            id: "a".into(),
            provider: "A".into(),
            digest: String::new(),
            id_parts: vec!["owner".into(), "run".into()],
            ctx: vec!["expected".into()],
            origins: vec![origin.into()],
            effects: "none".into(),
            approval_per_request: false,
            credential_header: Some("x-api-key".into()),
            needs_address: true,
            timeout_ms: 1,
            deadline_ms: None,
            max_status_requests: None,
            max_transport_failures: None,
            max_throttles: None,
            warnings: Vec::new(),
            samples: 0,
        }
    }

    #[test]
    fn what_a_contract_needs_is_said_by_the_flags_that_give_it() {
        let flags = "--address or --submission, --part owner=, --part run=, --ctx expected=, --credential (x-api-key)";
        assert_eq!(needs(&summary("https://api.github.com")), flags);
        for origin in ["https://gitlab.example", "https://kubernetes.example:6443", "https://api.example.com"] {
            assert_eq!(needs(&summary(origin)), format!("your origin for {origin} (edit a copy), {flags}"));
        }
        assert_eq!(placeholder(&summary("https://not-an-example")), None);
    }
}
