//! An answer reduced to what the contract names, plus the digest of the body: what the log keeps, and all that a step
//! classifies by (RULES "Terms"). No body and no secret is in it.
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::Serialize;

use crate::{
    api::TransportFault,
    contract::Place,
    fill::{cases, fields},
    time::Instant,
};

/// The format that this build writes and reads.
pub const FORMAT: &str = "sondeo.observation/1";

/// One answer, reduced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Observation {
    pub format: String,
    pub status: u16,
    pub sent_at: Instant,
    pub received_at: Instant,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<TransportFault>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    pub body: BodyFact,
    /// By place: `/pointer` or `header:name`. What is absent from the answer is absent here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Seen>,
    /// By array pointer: each element's values, by pointer into the element.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arrays: BTreeMap<String, Vec<BTreeMap<String, Seen>>>,
    /// The provider's error, bounded; provider text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// A status address that the answer names where the contract said (D28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

/// The body, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BodyFact {
    pub kind: BodyKind,
    /// Why it is unreadable: `not_utf8`, `too_large`, `not_json`, `too_deep`, `array_too_long`, `duplicate_key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    None,
    Json,
    Text,
    Unreadable,
}

/// A value at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
        #[serde(skip_serializing_if = "is_false")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefSeen {
    /// `null`, `bool`, `number`, `text`, `array` or `object`.
    pub kind: String,
    /// Empty text, array or object.
    pub empty: bool,
    pub sha256: String,
    /// The origin, where it is an absolute URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Its value is kept sealed, or not at all (D31).
    #[serde(skip_serializing_if = "is_false")]
    pub secret: bool,
}

/// A status address: what may be shown of it, and the digest of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

fields! {
    Observation {
        format, status, sent_at, received_at, incomplete, request_id, body, values = DEFAULT, arrays = DEFAULT, error,
        progress, address, etag,
    }
    BodyFact { kind, why, bytes, sha256 }
    RefSeen { kind, empty, sha256, origin, secret = DEFAULT }
}

cases! {
    BodyKind { "none" => None, "json" => Json, "text" => Text, "unreadable" => Unreadable }
    Seen {
        "null" => Null,
        "bool" => Bool(value),
        "number" => Number(text),
        "text" => Text(text),
        "long" => Long { bytes, sha256, number = DEFAULT },
        "array" => Array(len),
        "object" => Object(len),
        "reference" => Reference(seen),
        "repeated" => Repeated(texts),
    }
    Named { "address" => Address { url, sha256, secret }, "refused" => Refused { why } }
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
