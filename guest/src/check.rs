//! The calls that only look: `about`, `check-contract`, `observe`, and trying one answer against a contract.
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    api::{Answer, Build, ContractSummary, Fault, Observed, Refusal, RefusalKind},
    classify::{self, Judged, Known},
    contract::{self, AddressSpec, Approval, Contract, EffectsKind, check},
    digest, entry,
    fill::fields,
    guidance, limits, observation, observe, options, pinned,
    record::{self, Record},
    samples, step,
    url::Url,
};

/// Name, version and formats of this build.
pub fn about() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").into(),
        contract_format: contract::FORMAT.into(),
        record_format: record::FORMAT.into(),
        entry_format: entry::FORMAT.into(),
        observation_format: observation::FORMAT.into(),
    }
}

/// Checks a contract as a whole, runs its samples, and sums it up (D3).
///
/// # Errors
/// Every fault at its JSON Pointer.
pub fn check_contract(text: &str) -> Result<ContractSummary, Vec<Fault>> {
    let contract = whole(text)?;
    Ok(summary(&contract, digest::sha256_hex(text.as_bytes())))
}

/// A contract, checked as a whole, with its samples run.
pub(crate) fn whole(text: &str) -> Result<Contract, Vec<Fault>> {
    let contract = check::read(text)?;
    let mut faults = narrowing(&contract);
    faults.extend(samples::run(&contract));
    if !faults.is_empty() {
        faults.truncate(limits::FAULTS_MAX);
        return Err(faults);
    }
    Ok(contract)
}

/// `options` can only narrow the table of D33.
fn narrowing(contract: &Contract) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (reason, kept) in &contract.options {
        let table = options::table(*reason);
        for (index, option) in kept.iter().enumerate().filter(|(_, option)| !table.contains(option)) {
            faults.push(Fault {
                pointer: format!("/options/{reason}/{index}"),
                message: format!(
                    "`{option}` is not offered after `{reason}`, and a contract can only narrow: {}",
                    step::names(table.iter().map(|o| o.as_str()))
                ),
            });
        }
    }
    faults
}

fn summary(contract: &Contract, digest: String) -> ContractSummary {
    ContractSummary {
        id: contract.id.clone(),
        provider: contract.provider.clone(),
        digest,
        id_parts: contract.request.id_parts.clone(),
        ctx: contract.ctx.keys().cloned().collect(),
        origins: contract.origins.iter().map(|o| o.origin.clone()).collect(),
        effects: match contract.effects.kind {
            EffectsKind::None => "none",
            EffectsKind::Bills => "bills",
            EffectsKind::Changes => "changes",
        }
        .into(),
        approval_per_request: contract.approval == Approval::PerRequest || contract.effects.kind != EffectsKind::None,
        credential_header: contract.request.credential.as_ref().map(|c| c.header.clone()),
        needs_address: matches!(contract.request.address, AddressSpec::From(_)),
        timeout_ms: contract.request.timeout,
        deadline_ms: contract.limits.deadline,
        max_status_requests: contract.limits.max_status_requests,
        max_transport_failures: contract.limits.max_transport_failures,
        max_throttles: contract.limits.max_throttles,
        warnings: check::warnings(contract),
        samples: u32::try_from(contract.samples.len()).unwrap_or(u32::MAX),
    }
}

/// Reduces an answer to what the contract names. Of the record it needs the address asked and the stage; without one it
/// reads a submission's answer.
///
/// # Errors
/// `invalid_contract`, `contract_mismatch`, `invalid_record`.
pub fn observe(contract: &str, record: Option<&str>, answer: &Answer) -> Result<Observed, Refusal> {
    let read = pinned::read(contract)?;
    let contract = &read.contract;
    let Some(record) = record else {
        let base = contract.submit.as_ref().and_then(|submit| Url::parse(&submit.url).ok());
        return Ok(observe::observe(contract, base.as_ref(), answer));
    };
    let record = Record::parse(record)?;
    step::pinned(&record, &read.digest)?;
    let base = record.address.as_ref().and_then(|address| Url::parse(&address.url).ok());
    Ok(observe::observe(contract.stage(record.stage), base.as_ref(), answer))
}

/// One answer, tried against a contract without an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trial {
    pub contract: String,
    pub answer: Answer,
    pub job: BTreeMap<String, String>,
    pub account: String,
    pub ctx: BTreeMap<String, Vec<String>>,
}

fields! {
    Trial { contract, answer, job = DEFAULT, account = DEFAULT, ctx = DEFAULT }
}

/// What one answer would mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// An outcome (D8), a reason (D33), or `not_modified`.
    pub outcome: String,
    pub state: Option<String>,
    /// Index of the contract's rule that decided; none: the defaults (D26 to D30).
    pub rule: Option<u32>,
    pub notes: Vec<String>,
    pub guidance: guidance::Guidance,
    pub observation: String,
}

/// What would be made of an answer, and why.
///
/// # Errors
/// `invalid_contract`.
pub fn try_answer(trial: &Trial) -> Result<Tried, Refusal> {
    let contract = step::contract(&trial.contract)?;
    let base = crate::request::address_from_template(&contract, &trial.job, &trial.ctx)
        .ok()
        .flatten()
        .and_then(|address| Url::parse(&address.url).ok());
    let observed = observe::observe(&contract, base.as_ref(), &trial.answer);
    let observation = serde_json::from_str(&observed.observation)
        .map_err(|_| Refusal::new(RefusalKind::InvalidEvent, "the observation can't be read back"))?;
    let known = Known {
        job: &trial.job,
        account: &trial.account,
        ctx: &trial.ctx,
        incarnation: &BTreeMap::new(),
        conditional_sent: false,
    };
    let judgement = classify::classify(&contract, &known, &observation);
    let max_hint = contract.pace.max_hint.unwrap_or(limits::MAX_HINT_DEFAULT_MS);
    Ok(Tried {
        outcome: match judgement.judged {
            Judged::Is(outcome) => outcome.as_str().into(),
            Judged::Stop(reason) => reason.as_str().into(),
            Judged::NotModified => "not_modified".into(),
        },
        state: judgement.word,
        rule: judgement.rule,
        notes: judgement.notes,
        guidance: guidance::read(&contract, &observation, trial.answer.received_at, max_hint),
        observation: observed.observation,
    })
}
