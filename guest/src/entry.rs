//! One line of the log: the whole event, what it led to, and the chain (D46, D47).
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

use alloc::{format, string::String, vec::Vec};

use serde::Serialize;

use crate::{
    api::{Action, DelaySource, Event, Reason, Refusal, RefusalKind, Spent},
    contract::Outcome,
    digest,
    fill::fields,
    guidance::Rejected,
    limits,
    time::Instant,
};

/// The format that this build writes and reads.
pub const FORMAT: &str = "sondeo.entry/1";

/// How the next time was chosen (D23 to D25).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delay {
    pub source: DelaySource,
    /// From when it counts.
    pub from: Instant,
    pub ms: u64,
    /// `deadline` or `useful_until`, if that cut it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipped: Option<String>,
}

/// What was made of the event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Facts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Index of the contract's rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guidance_rejected: Vec<Rejected>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub requests: Spent,
    pub failures: Spent,
    pub throttles: Spent,
    pub backoff_n: u32,
    pub deadline_at: Instant,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Instant>,
    pub action: Action,
    pub fence: u64,
    pub contract_digest: String,
    pub component_digest: String,
    /// SHA-256 of the record that the step started from; none at the opening.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_before: Option<String>,
    pub sentence: String,
    /// SHA-256 of the entry before; none at the opening.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// SHA-256 of this entry's canonical bytes without this member, which is left out while it is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sha256: String,
}

fields! {
    Delay { source, from, ms, clipped }
    Facts { outcome, rule, delay, guidance_rejected = DEFAULT, notes = DEFAULT }
    // In the order of canonical text, so that each is found at first look.
    Entry {
        action, at, backoff_n, component_digest, contract_digest, deadline_at, event, facts, failures, fence, format,
        next_at, operation_id, phase, previous, reason, record_before, requests, revision_before, sentence, sequence,
        sha256, state, throttles,
    }
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
        let mut entry: Entry = serde_json::from_str(text)
            .map_err(|error| format!("can't be read: line {}, column {}", error.line(), error.column()))?;
        if entry.format != FORMAT {
            return Err(format!(
                "has the format `{}`, this build reads `{FORMAT}`",
                crate::provider_text::clean(&entry.format, 64)
            ));
        }
        let stated = core::mem::take(&mut entry.sha256);
        let canonical = entry.seal().map_err(|refusal| refusal.message)?;
        if entry.sha256 != stated {
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
        let broken = |_| Refusal::new(RefusalKind::InvalidEvent, "the entry can't be written as JSON");
        self.sha256.clear();
        let bare = digest::canonical_of_any(self).map_err(broken)?;
        self.sha256 = digest::sha256_hex(bare.as_bytes());
        let text = digest::with_member(&bare, "sha256", &self.sha256).map_err(broken)?;
        if text.len() > limits::RECORD_BYTES_MAX {
            return Err(Refusal::new(RefusalKind::InvalidEvent, "the entry would outgrow its limit"));
        }
        Ok(text)
    }
}
