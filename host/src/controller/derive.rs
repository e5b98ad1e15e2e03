//! The store's columns, from the typed view of a record.

use crate::component::types;
use crate::store::{Budget, Derived, Phase};

/// The columns that a record makes; `verify` compares them with those stored (D47).
pub fn derived(operation: &types::Operation) -> Derived {
    let (phase, reason, lease_expires_at, outcome) = match &operation.phase {
        types::Phase::Waiting(_) => (Phase::Waiting, None, None, None),
        types::Phase::Asking(_) => (Phase::Asking, None, None, None),
        types::Phase::Polling(polling) => (Phase::Polling, None, Some(polling.lease_expires_at), None),
        types::Phase::Escalated(reason) => (Phase::Escalated, Some(reason_word(*reason)), None, None),
        types::Phase::Settled(settlement) => (Phase::Settled, None, None, Some(ending_word(settlement.ending))),
    };
    let budget = |spent: &types::Spent| Budget { used: spent.used, max: spent.max };
    Derived {
        operation_id: operation.operation_id.clone(),
        namespace: operation.namespace.clone(),
        contract_id: operation.contract_id.clone(),
        account: operation.account.clone(),
        jobs: jobs(operation),
        contract_digest: operation.contract_digest.clone(),
        component_digest: operation.component_digest.clone(),
        phase,
        reason: reason.map(str::to_owned),
        state: operation.last_known_state.clone(),
        next_at: operation.next_at,
        deadline_at: stop_at(operation),
        revision: operation.revision,
        authority_revision: operation.authority_revision,
        fence: operation.fence,
        lease_expires_at,
        requests: budget(&operation.requests),
        failures: budget(&operation.failures),
        throttles: budget(&operation.throttles),
        head: operation.head.clone(),
        record_sha256: operation.record_sha256.clone(),
        started_at: operation.started_at,
        opened_by: operation.opened_by.clone(),
        outcome: outcome.map(str::to_owned),
    }
}

/// The earlier of deadline and usefulness (D17).
pub(crate) fn stop_at(operation: &types::Operation) -> u64 {
    operation.useful_until.map_or(operation.deadline_at, |useful| useful.min(operation.deadline_at))
}

/// The job and the ids it went on under; none while nobody knows the job (D3).
fn jobs(operation: &types::Operation) -> Vec<String> {
    if operation.provider_job_id == format!("unknown:{}", operation.operation_id) {
        return Vec::new();
    }
    let mut jobs = vec![operation.provider_job_id.clone()];
    jobs.extend(operation.followed.iter().cloned());
    jobs
}

/// The word of a reason in records, columns and messages.
pub fn reason_word(reason: types::Reason) -> &'static str {
    use types::Reason as R;
    match reason {
        R::DeadlineExceeded => "deadline_exceeded",
        R::UsefulnessExpired => "usefulness_expired",
        R::ProviderWaitExceedsDeadline => "provider_wait_exceeds_deadline",
        R::RequestBudgetExhausted => "request_budget_exhausted",
        R::RateLimited => "rate_limited",
        R::ProviderFailure => "provider_failure",
        R::AmbiguousDelivery => "ambiguous_delivery",
        R::AuthorizationDenied => "authorization_denied",
        R::UnknownState => "unknown_state",
        R::UnreadableResponse => "unreadable_response",
        R::IntegrationFailure => "integration_failure",
        R::ContradictoryResponse => "contradictory_response",
        R::PartialResult => "partial_result",
        R::NeedsAction => "needs_action",
        R::IdentityMismatch => "identity_mismatch",
        R::SubmissionUnknown => "submission_unknown",
        R::PolicyFault => "policy_fault",
        R::JobFailed => "job_failed",
        R::JobCancelled => "job_cancelled",
        R::JobExpired => "job_expired",
    }
}

/// Whether a reason asks for a decision (D33); the others inform.
pub fn asks(reason: types::Reason) -> bool {
    use types::Reason as R;
    !matches!(reason, R::JobFailed | R::JobCancelled | R::JobExpired)
}

/// The word of an ending.
pub fn ending_word(ending: types::Ending) -> &'static str {
    match ending {
        types::Ending::Succeeded => "succeeded",
        types::Ending::Accepted => "accepted",
        types::Ending::Closed => "closed",
    }
}

/// The word of a fault of the component.
pub fn fault_word(kind: types::FaultKind) -> &'static str {
    match kind {
        types::FaultKind::Trap => "trap",
        types::FaultKind::OutOfFuel => "out_of_fuel",
        types::FaultKind::OutOfMemory => "out_of_memory",
        types::FaultKind::OutOfBounds => "out_of_bounds",
    }
}

/// The fault of a word.
pub fn fault_kind(word: &str) -> types::FaultKind {
    match word {
        "out_of_fuel" => types::FaultKind::OutOfFuel,
        "out_of_memory" => types::FaultKind::OutOfMemory,
        "out_of_bounds" => types::FaultKind::OutOfBounds,
        _ => types::FaultKind::Trap,
    }
}
