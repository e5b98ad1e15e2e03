//! What happened to an operation.

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Serialize};

use super::{Decision, FaultKind, Opening, Proposal, TransportFault};
use crate::{observation::Observation, time::Instant};

/// Something that happened, at a time of the store's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub at: Instant,
    pub what: What,
}

/// The kinds of event ("The order of checks").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// Entry 1 only; never stepped.
    Opened { opening: Box<Opening> },
    /// Somebody looked; pure advice.
    Woke {
        #[serde(default)]
        credential: Option<CredentialFact>,
    },
    /// A lease was taken; fences rise.
    Leased {
        fence: u64,
        expires_at: Instant,
        #[serde(default)]
        credential: Option<CredentialFact>,
    },
    /// The answer to this attempt, as an observation.
    Answered { attempt: u32, fence: u64, observation: Box<Observation> },
    /// This attempt got no answer.
    Unanswered { attempt: u32, fence: u64, fault: TransportFault },
    /// Nothing may be sent for this account before (D44).
    Paced { until: Instant },
    /// A callback came (D45).
    Pushed { push: Push },
    /// An agent asks for a decision (D39).
    Proposed { proposal: Proposal },
    /// A person decided.
    Decided { decision: Box<Decision> },
    /// The operation goes on with another component (D48).
    ComponentChanged { component: String, by: String },
    /// The component failed; the host marked the row (D33).
    Faulted { kind: FaultKind },
}

/// What a credential reference says of itself (D13); never the credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialFact {
    #[serde(default)]
    pub account: Option<String>,
    /// Keyed digest, hexadecimal.
    pub digest: String,
}

/// A callback, checked by the host against the operation's own secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Push {
    /// It carried the operation's own secret.
    pub authentic: bool,
    /// The job that it names.
    #[serde(default)]
    pub job: Option<String>,
}
