//! What a person decides, and what an agent may only propose (D38 to D41).

use alloc::{collections::BTreeMap, string::String};

use serde::{Deserialize, Serialize};

use crate::time::Instant;

/// One decision; the same id again changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    #[serde(default)]
    pub proposal: Option<String>,
}

/// The options that change a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DecisionWhat {
    Extend {
        extension: Extension,
        /// What was done (`needs_action`).
        #[serde(default)]
        done: Option<String>,
    },
    /// Stepped with the new contract's text.
    Amend {
        contract: String,
        #[serde(default)]
        extension: Option<Extension>,
    },
    RenewCredential {
        renewal: Renewal,
        /// Another reference; absent: the same.
        #[serde(default)]
        credential: Option<String>,
        #[serde(default)]
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
        #[serde(default)]
        extension: Option<Extension>,
    },
    /// `submission_unknown`: the job was found.
    Adopt {
        job: BTreeMap<String, String>,
        #[serde(default)]
        address: Option<String>,
        #[serde(default)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Renewal {
    /// Its keyed digest must differ from the refused one's.
    Rotated { digest: String },
    /// Attested by name.
    AccessRestored,
}

/// Amounts that are added; time counts from the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    #[serde(default)]
    pub time_ms: u64,
    #[serde(default)]
    pub requests: u32,
    #[serde(default)]
    pub failures: u32,
    #[serde(default)]
    pub throttles: u32,
    #[serde(default)]
    pub useful_until: Option<Instant>,
}

/// An agent's bounded request for a grant; changes nothing (D39).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    pub id: String,
    pub by: String,
    pub why: String,
    pub extension: Extension,
    pub expected_effect: String,
}
