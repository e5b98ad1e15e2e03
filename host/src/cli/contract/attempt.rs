//! `contract try`: what one answer would mean, from a file or by one real request.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::super::{App, CliError, code, decide, input, open, output};
use crate::clock::{Clock, ManualClock, SystemClock};
use crate::component::types::{self, ContractSummary, DecisionWhat, Phase, TimeLimit};
use crate::controller::{Choice, Controller, Deciding, NewOperation};
use crate::credential::CredentialRef;
use crate::store::SqliteStore;

/// Deadline of the one look where the contract has none: long enough for any first delay.
const DEADLINE_MS: u64 = 24 * 60 * 60 * 1000;
/// How long the request may hold its operation beyond its own time-out.
const LEASE_MORE_MS: u64 = 30_000;

/// Options of `contract try`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct TryArgs {
    /// A file, or a name.
    contract: String,
    /// The answer, as an HTTP response in a file (`curl -i` writes one); `-` reads standard input.
    #[arg(long, value_name = "FILE", group = "what")]
    answer: Option<PathBuf>,
    /// Make one real status request for the job, and explain its answer. It is charged like any other, in a store of its
    /// own, and goes to the contract's origins only. With URL: the status address, where the contract takes it from the
    /// opening; else the address that the request has to have, or its beginning.
    #[arg(long, value_name = "URL", num_args(0..=1), group = "what")]
    against: Option<Option<String>>,
    /// The job's id, where the contract has one id part.
    #[arg(long)]
    job: Option<String>,
    /// An id part, where it has several.
    #[arg(long = "part", value_name = "NAME=VALUE")]
    parts: Vec<String>,
    /// A fact that the contract declares.
    #[arg(long = "ctx", value_name = "NAME=VALUE")]
    ctx: Vec<String>,
    /// Label of the provider account.
    #[arg(long, default_value = "default")]
    account: String,
    /// Where the credential of `--against` is found: `env:NAME`, `file:PATH` or `exec:COMMAND`.
    #[arg(long, value_name = "REF", requires = "against")]
    credential: Option<String>,
}

/// The one request that was made.
struct Asked {
    /// Method and address; a secret address is not told.
    what: String,
    /// How many were charged.
    charged: u32,
    /// The answer as it came, or why there is none.
    answer: Result<types::Answer, String>,
}

/// Explains an answer.
pub(super) async fn attempt(app: &App, args: &TryArgs) -> Result<u8, CliError> {
    let component = app.component()?;
    let contract = input::contract_text(&args.contract)?;
    let summary = open::summary(&component, &args.contract, &contract)?;
    let now = SystemClock::new().now_ms();
    let (answer, asked) = match (&args.answer, &args.against) {
        (Some(path), _) => (input::response(path, now)?, None),
        (None, url) => {
            let url = url.as_ref().and_then(Option::as_deref);
            let asked = ask(app, args, &contract, &summary, url).await?;
            match asked.answer.clone() {
                Ok(answer) => (answer, Some(asked)),
                Err(why) => return unanswered(app, &asked, &why),
            }
        }
    };
    let trial = types::Trial {
        contract,
        answer,
        job: input::job(&summary.id_parts, args.job.as_deref(), &args.parts)?,
        account: args.account.clone(),
        ctx: input::ctx(&args.ctx)?,
    };
    explain(app, &component.try_answer(&trial)?, asked.as_ref())
}

/// Opens an operation that may ask once, in a store that is gone afterwards, and lets it: so the request is charged, and
/// every rule of a wait holds for it. The store's clock is set to the first poll, which nobody needs to wait for here.
async fn ask(
    app: &App,
    args: &TryArgs,
    contract: &str,
    summary: &ContractSummary,
    url: Option<&str>,
) -> Result<Asked, CliError> {
    check_credential(args, summary).await?;
    let folder = tempfile::Builder::new()
        .prefix("sondeo-try-")
        .tempdir()
        .map_err(|error| CliError::Input(format!("can't make a folder for the request's store: {error}")))?;
    let real = SystemClock::new();
    let clock = Arc::new(ManualClock::new(real.now_ms()));
    let store = SqliteStore::open(&folder.path().join("try.db"), Arc::clone(&clock) as Arc<dyn Clock>)?;
    let controller =
        Controller::new(Arc::new(store), Arc::clone(&clock) as Arc<dyn Clock>, app.component()?, app.key().await?);
    let opening = opening(args, summary, url)?;
    let new =
        NewOperation { contract: contract.to_owned(), contract_id: summary.id.clone(), opening, kept: Vec::new() };
    let operation = controller.open(&new)?.operation;
    check_address(url, summary, &operation)?;
    clock.set(operation.next_at.unwrap_or_default());
    let id = operation.operation_id.as_str();
    let mut answer = None;
    let sent_at = real.now_ms();
    let mut seen = |came: &types::Answer| answer = Some(came.clone());
    let mut tick = controller.look(id, &mut seen).await?;
    if let Phase::Asking(due) = &tick.operation.phase {
        // The command is a person's wish for this one request (D41).
        controller.decide(id, &approval(), &Choice::Option(DecisionWhat::Approve(due.attempt)))?;
        tick = controller.look(id, &mut seen).await?;
    }
    let charged = tick.operation.requests.used;
    let address = tick.operation.address.clone().unwrap_or_else(|| "(the secret address)".to_owned());
    let why = tick.detail.or(tick.sentences.last().cloned()).unwrap_or_else(|| "the operation was not due".to_owned());
    if charged == 0 {
        return Err(CliError::Input(format!("nothing was sent: {why}")));
    }
    let answer = answer.map(|answer| types::Answer { sent_at, received_at: real.now_ms(), ..answer }).ok_or(why);
    Ok(Asked { what: address, charged, answer })
}

