//! The types that cross between core and host, and that the log keeps: the same names in `wit/`, in the JSON twin and in
//! entries. Times are [`Instant`]s (RFC 3339 text in JSON), durations are whole milliseconds in fields that end in `_ms`.
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

mod decision;
mod event;
mod opening;
mod words;

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

pub use decision::{Decision, DecisionWhat, Extension, Proposal, Renewal};
pub use event::{CredentialFact, Event, Push, What};
pub use opening::{LimitsGiven, Opening, Predecessor, TimeLimit};
pub use words::{DelaySource, Ending, FaultKind, OptionKind, Outcome, Reason, RefusalKind, TransportFault};

use crate::{
    fill::{cases, fields},
    time::Instant,
};

/// A fault of a contract, at its place (D3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// RFC 6901 pointer into the contract's text; "" is the whole text.
    pub pointer: String,
    pub message: String,
}

/// Why a call was refused; nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub kind: RefusalKind,
    /// Lower case, no full stop, with what to do.
    pub message: String,
    /// The faults of a contract, or the fields at fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Refusal {
    /// A refusal of this kind, without a list of faults.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), faults: Vec::new() }
    }
}

/// What a contract says, for those who only read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractSummary {
    pub id: String,
    pub provider: String,
    pub digest: String,
    pub id_parts: Vec<String>,
    pub ctx: Vec<String>,
    pub origins: Vec<String>,
    /// `none`, `bills` or `changes` (D5).
    pub effects: String,
    pub approval_per_request: bool,
    /// The header that carries the credential.
    pub credential_header: Option<String>,
    /// The status address is given at opening.
    pub needs_address: bool,
    pub timeout_ms: u64,
    pub deadline_ms: Option<u64>,
    pub max_status_requests: Option<u32>,
    pub max_transport_failures: Option<u32>,
    pub max_throttles: Option<u32>,
    /// Things to know, not faults (a `base` far below `typical_duration`, D23).
    pub warnings: Vec<Fault>,
    /// How many samples ran; all came out as stated.
    pub samples: u32,
}

/// The answer to one request as the host received it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub status: u16,
    /// In the order received, doubled ones too.
    pub headers: Vec<(String, String)>,
    pub body: Body,
    /// The exchange did not complete (D14): why.
    pub incomplete: Option<TransportFault>,
    pub sent_at: Instant,
    pub received_at: Instant,
}

/// A body: text, nothing, or unreadable, because.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    None,
    Text(String),
    Unreadable(Unreadable),
}

/// A body that could not be handed over as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// `not_utf8` or `too_large`.
    pub why: String,
    /// SHA-256 of what was received, hexadecimal.
    pub sha256: String,
    pub bytes: u64,
}

/// What `observe` makes of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// Canonical JSON; goes into the event `answered`.
    pub observation: String,
    pub kept: Vec<Kept>,
}

/// A value that the observation names by digest only (D11, D31).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub sha256: String,
    pub value: String,
    /// Keep it sealed.
    pub secret: bool,
    /// `result:NAME` or `address`.
    pub role: String,
}

/// The status request to send (D28, D31). Credentials are by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPlan {
    pub method: String,
    /// The whole address; absent where it is secret.
    pub url: Option<String>,
    /// SHA-256 of a secret address that the host keeps sealed.
    pub secret_url_sha256: Option<String>,
    /// `scheme://host[:port]` of the address.
    pub origin: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    pub origins: Vec<PlanOrigin>,
    pub credential: Option<PlanCredential>,
    pub timeout_ms: u64,
    pub max_body_bytes: u64,
    pub request_id_headers: Vec<String>,
}

/// An origin that may be contacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanOrigin {
    pub origin: String,
    pub allow_private: bool,
}

/// The header to put the credential in, what stands before it, and where it is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCredential {
    pub header: String,
    pub prefix: String,
    pub reference: String,
}

/// The one thing the host may do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A request is due: take a lease.
    Due {
        attempt: u32,
    },
    /// Paid for: send this request now.
    Send {
        attempt: u32,
        timeout_ms: u64,
    },
    Sleep {
        until: Instant,
        source: DelaySource,
    },
    /// Rest until a person approves exactly this attempt (D41).
    AskApproval {
        attempt: u32,
    },
    Escalate {
        reason: Reason,
        options: Vec<OptionKind>,
    },
    Settle {
        settlement: Settlement,
    },
    /// Nothing to do; look again at this instant, if one is given.
    Rest {
        until: Option<Instant>,
        why: String,
    },
}

/// How a wait ended well (D32), and what that permits (D11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settlement {
    pub ending: Ending,
    pub results: Vec<ResultRef>,
    /// Names of the contract's actions whose needs were met.
    pub actions: Vec<String>,
}

/// A result by digest; the value is with the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResultRef {
    pub name: String,
    pub sha256: String,
    pub secret: bool,
}

/// The result of `open` and `step`. Save `record` and `entry` together, or neither.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Canonical JSON. Unchanged where there is no entry.
    pub record: String,
    pub operation: Operation,
    pub action: Action,
    /// Canonical JSON of the one entry that this step appends.
    pub entry: Option<String>,
    pub sentence: Option<String>,
}

