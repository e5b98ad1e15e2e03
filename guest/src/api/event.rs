//! What happened to an operation.

use alloc::{boxed::Box, string::String};

use serde::Serialize;

use super::{Decision, FaultKind, Opening, Proposal, TransportFault};
use crate::{
    fill::{cases, fields},
    observation::Observation,
    time::Instant,
};

/// Something that happened, at a time of the store's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    pub at: Instant,
    pub what: What,
}

/// The kinds of event ("The order of checks").
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Entry 1 only; never stepped.
    Opened { opening: Box<Opening> },
    /// Somebody looked; pure advice.
    Woke { credential: Option<CredentialFact> },
    /// A lease was taken; fences rise.
    Leased { fence: u64, expires_at: Instant, credential: Option<CredentialFact> },
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CredentialFact {
    pub account: Option<String>,
    /// Keyed digest, hexadecimal.
    pub digest: String,
}

/// A callback, checked by the host against the operation's own secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Push {
    /// It carried the operation's own secret.
    pub authentic: bool,
    /// The job that it names.
    pub job: Option<String>,
}

fields! {
    Event { at, what }
    CredentialFact { account, digest }
    Push { authentic, job }
}

cases! {
    What {
        "opened" => Opened { opening },
        "woke" => Woke { credential },
        "leased" => Leased { fence, expires_at, credential },
        "answered" => Answered { attempt, fence, observation },
        "unanswered" => Unanswered { attempt, fence, fault },
        "paced" => Paced { until },
        "pushed" => Pushed { push },
        "proposed" => Proposed { proposal },
        "decided" => Decided { decision },
        "component_changed" => ComponentChanged { component, by },
        "faulted" => Faulted { kind },
    }
}
