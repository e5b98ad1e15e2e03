//! What a person decides, and what an agent may only propose (D38 to D41).

use alloc::{collections::BTreeMap, string::String};

use serde::Serialize;

use crate::{
    fill::{cases, fields},
    time::Instant,
};

/// One decision; the same id again changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub id: String,
    pub by: String,
    /// `operator`, or `os_user` where nothing verified the name (D40).
    pub role: String,
    pub why: String,
    /// The revision seen: the record's `authority_revision` (D38).
    pub revision: u64,
    pub what: DecisionWhat,
    /// The proposal that this grants.
    pub proposal: Option<String>,
}

/// The options that change a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionWhat {
    Extend {
        extension: Extension,
        /// What was done (`needs_action`).
        done: Option<String>,
    },
    /// Stepped with the new contract's text.
    Amend {
        contract: String,
        extension: Option<Extension>,
    },
    RenewCredential {
        renewal: Renewal,
        /// Another reference; absent: the same.
        credential: Option<String>,
        extension: Option<Extension>,
    },
    AcceptResult,
    /// Ask nobody again before this instant.
    Hold {
        until: Instant,
    },
    Close,
    /// The provider was, or will be, asked to cancel; the wait goes on only within limits (D36).
    Cancel {
        extension: Option<Extension>,
    },
    /// `submission_unknown`: the job was found.
    Adopt {
        job: BTreeMap<String, String>,
        address: Option<String>,
        extension: Option<Extension>,
    },
    Resubmit,
    NewOperation {
        operation_id: String,
    },
    /// D41: exactly this attempt may go.
    Approve {
        attempt: u32,
    },
    /// D39: a proposal is turned down.
    Decline {
        proposal: String,
    },
}

/// How a credential was mended (D33).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Renewal {
    /// Its keyed digest must differ from the refused one's.
    Rotated { digest: String },
    /// Attested by name.
    AccessRestored,
}

/// Amounts that are added; time counts from the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Extension {
    pub time_ms: u64,
    pub requests: u32,
    pub failures: u32,
    pub throttles: u32,
    pub useful_until: Option<Instant>,
}

/// An agent's bounded request for a grant; changes nothing (D39).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    pub id: String,
    pub by: String,
    pub why: String,
    pub extension: Extension,
    pub expected_effect: String,
}

fields! {
    Decision { id, by, role, why, revision, what, proposal }
    Extension { time_ms = DEFAULT, requests = DEFAULT, failures = DEFAULT, throttles = DEFAULT, useful_until }
    Proposal { id, by, why, extension, expected_effect }
}

cases! {
    DecisionWhat {
        "extend" => Extend { extension, done },
        "amend" => Amend { contract, extension },
        "renew_credential" => RenewCredential { renewal, credential, extension },
        "accept_result" => AcceptResult,
        "hold" => Hold { until },
        "close" => Close,
        "cancel" => Cancel { extension },
        "adopt" => Adopt { job, address, extension },
        "resubmit" => Resubmit,
        "new_operation" => NewOperation { operation_id },
        "approve" => Approve { attempt },
        "decline" => Decline { proposal },
    }
    Renewal { "rotated" => Rotated { digest }, "access_restored" => AccessRestored }
}