async fn check_credential(args: &TryArgs, summary: &ContractSummary) -> Result<(), CliError> {
    let wrong = |error: &dyn std::fmt::Display| CliError::Input(format!("--credential: {error}"));
    match (&args.credential, &summary.credential_header) {
        (None, Some(header)) => Err(CliError::Input(format!(
            "the contract sends a credential in `{header}`: give --credential (where it is found, for example env:NAME)"
        ))),
        (Some(reference), _) => {
            let reference: CredentialRef = reference.parse().map_err(|error| wrong(&error))?;
            reference.resolve().await.map(|_| ()).map_err(|error| wrong(&error))
        }
        (None, None) => Ok(()),
    }
}

fn opening(args: &TryArgs, summary: &ContractSummary, url: Option<&str>) -> Result<types::Opening, CliError> {
    Ok(types::Opening {
        operation_id: String::new(),
        namespace: "try".to_owned(),
        component: String::new(),
        account: args.account.clone(),
        credential: args.credential.clone(),
        job: input::job(&summary.id_parts, args.job.as_deref(), &args.parts)?,
        address: url.filter(|_| summary.needs_address).map(str::to_owned),
        ctx: input::ctx(&args.ctx)?,
        fingerprint: None,
        opened_by: "cli".to_owned(),
        submitted_at: None,
        job_expires_at: None,
        limits: types::LimitsGiven {
            deadline: summary.deadline_ms.is_none().then_some(TimeLimit::AfterMs(DEADLINE_MS)),
            useful_until: None,
            max_status_requests: Some(1),
            max_transport_failures: Some(1),
            max_throttles: Some(1),
        },
        approval_per_request: false,
        lease_ms: summary.timeout_ms.saturating_add(LEASE_MORE_MS),
        seed: String::new(),
        submission: None,
        submission_unknown: false,
        sealing: false,
        predecessor: None,
    })
}

/// A URL overrides nothing: what the contract makes of the id parts has to be it, or to begin so.
fn check_address(url: Option<&str>, summary: &ContractSummary, operation: &types::Operation) -> Result<(), CliError> {
    let (Some(url), false, Some(address)) = (url, summary.needs_address, &operation.address) else {
        return Ok(());
    };
    if begins(address, url) {
        return Ok(());
    }
    Err(CliError::Input(format!(
        "--against `{url}`: the contract would ask `{address}`, and its address can't be overridden; nothing was sent"
    )))
}

fn begins(address: &str, url: &str) -> bool {
    let rest = address.strip_prefix(url.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

fn approval() -> Deciding {
    Deciding {
        id: "try".to_owned(),
        by: decide::os_user(),
        role: "os_user".to_owned(),
        why: "asked for by `contract try --against`".to_owned(),
        revision: None,
    }
}

/// One request was paid for, and nothing came back.
fn unanswered(app: &App, asked: &Asked, why: &str) -> Result<u8, CliError> {
    if app.common.json {
        output::json(&json!({"outcome": null, "unanswered": why,
            "request": {"address": asked.what, "status": null, "requests_charged": asked.charged}}))?;
        return Ok(code::FAILED);
    }
    output::line(&format!("asked     {}", output::visible(&asked.what)))?;
    output::line(&format!("answered  nothing: {}", output::visible(why)))?;
    counted(asked)?;
    Ok(code::FAILED)
}

fn counted(asked: &Asked) -> Result<(), CliError> {
    output::line(&format!("requests  {} was made and charged, in a store of its own; no wait counts it", asked.charged))
}

fn explain(app: &App, tried: &types::Tried, asked: Option<&Asked>) -> Result<u8, CliError> {
    if app.common.json {
        let rejected: Vec<_> = tried.rejected.iter().map(|r| json!({"place": r.place, "why": r.why})).collect();
        let observation: serde_json::Value = serde_json::from_str(&tried.observation)?;
        let request = asked.map(|asked| {
            let status = asked.answer.as_ref().ok().map(|answer| answer.status);
            json!({"address": asked.what, "status": status, "requests_charged": asked.charged})
        });
        output::json(
            &json!({"outcome": tried.outcome, "state": tried.state, "rule": tried.rule, "notes": tried.notes,
            "not_before": tried.not_before.map(input::at), "eta": tried.eta.map(input::at), "rejected": rejected,
            "observation": observation, "request": request}),
        )?;
        return Ok(code::DONE);
    }
    if let Some(asked) = asked {
        output::line(&format!("asked     {}", output::visible(&asked.what)))?;
        if let Ok(answer) = &asked.answer {
            output::line(&format!("answered  {}", answer.status))?;
        }
    }
    output::line(&format!("outcome   {}", tried.outcome))?;
    let by = match tried.rule {
        Some(rule) => format!("rule /decide/{rule}"),
        None => "no rule of the contract (the defaults, or a check before the rules)".to_owned(),
    };
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
    if let Some(asked) = asked {
        counted(asked)?;
    }
    Ok(code::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d28_an_address_begins_with_a_url_at_a_border_only() {
        let address = "http://127.0.0.1:8080/v1/jobs/a?x=1";
        for url in [address, "http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/jobs/a"] {
            assert!(begins(address, url), "{url}");
        }
        for url in ["http://127.0.0.1:80", "http://127.0.0.1:8080/v1/job", "https://127.0.0.1:8080", "http://b"] {
            assert!(!begins(address, url), "{url}");
        }
    }
}
