//! What an opening brings (D1 to D3).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::time::Instant;

/// Everything that is pinned at opening.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// Unguessable, chosen by the host.
    pub operation_id: String,
    pub namespace: String,
    /// Digest of the component that the operation is pinned to.
    pub component: String,
    pub account: String,
    /// Where the credential is found (`env:NAME`); never the credential.
    #[serde(default)]
    pub credential: Option<String>,
    /// Id parts by name; empty where the address alone names the job.
    #[serde(default)]
    pub job: BTreeMap<String, String>,
    /// The status address, where the contract takes it from the opening (D28).
    #[serde(default)]
    pub address: Option<String>,
    #[serde(default)]
    pub ctx: BTreeMap<String, Vec<String>>,
    /// Digest of the original request.
    #[serde(default)]
    pub fingerprint: Option<String>,
    pub opened_by: String,
    #[serde(default)]
    pub submitted_at: Option<Instant>,
    #[serde(default)]
    pub job_expires_at: Option<Instant>,
    #[serde(default)]
    pub limits: LimitsGiven,
    /// Raises the contract's approval to one for each request (D41).
    #[serde(default)]
    pub approval_per_request: bool,
    /// Length of a lease (D1).
    pub lease_ms: u64,
    /// 32 bytes as 64 hexadecimal digits (D6).
    pub seed: String,
    /// The observation of the submission's answer (D3).
    #[serde(default)]
    pub submission: Option<String>,
    /// Nobody knows whether the job was submitted (D3).
    #[serde(default)]
    pub submission_unknown: bool,
    /// The host has a key for secret addresses and results (D31).
    #[serde(default)]
    pub sealing: bool,
    /// An earlier operation on the same job, decided by an operator (D4).
    #[serde(default)]
    pub predecessor: Option<Predecessor>,
}

/// Limits as the opener gave them; what is absent comes from the contract (D2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsGiven {
    #[serde(default)]
    pub deadline: Option<TimeLimit>,
    #[serde(default)]
    pub useful_until: Option<TimeLimit>,
    #[serde(default)]
    pub max_status_requests: Option<u32>,
    #[serde(default)]
    pub max_transport_failures: Option<u32>,
    #[serde(default)]
    pub max_throttles: Option<u32>,
}

/// A limit in time; a duration compares as a duration (D4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TimeLimit {
    AfterMs(u64),
    At(Instant),
}

/// The operation that this one goes on from (D4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predecessor {
    pub operation_id: String,
    pub status_requests_used: u32,
    pub transport_failures_used: u32,
    pub throttles_used: u32,
    pub decided_by: String,
    pub why: String,
}
