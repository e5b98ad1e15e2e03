//! What may be decided after each reason: the closed table of D33, and what of it a contract and a record leave.

use alloc::{format, string::String, vec::Vec};

use crate::{
    api::{Extension, OptionKind, Phase, Reason},
    contract::{Contract, ExtensionSpec},
    record::Record,
    time::{Instant, format_duration},
};

use OptionKind::{
    AcceptResult, Adopt, Amend, Cancel, Close, Extend, Hold, Inspect, NewOperation, RenewCredential, Resubmit,
};

/// Whether somebody with authority must decide (else the reason informs).
pub const fn asks(reason: Reason) -> bool {
    !matches!(reason, Reason::JobFailed | Reason::JobCancelled | Reason::JobExpired)
}

/// The row of D33's table: options besides `hold`, `inspect` and `close`.
pub const fn row(reason: Reason) -> &'static [OptionKind] {
    match reason {
        Reason::DeadlineExceeded | Reason::UsefulnessExpired => &[Extend, Cancel, AcceptResult],
        Reason::ProviderWaitExceedsDeadline
        | Reason::RequestBudgetExhausted
        | Reason::RateLimited
        | Reason::ProviderFailure
        | Reason::AmbiguousDelivery
        | Reason::NeedsAction => &[Extend, Cancel],
        Reason::AuthorizationDenied => &[RenewCredential],
        Reason::UnknownState => &[Amend],
        Reason::UnreadableResponse | Reason::IntegrationFailure | Reason::PolicyFault => &[Amend, Extend],
        Reason::ContradictoryResponse | Reason::PartialResult => &[AcceptResult, Amend, Extend],
        Reason::IdentityMismatch => &[],
        Reason::SubmissionUnknown => &[Adopt, Resubmit],
        Reason::JobFailed | Reason::JobCancelled | Reason::JobExpired => &[NewOperation],
    }
}

/// Every option of the table for this reason, in the order in which it is shown.
pub fn table(reason: Reason) -> Vec<OptionKind> {
    let mut all: Vec<OptionKind> = row(reason).to_vec();
    if asks(reason) {
        all.push(Hold);
    }
    all.push(Inspect);
    all.push(Close);
    all
}

/// The reasons whose `extend` is for one request (D33).
const fn one_request(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::UnreadableResponse
            | Reason::IntegrationFailure
            | Reason::ContradictoryResponse
            | Reason::PartialResult
            | Reason::PolicyFault
    )
}

/// What is offered for a record now: the table, less what the contract or the record takes away.
pub fn offered(contract: &Contract, record: &Record, at: Instant) -> Vec<OptionKind> {
    let Phase::Escalated { reason } = record.phase else {
        return while_waiting(contract, record, at);
    };
    let kept = contract.options.get(&reason);
    table(reason)
        .into_iter()
        .filter(|option| kept.is_none_or(|kept| kept.contains(option) || matches!(option, Hold | Inspect | Close)))
        .filter(|option| available(contract, record, reason, *option, at))
        .collect()
}

/// In `waiting`, `asking` and `polling` (D33, last line).
fn while_waiting(contract: &Contract, record: &Record, at: Instant) -> Vec<OptionKind> {
    let mut options = Vec::new();
    if matches!(record.phase, Phase::Settled { .. }) {
        return options;
    }
    if extension(contract, record, at).is_some() {
        options.push(Extend);
    }
    if contract.cancel.is_some() {
        options.push(Cancel);
    }
    options.push(Inspect);
    options.push(Close);
    options
}

fn available(contract: &Contract, record: &Record, reason: Reason, option: OptionKind, at: Instant) -> bool {
    match option {
        Extend => extension(contract, record, at).is_some(),
        Cancel => contract.cancel.is_some(),
        AcceptResult => match reason {
            Reason::DeadlineExceeded | Reason::UsefulnessExpired => record.late_success,
            _ => !record.results.is_empty(),
        },
        RenewCredential => record.denials < 2,
        Resubmit => contract.submit.as_ref().is_some_and(|s| s.idempotency.is_some()),
        Amend | Adopt | NewOperation | Hold | Inspect | Close => true,
    }
}

/// The most that one `extend` may add now (D34), or none: amounts unset, extensions spent, or a ceiling reached.
pub fn extension(contract: &Contract, record: &Record, at: Instant) -> Option<Extension> {
    let spec = contract.limits.extension?;
    if record.extensions_used >= contract.limits.max_extensions {
        return None;
    }
    let reason = match record.phase {
        Phase::Escalated { reason } => Some(reason),
        _ => None,
    };
    let spec = match reason {
        Some(reason) if one_request(reason) => ExtensionSpec {
            time: spec.time,
            requests: spec.requests.min(1),
            failures: spec.failures.min(1),
            throttles: spec.throttles.min(1),
        },
        _ => spec,
    };
    let extension = within_ceilings(contract, record, spec, at);
    leaves_something(record, &extension, at).then_some(extension)
}

/// D38: an extension that leaves no request, failure, throttle or future deadline would only be refused.
fn leaves_something(record: &Record, most: &Extension, at: Instant) -> bool {
    let budget = |max: u32, used: u32, add: u32| max > used || add > 0;
    let adds = most.time_ms > 0 || most.requests > 0 || most.failures > 0 || most.throttles > 0;
    adds && record.deadline_at.max(at.plus(most.time_ms)) > at
        && budget(record.max_status_requests, record.status_requests_used, most.requests)
        && budget(record.max_transport_failures, record.transport_failures_used, most.failures)
        && budget(record.max_throttles, record.throttles_used, most.throttles)
}

