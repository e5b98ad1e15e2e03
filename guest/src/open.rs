//! Opening: what is pinned, persisted first, and sensible (D1 to D6).

mod address;
mod fields;
mod first_poll;
mod fresh;
mod limits;

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};

pub(crate) use address::resolve_address;
pub(crate) use fields::{check_declared, check_job, unusable_part};

use crate::{
    api::{Event, Fault, Opening, Reason, Refusal, RefusalKind, Transition, What},
    contract::Contract,
    digest,
    entry::Facts,
    limits::{FAULTS_MAX, NAME_BYTES_MAX, WHY_BYTES_MAX},
    observation::{self, Observation},
    provider_text,
    record::{Address, Record},
    request,
    step::{self, Step},
    time::Instant,
    url,
};

/// Entry 1 and the first record.
///
/// # Errors
/// `invalid_contract` with every fault, or `invalid_opening` with every field at fault.
pub fn open(contract: &str, opening: &Opening, at: Instant) -> Result<Transition, Refusal> {
    let text = contract;
    let contract = step::checked_contract(text)?;
    let opening = &without_secrets(&contract, opening);
    let mut faults = Vec::new();
    fields::check_fields(&contract, opening, &mut faults);
    let submission = read_submission(opening, &mut faults);
    let limits = limits::resolve_limits(&contract, opening, at, &mut faults);
    let (Some(limits), true) = (limits, faults.is_empty()) else {
        return Err(refused(faults));
    };
    let address = address::address(&contract, opening, submission.as_ref(), &mut faults);
    if !faults.is_empty() {
        return Err(refused(faults));
    }
    let mut record = fresh::record(&contract, opening, at, &limits, address, digest::sha256_hex(text.as_bytes()));
    (record.spent_earliest, record.spent_latest) = limits::budget_spent(&contract, &record, at);
    record.warnings = limits::warnings(&contract, &record, opening);
    let mut step = Step { contract: &contract, r: record, at, facts: Facts::default(), retry_after: None, lost: false };
    let next = if opening.submission_unknown {
        step.escalate(Reason::SubmissionUnknown)
    } else {
        first_poll::first_poll(&mut step, submission.as_ref())?
    };
    let event = Event { at, what: What::Opened { opening: Box::new(opening.clone()) } };
    step.finish(None, event, next)
}

/// The opening as entry 1 keeps it: a secret address by its digest (D31).
fn without_secrets(contract: &Contract, opening: &Opening) -> Opening {
    let mut opening = opening.clone();
    if let Some(kept) = opening.address.as_deref().and_then(|address| request::kept(contract, address)) {
        opening.address = Some(kept);
    }
    opening
}

/// The job of an opening as one text (D4), before its limits are looked at.
///
/// # Errors
/// `invalid_contract`, or `invalid_opening` where id parts or address are at fault.
pub fn job(contract: &str, opening: &Opening) -> Result<String, Refusal> {
    let contract = step::contract(contract)?;
    let mut faults = Vec::new();
    if !opening.submission_unknown {
        check_job(&contract, &opening.job, "/job", &mut faults);
    }
    let submission = read_submission(opening, &mut faults);
    let address =
        if faults.is_empty() { address::address(&contract, opening, submission.as_ref(), &mut faults) } else { None };
    if !faults.is_empty() {
        return Err(refused(faults));
    }
    Ok(provider_job_id(&contract, opening, address.as_ref()))
}

