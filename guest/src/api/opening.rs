//! What an opening brings (D1 to D3).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fill::{cases, fields},
    time::Instant,
};

/// Everything that is pinned at opening.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Opening {
    /// Unguessable, chosen by the host.
    pub operation_id: String,
    pub namespace: String,
    /// Digest of the component that the operation is pinned to.
    pub component: String,
    pub account: String,
    /// Where the credential is found (`env:NAME`); never the credential.
    pub credential: Option<String>,
    /// Id parts by name; empty where the address alone names the job.
    pub job: BTreeMap<String, String>,
    /// The status address, where the contract takes it from the opening (D28).
    pub address: Option<String>,
    pub ctx: BTreeMap<String, Vec<String>>,
    /// Digest of the original request.
    pub fingerprint: Option<String>,
    pub opened_by: String,
    pub submitted_at: Option<Instant>,
    pub job_expires_at: Option<Instant>,
    pub limits: LimitsGiven,
    /// Raises the contract's approval to one for each request (D41).
    pub approval_per_request: bool,
    /// Length of a lease (D1).
    pub lease_ms: u64,
    /// 32 bytes as 64 hexadecimal digits (D6).
    pub seed: String,
    /// The observation of the submission's answer (D3).
    pub submission: Option<String>,
    /// Nobody knows whether the job was submitted (D3).
    pub submission_unknown: bool,
    /// The host has a key for secret addresses and results (D31).
    pub sealing: bool,
    /// An earlier operation on the same job, decided by an operator (D4).
    pub predecessor: Option<Predecessor>,
}

/// Limits as the opener gave them; what is absent comes from the contract (D2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LimitsGiven {
    pub deadline: Option<TimeLimit>,
    pub useful_until: Option<TimeLimit>,
    pub max_status_requests: Option<u32>,
    pub max_transport_failures: Option<u32>,
    pub max_throttles: Option<u32>,
}

/// A limit in time; a duration compares as a duration (D4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLimit {
    AfterMs(u64),
    At(Instant),
}

/// The operation that this one goes on from (D4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Predecessor {
    pub operation_id: String,
    pub status_requests_used: u32,
    pub transport_failures_used: u32,
    pub throttles_used: u32,
    pub decided_by: String,
    pub why: String,
}

fields! {
    Opening {
        operation_id, namespace, component, account, credential, job = DEFAULT, address, ctx = DEFAULT, fingerprint,
        opened_by, submitted_at, job_expires_at, limits = DEFAULT, approval_per_request = DEFAULT, lease_ms, seed,
        submission, submission_unknown = DEFAULT, sealing = DEFAULT, predecessor,
    }
    LimitsGiven { deadline, useful_until, max_status_requests, max_transport_failures, max_throttles }
    Predecessor { operation_id, status_requests_used, transport_failures_used, throttles_used, decided_by, why }
}

cases! {
    TimeLimit { "after_ms" => AfterMs(ms), "at" => At(at) }
}