/// Cuts amounts to what the contract's ceilings leave. Budgets count from what is used (D38).
fn within_ceilings(contract: &Contract, record: &Record, spec: ExtensionSpec, at: Instant) -> Extension {
    let ceilings = &contract.limits.ceilings;
    let budget = |add: u32, used: u32, ceiling: Option<u32>| match ceiling {
        Some(ceiling) => add.min(ceiling.saturating_sub(used)),
        None => add,
    };
    let time_ms = match ceilings.deadline {
        Some(ceiling) => spec.time.min(record.started_at.plus(ceiling).since(at)),
        None => spec.time,
    };
    Extension {
        time_ms,
        requests: budget(spec.requests, record.status_requests_used, ceilings.max_status_requests),
        failures: budget(spec.failures, record.transport_failures_used, ceilings.max_transport_failures),
        throttles: budget(spec.throttles, record.throttles_used, ceilings.max_throttles),
        useful_until: None,
    }
}

/// The whole cost and effect of an option, in words (D34).
pub fn effect(contract: &Contract, record: &Record, option: OptionKind, at: Instant) -> String {
    match option {
        Extend => match extension(contract, record, at) {
            Some(extension) => describe(contract, record, &extension, at),
            None => "nothing can be added".into(),
        },
        Cancel => {
            let effect = contract.cancel.as_ref().and_then(|c| c.effect.as_deref()).unwrap_or("cancel at the provider");
            format!("ask the provider to cancel: {effect}; the wait ends only when the provider says so")
        }
        AcceptResult => "take the result that was seen, although it did not pass every check; sends nothing".into(),
        RenewCredential => "go on with a rotated credential, or one whose access was restored; changes no limit".into(),
        Amend => "go on under a revised contract that reads this answer; changes no limit".into(),
        Adopt => "name the job that was found and wait for it".into(),
        Resubmit => "send the original submission once more with the same idempotency key".into(),
        NewOperation => "submit anew under a new key, as a new operation that names this one".into(),
        Hold => "ask nobody again before a time that you name; sends nothing, changes no limit".into(),
        Inspect => match &contract.console {
            Some(url) => format!("look at {}; sends nothing", crate::request::filled(url, &record.job, &record.ctx)),
            None => "look at the provider's own console; sends nothing".into(),
        },
        Close => "end here without a result; sends nothing".into(),
    }
}

/// Amounts in words.
pub(crate) fn amounts(extension: &Extension) -> String {
    let mut parts = Vec::new();
    if extension.time_ms > 0 {
        parts.push(format_duration(extension.time_ms));
    }
    for (amount, one, many) in [
        (extension.requests, "more status request", "more status requests"),
        (extension.failures, "more failure", "more failures"),
        (extension.throttles, "more throttled answer", "more throttled answers"),
    ] {
        match amount {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            n => parts.push(format!("{n} {many}")),
        }
    }
    if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
}

fn describe(contract: &Contract, record: &Record, extension: &Extension, at: Instant) -> String {
    let mut text = format!("add {}", amounts(extension));
    if let Some(price) = &contract.price {
        let micros = price.per_request_micros.saturating_mul(u64::from(extension.requests));
        text.push_str(&format!(" (at most {} {})", crate::contract::decimal(micros), price.currency));
    }
    let until = record.deadline_at.max(at.plus(extension.time_ms));
    text.push_str(&format!("; if decided now, until {until}"));
    if matches!(record.phase, Phase::Escalated { reason: Reason::UsefulnessExpired }) {
        text.push_str("; a new `useful_until` must be named");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table of D33, one line a reason.
    #[test]
    fn d33_the_table_is_closed_and_this() {
        let lines: Vec<String> = Reason::ALL
            .iter()
            .map(|reason| {
                let words: Vec<&str> = table(*reason).iter().map(|o| o.as_str()).collect();
                format!("{reason} {} {}", if asks(*reason) { "asks" } else { "informs" }, words.join(","))
            })
            .collect();
        let golden = "deadline_exceeded asks extend,cancel,accept_result,hold,inspect,close
usefulness_expired asks extend,cancel,accept_result,hold,inspect,close
provider_wait_exceeds_deadline asks extend,cancel,hold,inspect,close
request_budget_exhausted asks extend,cancel,hold,inspect,close
rate_limited asks extend,cancel,hold,inspect,close
provider_failure asks extend,cancel,hold,inspect,close
ambiguous_delivery asks extend,cancel,hold,inspect,close
authorization_denied asks renew_credential,hold,inspect,close
unknown_state asks amend,hold,inspect,close
unreadable_response asks amend,extend,hold,inspect,close
integration_failure asks amend,extend,hold,inspect,close
contradictory_response asks accept_result,amend,extend,hold,inspect,close
partial_result asks accept_result,amend,extend,hold,inspect,close
needs_action asks extend,cancel,hold,inspect,close
identity_mismatch asks hold,inspect,close
submission_unknown asks adopt,resubmit,hold,inspect,close
policy_fault asks amend,extend,hold,inspect,close
job_failed informs new_operation,inspect,close
job_cancelled informs new_operation,inspect,close
job_expired informs new_operation,inspect,close";
        assert_eq!(lines.join("\n"), golden);
    }
}
