//! The durable state of one wait. The component owns its text (canonical JSON, RFC 8785); a host saves it whole.
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    api::{DelaySource, Exchange, LimitsGiven, Operation, Phase, Proposal, Refusal, RefusalKind, ResultRef, Spent},
    contract::Outcome,
    digest,
    fill::fields,
    limits,
    time::Instant,
};

/// The format that this build writes and reads.
pub const FORMAT: &str = "sondeo.record/1";

/// The status address in force (D28, D31).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Address {
    /// The whole, or origin and path where the query is secret.
    pub url: String,
    /// SHA-256 of the whole.
    pub sha256: String,
    pub secret: bool,
    /// It was built from the contract's template, and is built again when that changes.
    pub template: bool,
}

/// A decision that was applied: its id, the digest of its text, and the revision it made (D38).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    pub id: String,
    pub sha256: String,
    pub revision: u64,
}

/// One operation. Field names are the essay's where it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    pub format: String,
    pub operation_id: String,
    pub namespace: String,
    pub contract_id: String,
    pub contract_digest: String,
    pub component_digest: String,
    pub account: String,
    pub credential: Option<String>,
    /// Keyed digest of the credential last used (D13, D33).
    pub credential_digest: Option<String>,
    pub provider_job_id: String,
    pub job: BTreeMap<String, String>,
    pub followed: Vec<String>,
    /// Which of the contract's stages is in force.
    pub stage: u32,
    pub follows: u32,
    pub address: Option<Address>,
    pub fingerprint: Option<String>,
    pub ctx: BTreeMap<String, Vec<String>>,
    pub opened_by: String,
    pub predecessor: Option<String>,
    pub submitted_at: Option<Instant>,
    pub limits_given: LimitsGiven,
    pub approval_per_request: bool,
    pub sealing: bool,
    pub lease_ms: u64,
    pub seed: String,

    pub started_at: Instant,
    pub deadline_at: Instant,
    pub useful_until: Option<Instant>,
    pub job_expires_at: Option<Instant>,
    pub max_status_requests: u32,
    pub max_transport_failures: u32,
    pub max_throttles: u32,
    pub status_requests_used: u32,
    pub transport_failures_used: u32,
    pub throttles_used: u32,
    pub backoff_n: u32,
    pub spent_earliest: Instant,
    pub spent_latest: Instant,
    pub warnings: Vec<String>,

    pub phase: Phase,
    /// From when the planned delay counts, and how long it is (D45).
    pub planned_at: Instant,
    pub planned_ms: u64,
    /// The provider asked for no request before this (D38, D45).
    pub provider_not_before: Option<Instant>,
    /// The account's pacing asked for no request before this (D44).
    pub paced_until: Option<Instant>,
    pub pushes: u32,
    pub push_waiting: bool,
    pub approved_attempt: Option<u32>,
    pub fence: u64,

    pub last_known_state: Option<String>,
    pub last_outcome: Option<Outcome>,
    pub first_seen_at: Option<Instant>,
    pub last_seen_at: Option<Instant>,
    pub last_exchange: Option<Exchange>,
    pub progress: Option<String>,
    pub error: Option<String>,
    pub etag: Option<String>,
    /// Echoes pinned when first seen, by place (D13).
    pub incarnation: BTreeMap<String, String>,
    pub results: Vec<ResultRef>,
    pub actions: Vec<String>,
    /// A valid success came too late (D17).
    pub late_success: bool,

    pub extensions_used: u32,
    pub denials: u32,
    pub held_until: Option<Instant>,
    pub cancel_requested_at: Option<Instant>,
    pub resubmit_authorized_at: Option<Instant>,
    pub successor: Option<String>,
    pub proposals: Vec<Proposal>,
    pub decisions: Vec<Decided>,
    /// The note that was written last and is not repeated.
    pub last_note: Option<String>,

    /// Time of the last entry; an earlier event is taken at it (D25).
    pub last_at: Instant,
    pub authority_revision: u64,
    /// Number of entries.
    pub revision: u64,
    /// SHA-256 of the last entry (D47).
    pub head: String,
}

fields! {
    Address { url, sha256, secret, template }
    Decided { id, sha256, revision }
    // In the order of canonical text, so that each is found at first look.
    Record {
        account, actions, address, approval_per_request, approved_attempt, authority_revision, backoff_n,
        cancel_requested_at, component_digest, contract_digest, contract_id, credential, credential_digest, ctx,
        deadline_at, decisions, denials, error, etag, extensions_used, fence, fingerprint, first_seen_at, followed,
        follows, format, head, held_until, incarnation, job, job_expires_at, last_at, last_exchange, last_known_state,
        last_note, last_outcome, last_seen_at, late_success, lease_ms, limits_given, max_status_requests,
        max_throttles, max_transport_failures, namespace, opened_by, operation_id, paced_until, phase, planned_at,
        planned_ms, predecessor, progress, proposals, provider_job_id, provider_not_before, push_waiting, pushes,
        resubmit_authorized_at, results, revision, sealing, seed, spent_earliest, spent_latest, stage, started_at,
        status_requests_used, submitted_at, successor, throttles_used, transport_failures_used, useful_until,
        warnings,
    }
}

