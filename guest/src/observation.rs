//! An answer reduced to what the contract names, plus the digest of the body: what the log keeps, and all that a step
//! classifies by (RULES "Terms"). No body and no secret is in it.
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{api::TransportFault, contract::Place, time::Instant};

/// The format that this build writes and reads.
pub const FORMAT: &str = "sondeo.observation/1";

/// One answer, reduced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    pub format: String,
    pub status: u16,
    pub sent_at: Instant,
    pub received_at: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<TransportFault>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    pub body: BodyFact,
    /// By place: `/pointer` or `header:name`. What is absent from the answer is absent here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Seen>,
    /// By array pointer: each element's values, by pointer into the element.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrays: BTreeMap<String, Vec<BTreeMap<String, Seen>>>,
    /// The provider's error, bounded; provider text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// A status address that the answer names where the contract said (D28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Named>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

/// The body, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyFact {
    pub kind: BodyKind,
    /// Why it is unreadable: `not_utf8`, `too_large`, `not_json`, `too_deep`, `array_too_long`, `duplicate_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    None,
    Json,
    Text,
    Unreadable,
}

/// A value at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Seen {
    Null,
    Bool(bool),
    /// The number's own text.
    Number(String),
    Text(String),
    /// A text, or the text of a number, too long to keep.
    Long {
        bytes: u64,
        sha256: String,
        #[serde(default, skip_serializing_if = "is_false")]
        number: bool,
    },
    /// How many elements.
    Array(u64),
    /// How many members.
    Object(u64),
    /// A result's reference: never its value (D11).
    Reference(RefSeen),
    /// A header that stands more than once.
    Repeated(Vec<String>),
}

/// A result reference, by presence and digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefSeen {
    /// `null`, `bool`, `number`, `text`, `array` or `object`.
    pub kind: String,
    /// Empty text, array or object.
    pub empty: bool,
    pub sha256: String,
    /// The origin, where it is an absolute URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Its value is kept sealed, or not at all (D31).
    #[serde(default, skip_serializing_if = "is_false")]
    pub secret: bool,
}

/// A status address: what may be shown of it, and the digest of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Named {
    Address {
        /// The whole where nothing in it is secret, else origin and path.
        url: String,
        sha256: String,
        secret: bool,
    },
    /// Not a URL, another scheme, user information, or a foreign origin: neither used nor kept.
    Refused { why: String },
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The key of a place in [`Observation::values`].
pub fn key(place: &Place) -> String {
    match place {
        Place::At(pointer) => pointer.as_str().into(),
        Place::Header(name) => alloc::format!("header:{name}"),
    }
}

impl Observation {
    /// The value at a place; `None` where the answer had none.
    pub fn at(&self, place: &Place) -> Option<&Seen> {
        self.values.get(&key(place))
    }
}
