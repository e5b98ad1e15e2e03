//! Record and entry as texts: bounded, readable, and chained to each other (D46, D47).

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{Checked, hold};
use crate::component::types::Transition;

/// Bytes of a record or an entry.
const TEXT_BYTES_MAX: usize = 128 << 10;
/// Bytes of a sentence.
const SENTENCE_BYTES_MAX: usize = 4 << 10;

/// What the chain needs of an entry; the rest is the component's own.
#[derive(Deserialize)]
struct Link {
    sequence: u64,
    #[serde(default)]
    previous: Option<String>,
    sha256: String,
}

/// Looks at the texts of a transition from a record with this revision and head.
pub(super) fn check(revision: u64, head: Option<&str>, made: &Transition) -> Checked {
    json("record", &made.record)?;
    let digest = hex::encode(Sha256::digest(made.record.as_bytes()));
    hold(made.operation.record_sha256 == digest, || "`record_sha256` is not the digest of the record".into())?;
    hold(made.entry.is_some() == made.sentence.is_some(), || {
        "an entry has a sentence, and only an entry (D49)".into()
    })?;
    let Some(entry) = &made.entry else {
        return Ok(());
    };
    json("entry", entry)?;
    let link: Link =
        serde_json::from_str(entry).map_err(|error| format!("the entry has no link to the log: {error}"))?;
    let next = revision.saturating_add(1);
    hold(made.operation.revision == next && link.sequence == next, || {
        format!("an entry makes revision {next}, and only that (D46)")
    })?;
    hold(link.sha256 == made.operation.head, || "the record does not name its last entry (D47)".into())?;
    hold(link.previous.as_deref() == head, || "the entry does not name the one before it (D47)".into())?;
    let plain = |text: &String| text.len() <= SENTENCE_BYTES_MAX && !text.chars().any(char::is_control);
    hold(made.sentence.as_ref().is_none_or(plain), || {
        format!("a sentence is one line of at most {SENTENCE_BYTES_MAX} bytes (D49)")
    })
}

/// A bounded JSON object.
fn json(name: &str, text: &str) -> Checked {
    hold(text.len() <= TEXT_BYTES_MAX, || {
        format!("the {name} has {} bytes, where {TEXT_BYTES_MAX} are allowed", text.len())
    })?;
    let read: Result<serde::de::IgnoredAny, _> = serde_json::from_str(text);
    match read {
        Ok(_) if text.starts_with('{') => Ok(()),
        Ok(_) => Err(format!("the {name} is no JSON object")),
        Err(error) => Err(format!("the {name} is not JSON: line {}, column {}", error.line(), error.column())),
    }
}
