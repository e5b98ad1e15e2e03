//! A contract's own samples: each answer must come out as the contract says it does.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use crate::{
    api::{Answer, Body, Fault, Reason},
    classify::{self, Judged, Judgement, Known},
    contract::{AddressSpec, Contract, Outcome, Sample},
    observation::Observation,
    observe, request,
    time::Instant,
    url::{self, Url},
};

/// When every sample is answered: samples have no time of their own, and must come out alike on any day.
const ANSWERED_AT_MS: u64 = 1_800_000_000_000;

/// Observes and classifies every sample. One fault for each that doesn't come out as expected, at its `expect`.
///
/// An expectation is an outcome's word or a reason's; an outcome that always ends the wait in one reason may be given
/// as that reason.
pub fn run(contract: &Contract) -> Vec<Fault> {
    let at = Instant::from_ms(ANSWERED_AT_MS);
    let fault = |(index, sample): (usize, &Sample)| {
        let message = at.map_or_else(|| Some("can't be read".into()), |at| check(contract, sample, at))?;
        Some(Fault { pointer: format!("/samples/{index}/expect"), message })
    };
    contract.samples.iter().enumerate().filter_map(fault).collect()
}

/// What is wrong with a sample; `None` where it comes out as expected.
fn check(contract: &Contract, sample: &Sample, at: Instant) -> Option<String> {
    let answer = Answer {
        status: sample.status,
        headers: sample.headers.clone(),
        body: sample.body.clone().map_or(Body::None, Body::Text),
        incomplete: None,
        sent_at: at,
        received_at: at,
    };
    let observed = observe::observe(contract, base(contract, sample).as_ref(), &answer);
    let Ok(observation) = serde_json::from_str::<Observation>(&observed.observation) else {
        return Some(format!("sample `{}` can't be observed", sample.name));
    };
    let known = Known {
        job: &sample.job,
        account: "",
        ctx: &sample.ctx,
        incarnation: &BTreeMap::new(),
        conditional_sent: contract.request.conditional,
    };
    let judgement = classify::classify(contract, &known, &observation);
    if words(judgement.judged).contains(&sample.expect.as_str()) {
        return None;
    }
    Some(told(sample, &judgement))
}

fn told(sample: &Sample, judgement: &Judgement) -> String {
    let out = words(judgement.judged).first().copied().unwrap_or_default();
    let by = match judgement.rule {
        Some(rule) => format!("by rule {rule}"),
        None => "by no rule of `decide`".into(),
    };
    let notes = judgement.notes.join("; ");
    let notes = if notes.is_empty() { notes } else { format!(": {notes}") };
    format!("sample `{}` came out as `{out}`, not as `{}`, {by}{notes}", sample.name, sample.expect)
}

/// The words that a verdict may be expected by, the first being its own.
fn words(judged: Judged) -> Vec<&'static str> {
    match judged {
        Judged::Is(outcome) => {
            let reason = match outcome {
                Outcome::Partial => Some(Reason::PartialResult),
                Outcome::Failed => Some(Reason::JobFailed),
                Outcome::Cancelled => Some(Reason::JobCancelled),
                Outcome::Expired => Some(Reason::JobExpired),
                Outcome::Unknown => Some(Reason::UnknownState),
                Outcome::Unauthorized => Some(Reason::AuthorizationDenied),
                _ => None,
            };
            [Some(outcome.as_str()), reason.map(Reason::as_str)].into_iter().flatten().collect()
        }
        Judged::Stop(reason) => Vec::from([reason.as_str()]),
        Judged::NotModified => Vec::from(["not_modified"]),
    }
}

/// The address that the sample's answer would come from; without one, some address of the contract's first origin.
fn base(contract: &Contract, sample: &Sample) -> Option<Url> {
    let filled = match &contract.request.address {
        AddressSpec::Template(template) => url::fill(template, &request::values(&sample.job, &sample.ctx)).ok(),
        AddressSpec::From(_) => None,
    };
    filled.or_else(|| Url::parse(&contract.origins.first()?.origin).ok())
}

#[cfg(test)]
mod tests;
