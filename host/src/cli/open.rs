//! `open`, and what `watch` shares with it.

use serde_json::json;

use super::args::OpenArgs;
use super::{App, CliError, code, input, output};
use crate::component::{CallError, Component, types};
use crate::controller::{Controller, NewOperation, Opened};
use crate::credential::CredentialRef;

/// Opens an operation without waiting.
pub(super) async fn open(app: &App, args: &OpenArgs) -> Result<u8, CliError> {
    let (controller, opened) = begin(app, args).await?;
    let operation = &opened.operation;
    if app.common.json {
        let component = controller.pinned(&operation.component_digest)?;
        let stored = controller.stored(&operation.operation_id)?;
        let view = output::twin(&component, "read", &json!({"record": stored.record}))?;
        output::json(&json!({"operation": view, "existing": opened.existing}))?;
    } else {
        told(&opened)?;
    }
    match opened.existing {
        true => Ok(output::exit_code(operation, false)),
        false if matches!(operation.phase, types::Phase::Escalated(_)) => Ok(code::ASKS),
        false => Ok(code::DONE),
    }
}

/// Says what was opened, or found.
pub(super) fn told(opened: &Opened) -> Result<(), CliError> {
    let operation = &opened.operation;
    if opened.existing {
        output::line(&format!("operation {} goes on", operation.operation_id))?;
        return Ok(());
    }
    output::line(&format!("operation {}", operation.operation_id))?;
    output::line(&format!(
        "if every answer were pending, the {} requests would be spent between {} and {}",
        operation.requests.max,
        input::at(operation.spent_earliest),
        input::at(operation.spent_latest)
    ))?;
    for warning in &operation.warnings {
        output::note(&format!("warning: {warning}"));
    }
    if let Some(sentence) = &opened.sentence {
        output::line(sentence)?;
    }
    Ok(())
}

/// Reads the contract, checks what is given, and opens.
pub(super) async fn begin(app: &App, args: &OpenArgs) -> Result<(Controller, Opened), CliError> {
    let contract = input::contract_text(&args.contract)?;
    // What is wrong on the command line itself is told at once, before anything is compiled or opened.
    let mut opening = given(args)?;
    let component = app.component()?;
    let summary = summary(&component, &args.contract, &contract)?;
    check_flags(args, &summary)?;
    opening.job = input::job(&summary.id_parts, args.job.as_deref(), &args.parts)?;
    if let Some(reference) = &args.credential {
        let reference: CredentialRef =
            reference.parse().map_err(|error| CliError::Input(format!("--credential: {error}")))?;
        // Found out now rather than at the first poll; read again for each request, and kept by none.
        reference.resolve().await.map_err(|error| CliError::Input(format!("--credential: {error}")))?;
    }
    let controller = app.controller().await?;
    let mut kept = Vec::new();
    if let Some(path) = &args.submission {
        let answer = input::response(path, controller.store().now()?)?;
        let seen = component.observe(&contract, None, &answer)?;
        opening.submission = Some(seen.observation);
        kept = seen.kept;
    }
    opening.predecessor = predecessor(&controller, args)?;
    let new = NewOperation { contract, contract_id: summary.id, opening, kept };
    let opened = controller.open(&new)?;
    Ok((controller, opened))
}

/// What the flags say of an opening; job, submission and predecessor are still to come.
fn given(args: &OpenArgs) -> Result<types::Opening, CliError> {
    let time = |flag, text: &Option<String>| text.as_deref().map(|text| input::time(flag, text)).transpose();
    Ok(types::Opening {
        operation_id: String::new(),
        namespace: args.namespace.clone(),
        component: String::new(),
        account: args.account.clone(),
        credential: args.credential.clone(),
        job: Vec::new(),
        address: args.address.clone(),
        ctx: input::ctx(&args.ctx)?,
        fingerprint: args.fingerprint.clone(),
        opened_by: "cli".to_owned(),
        submitted_at: time("--submitted-at", &args.submitted_at)?,
        job_expires_at: time("--job-expires-at", &args.job_expires_at)?,
        limits: limits(args)?,
        approval_per_request: args.approve_each,
        lease_ms: input::duration("--lease", &args.lease)?,
        seed: String::new(),
        submission: None,
        submission_unknown: args.submission_unknown,
        sealing: false,
        predecessor: None,
    })
}

/// The contract's summary, or every fault at its place.
pub(super) fn summary(component: &Component, name: &str, contract: &str) -> Result<types::ContractSummary, CliError> {
    component.check_contract(contract).map_err(|error| match error {
        CallError::Refused(refusal) if !refusal.faults.is_empty() => {
            CliError::Contract { file: name.to_owned(), faults: refusal.faults }
        }
        other => other.into(),
    })
}

/// Names every limit and id that is missing at once, by its flag.
fn check_flags(args: &OpenArgs, summary: &types::ContractSummary) -> Result<(), CliError> {
    let mut missing = Vec::new();
    if args.deadline.is_none() && summary.deadline_ms.is_none() {
        missing.push("--deadline (when the wait stops, for example 40m)");
    }
    if args.max_requests.is_none() && summary.max_status_requests.is_none() {
        missing.push("--max-requests (most status requests)");
    }
    if args.max_failures.is_none() && summary.max_transport_failures.is_none() {
        missing.push("--max-failures (most exchanges from which nothing is learnt)");
    }
    if args.credential.is_none() && summary.credential_header.is_some() && !args.submission_unknown {
        missing.push("--credential (where the credential is found, for example env:NAME)");
    }
    if args.job.is_none() && args.parts.is_empty() && !summary.id_parts.is_empty() && !args.submission_unknown {
        missing.push("the job's id");
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::Input(format!("the contract `{}` has no default for, so give: {}", summary.id, missing.join("; "))))
}

fn limits(args: &OpenArgs) -> Result<types::LimitsGiven, CliError> {
    Ok(types::LimitsGiven {
        deadline: args.deadline.as_deref().map(|text| input::limit("--deadline", text)).transpose()?,
        useful_until: args.useful_until.as_deref().map(|text| input::limit("--useful-until", text)).transpose()?,
        max_status_requests: args.max_requests,
        max_transport_failures: args.max_failures,
        max_throttles: args.max_throttles,
    })
}

/// D4: a further operation on a job that already had one goes on from its counters.
fn predecessor(controller: &Controller, args: &OpenArgs) -> Result<Option<types::Predecessor>, CliError> {
    let Some(prefix) = &args.successor_of else {
        return Ok(None);
    };
    let id = super::show::find(controller, prefix)?;
    let stored = controller.stored(&id)?;
    let row = &stored.row;
    Ok(Some(types::Predecessor {
        operation_id: id,
        status_requests_used: row.requests.used,
        transport_failures_used: row.failures.used,
        throttles_used: row.throttles.used,
        decided_by: super::decide::os_user(),
        why: args.why.clone().unwrap_or_default(),
    }))
}
