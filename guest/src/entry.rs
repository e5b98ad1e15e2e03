//! One line of the log: the whole event, what it led to, and the chain (D46, D47).
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

use alloc::{format, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    api::{Action, DelaySource, Event, Reason, Refusal, RefusalKind, Spent},
    contract::Outcome,
    digest,
    guidance::Rejected,
    limits,
    time::Instant,
};

/// The format that this build writes and reads.
pub const FORMAT: &str = "sondeo.entry/1";

/// How the next time was chosen (D23 to D25).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    pub source: DelaySource,
    /// From when it counts.
    pub from: Instant,
    pub ms: u64,
    /// `deadline` or `useful_until`, if that cut it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<String>,
}

/// What was made of the event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Index of the contract's rule that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidance_rejected: Vec<Rejected>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub format: String,
    pub operation_id: String,
    /// From 1, without gaps; the revision after.
    pub sequence: u64,
    pub revision_before: u64,
    pub event: Event,
    /// When it is taken to have happened: not before the entry before it.
    pub at: Instant,
    pub facts: Facts,
    pub phase: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub requests: Spent,
    pub failures: Spent,
    pub throttles: Spent,
    pub backoff_n: u32,
    pub deadline_at: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Instant>,
    pub action: Action,
    pub fence: u64,
    pub contract_digest: String,
    pub component_digest: String,
    /// SHA-256 of the record that the step started from; none at the opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_before: Option<String>,
    pub sentence: String,
    /// SHA-256 of the entry before; none at the opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// SHA-256 of this entry's canonical bytes without this member.
    pub sha256: String,
}

impl Entry {
    /// Reads an entry's text and checks that it is canonical and that its digest is its own.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn parse(text: &str) -> Result<Entry, String> {
        if text.len() > limits::RECORD_BYTES_MAX {
            return Err("longer than any that this build writes".into());
        }
        let entry: Entry = serde_json::from_str(text)
            .map_err(|error| format!("can't be read: line {}, column {}", error.line(), error.column()))?;
        if entry.format != FORMAT {
            return Err(format!(
                "has the format `{}`, this build reads `{FORMAT}`",
                crate::provider_text::clean(&entry.format, 64)
            ));
        }
        let (canonical, sha256) = entry.sealed_text().map_err(|refusal| refusal.message)?;
        if sha256 != entry.sha256 {
            return Err("its bytes are not those that its digest was made of".into());
        }
        if canonical != text {
            return Err("it is not in canonical form".into());
        }
        Ok(entry)
    }

    /// Sets the entry's digest and gives its canonical text.
    ///
    /// # Errors
    /// `invalid_event` if it would outgrow its limit.
    pub fn seal(&mut self) -> Result<String, Refusal> {
        let (text, sha256) = self.sealed_text()?;
        self.sha256 = sha256;
        Ok(text)
    }

    /// The canonical text with the right digest, and that digest.
    fn sealed_text(&self) -> Result<(String, String), Refusal> {
        let broken = || Refusal::new(RefusalKind::InvalidEvent, "the entry can't be written as JSON");
        let mut value = serde_json::to_value(self).map_err(|_| broken())?;
        let map = value.as_object_mut().ok_or_else(broken)?;
        map.remove("sha256");
        let sha256 = digest::sha256_hex(digest::canonical(&value).as_bytes());
        let map = value.as_object_mut().ok_or_else(broken)?;
        map.insert("sha256".into(), serde_json::Value::String(sha256.clone()));
        let text = digest::canonical(&value);
        if text.len() > limits::RECORD_BYTES_MAX {
            return Err(Refusal::new(RefusalKind::InvalidEvent, "the entry would outgrow its limit"));
        }
        Ok((text, sha256))
    }
}
