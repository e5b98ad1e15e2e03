//! The contract: what one provider integration means by its answers, parsed once into types that can't hold an illegal
//! value. [`parse`] reads the file (format `sondeo.contract/1`), [`check`] refuses what would undo the rules.
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

pub mod check;
pub mod parse;
mod stages;

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};

pub use crate::api::Outcome;
use crate::{
    api::{OptionKind, Reason},
    pointer::Pointer,
};

/// The format that this build reads.
pub const FORMAT: &str = "sondeo.contract/1";

/// One provider integration (RULES "Terms"). Durations are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    pub id: String,
    pub provider: String,
    pub api_version: Option<String>,
    pub sources: Vec<String>,
    pub typical_duration: Option<u64>,
    pub retention: Option<u64>,
    pub console: Option<String>,
    pub request: RequestSpec,
    pub effects: Effects,
    pub approval: Approval,
    pub origins: Vec<Origin>,
    pub url_policy: UrlPolicy,
    pub ctx: BTreeMap<String, CtxSpec>,
    pub follow: Option<Follow>,
    /// How a 2xx body is read.
    pub reads: Reads,
    pub decide: Vec<Rule>,
    pub identity: Vec<Echo>,
    pub success: Option<Success>,
    pub consistency: Vec<Consistency>,
    /// Named references to the result (D11).
    pub result: BTreeMap<String, Reference>,
    pub result_origins: Vec<String>,
    pub actions: Vec<ActionSpec>,
    pub error: Vec<Place>,
    pub progress: Vec<Place>,
    pub expiry: Option<Expiry>,
    pub hints: Vec<Hint>,
    pub not_found: NotFound,
    pub pace: Pace,
    pub limits: Limits,
    pub price: Option<Price>,
    pub submit: Option<OtherRequest>,
    pub cancel: Option<OtherRequest>,
    pub fetch: Option<OtherRequest>,
    pub request_id_headers: Vec<String>,
    /// What each reason still offers, where the contract narrows the table of D33.
    pub options: BTreeMap<Reason, Vec<OptionKind>>,
    pub samples: Vec<Sample>,
}

/// The status request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSpec {
    pub method: String,
    pub address: AddressSpec,
    /// Names of the id parts, in the order that makes the job's one text (D4).
    pub id_parts: Vec<String>,
    /// Lower-case names; values may hold `{part}`.
    pub headers: BTreeMap<String, String>,
    /// Query parameters that may be shown (D31).
    pub query: Vec<String>,
    pub body: Option<String>,
    pub body_kind: BodyKind,
    pub credential: Option<CredentialSpec>,
    pub timeout: u64,
    /// Send the last `ETag` (D29).
    pub conditional: bool,
}

/// Where the status address comes from (D28: never guessed).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressSpec {
    /// An absolute URL with `{part}` in path segments or query values.
    Template(String),
    /// Given at opening, or named by the submission's answer at this place.
    From(Option<Place>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    Json,
    Form,
    Text,
}

/// The header that carries the credential, and what stands before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialSpec {
    pub header: String,
    pub prefix: String,
}

/// D5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    pub kind: EffectsKind,
    /// How that is known.
    pub known: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectsKind {
    None,
    Bills,
    Changes,
}

/// D41.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approval {
    PerOperation,
    PerRequest,
}

/// An origin that requests may go to; `allow_private` admits non-public addresses, and `http:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `scheme://host[:port]`, lower case, default port left out.
    pub origin: String,
    pub allow_private: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlPolicy {
    Fixed,
    MayChange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    Json,
    /// The whole body, trimmed, is the text at the pointer "".
    Text,
}

/// A fact fixed at opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CtxSpec {
    pub kind: CtxKind,
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CtxKind {
    OneOf(Vec<String>),
    /// Any number (at least one) of these.
    ListOf(Vec<String>),
    Text,
    Time,
}

/// Where the job goes on under another id or address (D28).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follow {
    pub target: FollowTarget,
    /// The contract from there on; none: this one.
    pub contract: Option<Box<Contract>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowTarget {
    /// A place that holds the new status address.
    Address(Place),
    /// Places that hold the new id parts, by name.
    Parts(BTreeMap<String, Place>),
}

/// A place in an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// RFC 6901 pointer into the body.
    At(Pointer),
    /// Lower-case header name.
    Header(String),
}

/// One rule of `decide` (D8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub when: When,
    pub then: Then,
    pub source: Option<String>,
}

/// All that is given must hold. `code` absent means 2xx.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct When {
    /// Inclusive ranges.
    pub code: Option<Vec<(u16, u16)>>,
    pub tests: Vec<Test>,
    pub array: Option<ArrayTest>,
    /// The fact is one of these (for a list: holds one of these).
    pub ctx: BTreeMap<String, Vec<String>>,
    pub after: Option<After>,
    /// None of these may hold; inside, `code` absent means any.
    pub not: Vec<When>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    pub place: Place,
    pub op: Op,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Equals one of these exactly, type included; `fold`: ASCII case of texts is ignored (D9).
    Is {
        values: Vec<Scalar>,
        fold: bool,
    },
    /// Present and not null (true), or absent or null (false).
    Present(bool),
    /// Empty text, array or object (true) or present and not empty (false).
    Empty(bool),
    Kind(Kind),
    /// A number above this integer, compared by its decimal text.
    Above(i64),
    /// The text is one of the texts of this `ctx` fact.
    InCtx(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scalar {
    Text(String),
    Number(String),
    Bool(bool),
    Null,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Bool,
    Null,
    Array,
    Object,
}

/// `any` or `all` over one array; both are false over an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayTest {
    pub at: Pointer,
    pub all: bool,
    /// Each test's place points into the element.
    pub tests: Vec<Test>,
}