/// The phase of an operation, with what is legal in it only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Waiting {
        next_poll_at: Instant,
        source: DelaySource,
    },
    Asking {
        attempt: u32,
    },
    /// Written before the request leaves.
    Polling {
        attempt: u32,
        since: Instant,
        fence: u64,
        lease_expires_at: Instant,
    },
    Escalated {
        reason: Reason,
    },
    Settled {
        settlement: Settlement,
    },
}

/// Used of allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spent {
    pub used: u32,
    pub max: u32,
}

/// Facts of the last exchange (D30).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exchange {
    pub attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<TransportFault>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Instant>,
    /// When the answer, the fault or the loss was known.
    pub at: Instant,
    /// The provider's request id; provider text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// A typed view of a record, for reading; the record's text is the truth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub operation_id: String,
    pub namespace: String,
    pub contract_id: String,
    pub contract_digest: String,
    pub component_digest: String,
    pub account: String,
    pub credential: Option<String>,
    /// All id parts as one text, else the address's digest (D4).
    pub provider_job_id: String,
    /// Ids that `follow` led to (D28).
    pub followed: Vec<String>,
    pub phase: Phase,
    /// Equal to the number of entries.
    pub revision: u64,
    /// The revision that a decision must have seen (D38).
    pub authority_revision: u64,
    pub fence: u64,
    pub started_at: Instant,
    /// Time of the last entry; an earlier event is taken at it (D25).
    pub last_at: Instant,
    pub deadline_at: Instant,
    pub useful_until: Option<Instant>,
    pub job_expires_at: Option<Instant>,
    pub submitted_at: Option<Instant>,
    pub first_seen_at: Option<Instant>,
    pub last_seen_at: Option<Instant>,
    /// When the host should look again: next poll, lease end, deadline; none after an end.
    pub next_at: Option<Instant>,
    pub requests: Spent,
    pub failures: Spent,
    pub throttles: Spent,
    /// The last state word seen; provider text.
    pub last_known_state: Option<String>,
    pub last_outcome: Option<Outcome>,
    pub last_exchange: Option<Exchange>,
    pub progress: Option<String>,
    pub error: Option<String>,
    /// The status address; origin and path only where the query is secret (D31).
    pub address: Option<String>,
    /// SHA-256 of a secret address.
    pub address_secret: Option<String>,
    pub lease_ms: u64,
    pub opened_by: String,
    pub approval_per_request: bool,
    pub extensions_used: u32,
    pub warnings: Vec<String>,
    pub results: Vec<ResultRef>,
    /// What success permits (D11).
    pub actions: Vec<String>,
    /// SHA-256 of the last entry.
    pub head: String,
    /// SHA-256 of the record's text.
    pub record_sha256: String,
    /// Limits as the opening gave them, for D4's comparison.
    pub limits_given: LimitsGiven,
    /// The earliest and latest instant at which the request budget would be spent if every answer were pending (D3).
    pub spent_earliest: Instant,
    pub spent_latest: Instant,
    /// Nobody is asked again before this instant.
    pub held_until: Option<Instant>,
    /// Proposals that wait for a person.
    pub proposals: Vec<Proposal>,
}

/// What a person needs to decide (D33 to D35).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub operation_id: String,
    /// Absent while the wait goes on.
    pub reason: Option<Reason>,
    /// Somebody with authority must decide.
    pub asks: bool,
    /// The revision that a decision must name (D38).
    pub revision: u64,
    pub provider: String,
    pub contract_id: String,
    pub job: String,
    pub account: String,
    /// Provider text: bounded, control characters taken out.
    pub last_state: Option<String>,
    pub error: Option<String>,
    pub submitted_at: Option<Instant>,
    pub first_seen_at: Option<Instant>,
    pub last_seen_at: Option<Instant>,
    pub elapsed_ms: u64,
    pub requests: Spent,
    pub failures: Spent,
    pub throttles: Spent,
    pub last_exchange: Option<Exchange>,
    pub held_until: Option<Instant>,
    pub options: Vec<NoticeOption>,
    /// The whole as plain text, one line a fact.
    pub text: String,
}

/// One closed option with its whole cost and effect (D34).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeOption {
    pub option: OptionKind,
    pub effect: String,
    /// What `extend` adds.
    pub extension: Option<Extension>,
    /// The deadline if decided now.
    pub until: Option<Instant>,
}

/// Name, version and formats of this build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub version: String,
    pub contract_format: String,
    pub record_format: String,
    pub entry_format: String,
    pub observation_format: String,
}

fields! {
    Answer { status, headers, body, incomplete, sent_at, received_at }
    Unreadable { why, sha256, bytes }
    Settlement { ending, results, actions }
    Spent { used, max }
    ResultRef { name, sha256, secret = DEFAULT }
    Exchange { attempt, status, fault, sent_at, at, request_id }
}

cases! {
    Body { "none" => None, "text" => Text(text), "unreadable" => Unreadable(unreadable) }
    Action {
        "due" => Due { attempt },
        "send" => Send { attempt, timeout_ms },
        "sleep" => Sleep { until, source },
        "ask_approval" => AskApproval { attempt },
        "escalate" => Escalate { reason, options },
        "settle" => Settle { settlement },
        "rest" => Rest { until, why },
    }
    Phase {
        "waiting" => Waiting { next_poll_at, source },
        "asking" => Asking { attempt },
        "polling" => Polling { attempt, since, fence, lease_expires_at },
        "escalated" => Escalated { reason },
        "settled" => Settled { settlement },
    }
}
