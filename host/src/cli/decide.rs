//! `decide`: a person's decision, under the name of the operating system's user (D40).

mod earlier;

use serde_json::json;

use earlier::Earlier;

use super::args::{Amounts, ChoiceArgs, DecideArgs};
use super::{App, CliError, code, input, output, show};
use crate::component::types::{self, DecisionWhat, Extension, OptionKind};
use crate::controller::{Choice, Controller, Deciding};

/// The user's name as the operating system says it; nothing verifies it.
pub(super) fn os_user() -> String {
    whoami::username().unwrap_or_else(|_| "unknown".to_owned())
}

/// Decides, and tells what follows.
pub(super) async fn decide(app: &App, args: DecideArgs) -> Result<u8, CliError> {
    if args.why.trim().is_empty() {
        return Err(CliError::Input("say why: `--why '...'`; it goes into the log under your name".to_owned()));
    }
    let controller = app.controller().await?;
    let id = show::find(&controller, &args.id)?;
    let earlier = match &args.decision_id {
        Some(decision) => earlier::find(&controller, &id, decision)?,
        None => None,
    };
    let choice = choice(&controller, &id, &args.choice, earlier.as_ref()).await?;
    let who = Deciding {
        id: args
            .decision_id
            .clone()
            .unwrap_or_else(|| format!("cli-{:x}-{}", std::process::id(), controller.clock().now_ms())),
        by: os_user(),
        role: "os_user".to_owned(),
        why: args.why.clone(),
        revision: args.revision.or(earlier.map(|earlier| earlier.revision)),
    };
    let transition = controller.decide(&id, &who, &choice)?;
    let operation = &transition.operation;
    if app.common.json {
        let component = controller.pinned(&operation.component_digest)?;
        let view = output::twin(&component, "read", &json!({"record": transition.record}))?;
        output::json(&json!({"operation": view, "sentence": transition.sentence}))?;
    } else {
        match &transition.sentence {
            Some(sentence) => output::line(sentence)?,
            None => output::line("decided already; nothing has changed")?,
        }
        if matches!(operation.phase, types::Phase::Waiting(_)) {
            output::line("it waits again: `sondeo watch` or `sondeo run` goes on")?;
        }
        output::results(operation, &controller.results(operation)?)?;
    }
    Ok(code::DONE)
}

async fn choice(
    controller: &Controller,
    id: &str,
    args: &ChoiceArgs,
    earlier: Option<&Earlier>,
) -> Result<Choice, CliError> {
    let now = controller.store().now()?;
    let extension = |amounts: &Amounts, wanted: bool| extension(controller, id, amounts, wanted, earlier);
    Ok(match args {
        ChoiceArgs::Extend { amounts, done } => {
            let extension = extension(amounts, true)?.unwrap_or(NOTHING);
            Choice::Option(DecisionWhat::Extend(types::ExtendDecision { extension, done: done.clone() }))
        }
        ChoiceArgs::Amend { contract, amounts, extend } => {
            let name = contract;
            let contract = input::contract_text(name)?;
            super::open::summary(controller.component(), name, &contract)?;
            Choice::Amend { contract, extension: extension(amounts, *extend)? }
        }
        ChoiceArgs::RenewCredential { rotated, access_restored: _, credential, extend } => {
            let renewal = match rotated {
                true => types::Renewal::Rotated(digest(controller, id, credential.as_deref()).await?),
                false => types::Renewal::AccessRestored,
            };
            let none = Amounts { time: None, requests: None, failures: None, throttles: None, useful_until: None };
            Choice::Option(DecisionWhat::RenewCredential(types::RenewDecision {
                renewal,
                credential: credential.clone(),
                extension: extension(&none, *extend)?,
            }))
        }
        ChoiceArgs::AcceptResult => Choice::Option(DecisionWhat::AcceptResult),
        ChoiceArgs::Hold { until } => {
            let until = match (input::limit("hold", until)?, earlier.and_then(|earlier| earlier.until)) {
                (types::TimeLimit::AfterMs(_), Some(then)) => then,
                _ => input::instant("hold", until, now)?,
            };
            Choice::Option(DecisionWhat::Hold(until))
        }
        ChoiceArgs::Close => Choice::Option(DecisionWhat::Close),
        ChoiceArgs::Approve { attempt } => Choice::Option(DecisionWhat::Approve(*attempt)),
        ChoiceArgs::Adopt { job, parts, address } => {
            let stored = controller.stored(id)?;
            let contract = controller.store().contract(&stored.row.contract_digest)?.unwrap_or_default();
            let summary = controller.component().check_contract(&contract)?;
            Choice::Option(DecisionWhat::Adopt(types::AdoptDecision {
                job: input::job(&summary.id_parts, job.as_deref(), parts)?,
                address: address.clone(),
                extension: None,
            }))
        }
        ChoiceArgs::UseComponent => Choice::UseComponent,
    })
}

const NOTHING: Extension = Extension { time_ms: 0, requests: 0, failures: 0, throttles: 0, useful_until: None };

/// The digest of the credential as it is now, under the reference that the operation has or gets.
async fn digest(controller: &Controller, id: &str, reference: Option<&str>) -> Result<String, CliError> {
    let stored = controller.stored(id)?;
    let operation = controller.pinned(&stored.row.component_digest)?.read(&stored.record)?;
    let reference = reference.map(str::to_owned).or(operation.credential);
    let reference = reference.ok_or_else(|| CliError::Input("the operation sends no credential".to_owned()))?;
    Ok(controller.credential_digest(&stored, &reference).await?)
}

/// The amounts given; with none, all that is offered where an extension is wanted.
fn extension(
    controller: &Controller,
    id: &str,
    amounts: &Amounts,
    wanted: bool,
    earlier: Option<&Earlier>,
) -> Result<Option<Extension>, CliError> {
    let now = controller.store().now()?;
    let useful_until =
        amounts.useful_until.as_deref().map(|text| input::instant("--useful-until", text, now)).transpose()?;
    let time_ms = amounts.time.as_deref().map(|text| input::duration("--time", text)).transpose()?;
    let given =
        time_ms.is_some() || amounts.requests.is_some() || amounts.failures.is_some() || amounts.throttles.is_some();
    if given {
        return Ok(Some(Extension {
            time_ms: time_ms.unwrap_or(0),
            requests: amounts.requests.unwrap_or(0),
            failures: amounts.failures.unwrap_or(0),
            throttles: amounts.throttles.unwrap_or(0),
            useful_until,
        }));
    }
    if !wanted {
        return Ok(None);
    }
    if let Some(granted) = earlier.and_then(|earlier| earlier.extension) {
        return Ok(Some(Extension { useful_until: useful_until.or(granted.useful_until), ..granted }));
    }
    let offered = offered(controller, id, now)?;
    Ok(Some(Extension { useful_until, ..offered.unwrap_or(NOTHING) }))
}

/// What `extend` offers now.
fn offered(controller: &Controller, id: &str, now: u64) -> Result<Option<Extension>, CliError> {
    let stored = controller.stored(id)?;
    let component = controller.pinned(&stored.row.component_digest)?;
    let contract = controller.store().contract(&stored.row.contract_digest)?.unwrap_or_default();
    let notice = component.notice(&contract, &stored.record, now)?;
    Ok(notice.options.iter().find(|option| option.option == OptionKind::Extend).and_then(|option| option.extension))
}