/// The time at the place is later than the `ctx` fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct After {
    pub place: Place,
    pub format: TimeFormat,
    pub ctx: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeFormat {
    Rfc3339,
    HttpDate,
    EpochS,
    EpochMs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    Outcome(Outcome),
    Map(WordMap),
}

/// A table of state words (D9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordMap {
    pub place: Place,
    pub values: BTreeMap<String, Outcome>,
    pub missing: Option<Outcome>,
    pub other: Option<Outcome>,
    pub fold: bool,
}

/// A field that echoes the job, the account or an incarnation (D13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Echo {
    pub place: Place,
    pub of: EchoOf,
    /// The echo is a JSON number with this text (else a text).
    pub number: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EchoOf {
    Part(String),
    Account,
    Ctx(String),
    /// The value first seen is pinned.
    First,
}

/// D11.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Success {
    /// Of each group at least one place is present, not null, not empty.
    pub require: Vec<Vec<Place>>,
    pub no_result: bool,
    pub forbid: Vec<Place>,
    /// Any of these holds: `partial` instead.
    pub partial_if: Vec<When>,
    pub source: Option<String>,
}

/// D12: if `when` holds, each of `must` holds and none of `must_not`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consistency {
    pub when: When,
    pub must: Vec<Test>,
    pub must_not: Vec<Test>,
}

/// A reference to the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub place: Place,
    /// It is a URL and must be on `result_origins`.
    pub url: bool,
    /// Its value is kept sealed (D31).
    pub secret: bool,
}

/// What success permits, and the references it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionSpec {
    pub name: String,
    pub needs: Vec<String>,
}

/// The provider's own expiry of the job (D12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    pub place: Place,
    pub format: TimeFormat,
    pub grace: u64,
}

/// Guidance beyond `Retry-After` (D24).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub place: Place,
    pub unit: HintUnit,
    pub kind: HintKind,
    /// Statuses at which it counts, inclusive ranges; none given: at all. Some providers send the end of a rate limit's
    /// window with every answer, where it says nothing about the job.
    pub code: Option<Vec<(u16, u16)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintUnit {
    S,
    Ms,
    Time(TimeFormat),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintKind {
    Delay,
    At,
    Eta,
}

/// D27.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    pub grace: u64,
    /// A job that was seen before has expired (cited); false: integration failure.
    pub after_seen_expired: bool,
}

/// A ratio; `den` is never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    pub num: u32,
    pub den: u32,
}

/// D23 to D25.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    pub first_delay: Option<u64>,
    pub base: u64,
    pub max: u64,
    pub factor: Ratio,
    pub floor: Ratio,
    pub min_delay: u64,
    pub max_interval: Option<u64>,
    pub max_hint: Option<u64>,
    pub spread: Ratio,
    pub throttle_steps: u32,
    pub on_hint_past_deadline_escalate: bool,
}

/// Defaults, ceilings and what one extension gives (D2, D3, D34).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    pub deadline: Option<u64>,
    pub max_status_requests: Option<u32>,
    pub max_transport_failures: Option<u32>,
    pub max_throttles: Option<u32>,
    pub ceilings: Ceilings,
    pub why: Option<String>,
    pub extension: Option<ExtensionSpec>,
    pub max_extensions: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ceilings {
    /// Longest whole span from the start.
    pub deadline: Option<u64>,
    pub max_status_requests: Option<u32>,
    pub max_transport_failures: Option<u32>,
    pub max_throttles: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtensionSpec {
    pub time: u64,
    pub requests: u32,
    pub failures: u32,
    pub throttles: u32,
}

/// Price of one status request, in millionths of the currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    pub per_request_micros: u64,
    pub currency: String,
}

/// Another action (D36), never sent by a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRequest {
    pub method: String,
    pub url: String,
    pub headers: BTreeMap<String, String>,
    pub body: Option<String>,
    pub credential: Option<CredentialSpec>,
    /// What it does, in words (required for `cancel`).
    pub effect: Option<String>,
    /// Header that carries the idempotency key.
    pub idempotency: Option<String>,
}

/// An answer and what it must mean; run by `contract check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    pub name: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// JSON or plain text of the body.
    pub body: Option<String>,
    pub ctx: BTreeMap<String, Vec<String>>,
    pub job: BTreeMap<String, String>,
    /// An outcome's word, or a reason's.
    pub expect: String,
}

/// Millionths as decimal text without trailing zeros: `10000` is `0.01`.
pub fn decimal(micros: u64) -> String {
    let whole = micros.checked_div(1_000_000).unwrap_or(0);
    let rest = micros.checked_rem(1_000_000).unwrap_or(0);
    if rest == 0 {
        return format!("{whole}");
    }
    let digits = format!("{rest:06}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}