/// Opening again (D4): with the contract and the limits that were given the first time, the operation there is answers.
///
/// # Errors
/// `contract_mismatch` or `invalid_opening`, naming the operation and what differs; `invalid_record`.
pub fn rejoin(contract: &str, record: &str, opening: &Opening) -> Result<crate::api::Operation, Refusal> {
    let known = Record::parse(record)?;
    let id = &known.operation_id;
    let again = digest::sha256_hex(contract.as_bytes());
    // An amended operation was opened under a contract that its opener may still hold.
    if known.contract_digest != again {
        return Err(Refusal::new(
            RefusalKind::ContractMismatch,
            format!(
                "operation `{id}` waits for this job already, under the contract with SHA-256 {}, not {again}: use that \
                 text, or adopt the new one with `amend`",
                known.contract_digest
            ),
        ));
    }
    let mut faults = Vec::new();
    let (old, new) = (&known.limits_given, &opening.limits);
    for (name, same) in [
        ("deadline", old.deadline == new.deadline),
        ("useful_until", old.useful_until == new.useful_until),
        ("max_status_requests", old.max_status_requests == new.max_status_requests),
        ("max_transport_failures", old.max_transport_failures == new.max_transport_failures),
        ("max_throttles", old.max_throttles == new.max_throttles),
    ] {
        if !same {
            fault(&mut faults, &format!("/limits/{name}"), format!("`{name}` is not as it was given the first time"));
        }
    }
    if opening.fingerprint.is_some() && opening.fingerprint != known.fingerprint {
        fault(&mut faults, "/fingerprint", "the fingerprint is another original request's");
    }
    if faults.is_empty() {
        return Ok(known.view(digest::sha256_hex(record.as_bytes())));
    }
    let words: Vec<String> = faults.iter().map(|f| f.message.clone()).collect();
    let message = format!(
        "operation `{id}` waits, or waited, for this job already, and {}: give the same limits, or decide on that operation (D4)",
        words.join(", ")
    );
    Err(Refusal { kind: RefusalKind::InvalidOpening, message, faults })
}

fn fault(faults: &mut Vec<Fault>, pointer: &str, message: impl Into<String>) {
    let clean = |text: &str| provider_text::clean(text, WHY_BYTES_MAX);
    faults.push(Fault { pointer: clean(pointer), message: clean(&message.into()) });
}

fn refused(mut faults: Vec<Fault>) -> Refusal {
    faults.truncate(FAULTS_MAX);
    let words: Vec<&str> = faults.iter().take(8).map(|f| f.message.as_str()).collect();
    Refusal { kind: RefusalKind::InvalidOpening, message: words.join("; "), faults }
}

/// 64 lower-case hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A name that people and logs can carry: not blank, bounded, no control characters.
pub(crate) fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= NAME_BYTES_MAX && !text.chars().any(char::is_control)
}

/// What a person or an agent says: not blank, bounded, and of control characters only line breaks and tabs.
pub(crate) fn is_words(text: &str) -> bool {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    !text.trim().is_empty() && text.len() <= WHY_BYTES_MAX && !text.chars().any(steers)
}

/// One text for the whole job, from its parts in the contract's order (D4).
pub(crate) fn job_text(contract: &Contract, job: &BTreeMap<String, String>) -> String {
    let parts: Vec<&String> = contract.request.id_parts.iter().filter_map(|name| job.get(name)).collect();
    match parts.as_slice() {
        [one] => (*one).clone(),
        many => {
            let encoded: Vec<String> = many.iter().map(|part| url::encode_segment(part).unwrap_or_default()).collect();
            encoded.join("/")
        }
    }
}

fn provider_job_id(contract: &Contract, opening: &Opening, address: Option<&Address>) -> String {
    match (address, contract.request.id_parts.is_empty() || opening.job.is_empty()) {
        (Some(address), true) => format!("address:{}", address.sha256),
        (None, true) => format!("unknown:{}", opening.operation_id),
        (_, false) => job_text(contract, &opening.job),
    }
}

fn read_submission(opening: &Opening, faults: &mut Vec<Fault>) -> Option<Observation> {
    let text = opening.submission.as_ref()?;
    match serde_json::from_str::<Observation>(text) {
        Ok(observation) if observation.format == observation::FORMAT => Some(observation),
        _ => {
            fault(faults, "/submission", "the submission's answer must be an observation that `observe` made");
            None
        }
    }
}
