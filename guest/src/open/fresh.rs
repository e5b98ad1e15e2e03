//! The first record: everything that is pinned, nothing used (D1).

use alloc::string::String;

use super::{limits::Resolved, provider_job_id};
use crate::{
    api::{DelaySource, Opening, Phase},
    contract::{Approval, Contract, EffectsKind},
    fill::Blank,
    record::{self, Address, Record},
    time::Instant,
};

pub(super) fn record(
    contract: &Contract,
    opening: &Opening,
    at: Instant,
    limits: &Resolved,
    address: Option<Address>,
    contract_digest: String,
) -> Record {
    let provider_job_id = provider_job_id(contract, opening, address.as_ref());
    let used = opening.predecessor.as_ref();
    Record {
        format: record::FORMAT.into(),
        operation_id: opening.operation_id.clone(),
        namespace: opening.namespace.clone(),
        contract_id: contract.id.clone(),
        contract_digest,
        component_digest: opening.component.clone(),
        account: opening.account.clone(),
        credential: opening.credential.clone(),
        provider_job_id,
        job: opening.job.clone(),
        address,
        fingerprint: opening.fingerprint.clone(),
        ctx: opening.ctx.clone(),
        opened_by: opening.opened_by.clone(),
        predecessor: used.map(|p| p.operation_id.clone()),
        submitted_at: opening.submitted_at,
        limits_given: opening.limits.clone(),
        approval_per_request: opening.approval_per_request
            || contract.approval == Approval::PerRequest
            || contract.effects.kind != EffectsKind::None,
        sealing: opening.sealing,
        lease_ms: opening.lease_ms,
        seed: opening.seed.clone(),
        started_at: at,
        deadline_at: limits.deadline_at,
        useful_until: limits.useful_until,
        job_expires_at: opening.job_expires_at,
        max_status_requests: limits.requests,
        max_transport_failures: limits.failures,
        max_throttles: limits.throttles,
        status_requests_used: used.map_or(0, |p| p.status_requests_used),
        transport_failures_used: used.map_or(0, |p| p.transport_failures_used),
        throttles_used: used.map_or(0, |p| p.throttles_used),
        spent_earliest: at,
        spent_latest: at,
        phase: Phase::Waiting { next_poll_at: at, source: DelaySource::FirstDelay },
        planned_at: at,
        last_at: at,
        // Nothing was seen, used, planned or decided.
        ..Record::blank()
    }
}