impl Record {
    /// Reads a record's text.
    ///
    /// # Errors
    /// `unknown_version` for another format, `invalid_record` for text that isn't a canonical record (D47: never
    /// taken as a new one).
    pub fn parse(text: &str) -> Result<Record, Refusal> {
        if text.len() > limits::RECORD_BYTES_MAX {
            return Err(Refusal::new(
                RefusalKind::InvalidRecord,
                "the record is longer than any that this build writes",
            ));
        }
        let record: Record = match serde_json::from_str(text) {
            Ok(record) => record,
            Err(error) => return Err(unreadable(text, &error)),
        };
        if record.format != FORMAT {
            return Err(other_format(&record.format));
        }
        Ok(record)
    }

    /// The canonical text.
    ///
    /// # Errors
    /// `invalid_record` if it has outgrown its limit.
    pub fn text(&self) -> Result<String, Refusal> {
        let text = digest::canonical_of(self)
            .map_err(|_| Refusal::new(RefusalKind::InvalidRecord, "the record can't be written as JSON"))?;
        if text.len() > limits::RECORD_BYTES_MAX {
            return Err(Refusal::new(RefusalKind::InvalidRecord, "the record would outgrow its limit"));
        }
        Ok(text)
    }

    /// The earlier of `useful_until` and `deadline_at`: nothing is sent at or after it (D17).
    pub fn stop_at(&self) -> Instant {
        match self.useful_until {
            Some(useful) => useful.min(self.deadline_at),
            None => self.deadline_at,
        }
    }

    /// Number of the next attempt.
    pub fn next_attempt(&self) -> u32 {
        self.status_requests_used.saturating_add(1)
    }

    /// The whole span of the wait, in milliseconds.
    pub fn span_ms(&self) -> u64 {
        self.deadline_at.since(self.started_at)
    }

    /// The planned next poll, while waiting.
    pub fn next_poll_at(&self) -> Option<(Instant, DelaySource)> {
        match self.phase {
            Phase::Waiting { next_poll_at, source } => Some((next_poll_at, source)),
            _ => None,
        }
    }

    /// When a host should look again; `None` after an end.
    pub fn next_at(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Waiting { next_poll_at, .. } => Some(*next_poll_at),
            Phase::Asking { .. } => Some(self.stop_at()),
            Phase::Polling { lease_expires_at, .. } => Some(*lease_expires_at),
            Phase::Escalated { .. } | Phase::Settled { .. } => None,
        }
    }

    /// The typed view, with the digest of this record's text.
    pub fn view(&self, record_sha256: String) -> Operation {
        Operation {
            operation_id: self.operation_id.clone(),
            namespace: self.namespace.clone(),
            contract_id: self.contract_id.clone(),
            contract_digest: self.contract_digest.clone(),
            component_digest: self.component_digest.clone(),
            account: self.account.clone(),
            credential: self.credential.clone(),
            provider_job_id: self.provider_job_id.clone(),
            followed: self.followed.clone(),
            phase: self.phase.clone(),
            revision: self.revision,
            authority_revision: self.authority_revision,
            fence: self.fence,
            started_at: self.started_at,
            last_at: self.last_at,
            deadline_at: self.deadline_at,
            useful_until: self.useful_until,
            job_expires_at: self.job_expires_at,
            submitted_at: self.submitted_at,
            first_seen_at: self.first_seen_at,
            last_seen_at: self.last_seen_at,
            next_at: self.next_at(),
            requests: Spent { used: self.status_requests_used, max: self.max_status_requests },
            failures: Spent { used: self.transport_failures_used, max: self.max_transport_failures },
            throttles: Spent { used: self.throttles_used, max: self.max_throttles },
            last_known_state: self.last_known_state.clone(),
            last_outcome: self.last_outcome,
            last_exchange: self.last_exchange.clone(),
            progress: self.progress.clone(),
            error: self.error.clone(),
            address: self.address.as_ref().map(|a| a.url.clone()),
            address_secret: self.address.as_ref().filter(|a| a.secret).map(|a| a.sha256.clone()),
            lease_ms: self.lease_ms,
            opened_by: self.opened_by.clone(),
            approval_per_request: self.approval_per_request,
            extensions_used: self.extensions_used,
            warnings: self.warnings.clone(),
            results: self.results.clone(),
            actions: self.actions.clone(),
            head: self.head.clone(),
            record_sha256,
            limits_given: self.limits_given.clone(),
            spent_earliest: self.spent_earliest,
            spent_latest: self.spent_latest,
            held_until: self.held_until,
            proposals: self.proposals.clone(),
        }
    }
}

/// The typed view of a record's text.
///
/// # Errors
/// As [`Record::parse`].
pub fn read(text: &str) -> Result<Operation, Refusal> {
    Ok(Record::parse(text)?.view(digest::sha256_hex(text.as_bytes())))
}

fn unreadable(text: &str, error: &serde_json::Error) -> Refusal {
    #[derive(Deserialize)]
    struct Head {
        format: String,
    }
    match serde_json::from_str::<Head>(text) {
        Ok(head) if head.format != FORMAT => other_format(&head.format),
        _ => Refusal::new(
            RefusalKind::InvalidRecord,
            format!("the record can't be read: line {}, column {}", error.line(), error.column()),
        ),
    }
}

fn other_format(format: &str) -> Refusal {
    Refusal::new(
        RefusalKind::UnknownVersion,
        format!(
            "the record has the format `{}`, this build reads `{FORMAT}`: use the component that wrote it",
            crate::provider_text::clean(format, 64)
        ),
    )
}
