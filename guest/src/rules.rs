//! Conditions and word tables, evaluated on an observation (D8, D9).

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::cmp::Ordering;

use crate::{
    contract::{After, ArrayTest, Kind, Op, Outcome, Place, Rule, Scalar, Test, Then, TimeFormat, When, WordMap},
    digest, numbers,
    observation::{BodyKind, Observation, Seen},
    time::Instant,
};

/// Which statuses a condition without a `code` speaks of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codes {
    /// 2xx: a rule of `decide` (D8).
    Success,
    /// Any: inside `not`, and where a rule has already chosen the answer (`partial_if`, `consistency`).
    Any,
}

/// What conditions are asked about.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) seen: &'a Observation,
    pub(crate) ctx: &'a BTreeMap<String, Vec<String>>,
}

/// Which line of a word table spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Word,
    Missing,
    Other,
}

impl Facts<'_> {
    /// The answer had a body that could be read.
    pub(crate) fn has_body(&self) -> bool {
        self.seen.incomplete.is_none() && matches!(self.seen.body.kind, BodyKind::Json | BodyKind::Text)
    }

    /// The rule speaks of this answer. Without a body that could be read no rule that looks into one does, not even by
    /// what it doesn't find there: such an answer is judged by status and headers alone (D14).
    pub(crate) fn matches(&self, rule: &Rule) -> bool {
        (self.has_body() || !looks_into_body(rule)) && self.holds(&rule.when, Codes::Success)
    }

    /// Everything that `when` gives holds.
    pub(crate) fn holds(&self, when: &When, codes: Codes) -> bool {
        if !self.has_body() && when_looks_into_body(when) {
            return false;
        }
        self.code(when, codes)
            && when.tests.iter().all(|test| self.test(test))
            && when.array.as_ref().is_none_or(|array| self.array(array))
            && when.ctx.iter().all(|(name, wanted)| self.facts(name).iter().any(|fact| wanted.contains(fact)))
            && when.after.as_ref().is_none_or(|after| self.after(after))
            && !when.not.iter().any(|not| self.holds(not, Codes::Any))
    }

    /// One test on one place.
    pub(crate) fn test(&self, test: &Test) -> bool {
        self.op(&test.op, self.seen.at(&test.place))
    }

    fn code(&self, when: &When, codes: Codes) -> bool {
        let status = self.seen.status;
        match &when.code {
            Some(ranges) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&status)),
            None => codes == Codes::Any || is_success(status),
        }
    }

    fn facts(&self, name: &str) -> &[String] {
        self.ctx.get(name).map_or(&[], Vec::as_slice)
    }

    /// `any` and `all` are both false over an empty array, and over what is no array.
    fn array(&self, array: &ArrayTest) -> bool {
        let Some(elements) = self.seen.arrays.get(array.at.as_str()) else {
            return false;
        };
        let holds = |element: &BTreeMap<String, Seen>| {
            array.tests.iter().all(|test| self.op(&test.op, element.get(&crate::observation::key(&test.place))))
        };
        if array.all { !elements.is_empty() && elements.iter().all(holds) } else { elements.iter().any(holds) }
    }

    fn after(&self, after: &After) -> bool {
        let fact = self.facts(&after.ctx).first().and_then(|text| Instant::parse_rfc3339(text).ok());
        let seen = self.seen.at(&after.place).and_then(|seen| time_of(seen, after.format, self.seen.received_at).ok());
        matches!((seen, fact), (Some(seen), Some(fact)) if seen > fact)
    }

    fn op(&self, op: &Op, seen: Option<&Seen>) -> bool {
        match op {
            Op::Present(wanted) => is_there(seen) == *wanted,
            Op::Empty(wanted) => is_there(seen) && seen.is_some_and(is_empty) == *wanted,
            Op::Is { values, fold } => seen.is_some_and(|seen| values.iter().any(|value| is(seen, value, *fold))),
            Op::Kind(kind) => seen.and_then(kind_of) == Some(*kind),
            Op::Above(limit) => match seen {
                Some(Seen::Number(text)) => {
                    numbers::compare(text, &alloc::format!("{limit}")) == Some(Ordering::Greater)
                }
                // Too many digits to keep counts as above: a count of failed items must not pass as none.
                Some(Seen::Long { number, .. }) => *number,
                _ => false,
            },
            Op::InCtx(name) => seen.is_some_and(|seen| self.facts(name).iter().any(|fact| is_text(seen, fact))),
        }
    }
}

/// What the table says of the word that was seen: whole and exact (D9). A value that isn't a text is `other`.
pub(crate) fn look_up(map: &WordMap, seen: Option<&Seen>) -> (Outcome, Line) {
    if !is_there(seen) {
        return (map.missing.unwrap_or(Outcome::Unknown), Line::Missing);
    }
    let found = match seen {
        Some(Seen::Text(word)) if map.fold => {
            map.values.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, outcome)| *outcome)
        }
        Some(Seen::Text(word)) => map.values.get(word).copied(),
        _ => None,
    };
    match found {
        Some(outcome) => (outcome, Line::Word),
        None => (map.other.unwrap_or(Outcome::Unknown), Line::Other),
    }
}

/// The instant that a value stands for in this format; `now` places two-digit years of HTTP dates.
///
/// # Errors
/// Why it stands for none (D25).
pub(crate) fn time_of(seen: &Seen, format: TimeFormat, now: Instant) -> Result<Instant, &'static str> {
    let (Seen::Text(text) | Seen::Number(text)) = seen else {
        return Err("it is neither a text nor a number");
    };
    let number = matches!(seen, Seen::Number(_));
    match format {
        TimeFormat::Rfc3339 | TimeFormat::HttpDate if number => Err("it is a number where a date is a text"),
        TimeFormat::Rfc3339 => Instant::parse_rfc3339(text),
        TimeFormat::HttpDate => Instant::parse_http_date(text, now),
        TimeFormat::EpochS => Instant::parse_epoch_s(text),
        TimeFormat::EpochMs => Instant::parse_epoch_ms(text),
    }
}

/// The rule looks somewhere into the body.
pub(crate) fn looks_into_body(rule: &Rule) -> bool {
    let word = match &rule.then {
        Then::Map(map) => in_body(&map.place),
        Then::Outcome(_) => false,
    };
    word || when_looks_into_body(&rule.when)
}

/// The condition tests more than the status: a value, an array, a fact or a time.
pub(crate) fn looks_past_code(when: &When) -> bool {
    !when.tests.is_empty() || when.array.is_some() || when.after.is_some()
}

fn when_looks_into_body(when: &When) -> bool {
    when.tests.iter().any(|test| in_body(&test.place))
        || when.array.is_some()
        || when.after.as_ref().is_some_and(|after| in_body(&after.place))
        || when.not.iter().any(when_looks_into_body)
}

fn in_body(place: &Place) -> bool {
    matches!(place, Place::At(_))
}

/// 2xx.
pub(crate) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Present and not null.
pub(crate) fn is_there(seen: Option<&Seen>) -> bool {
    match seen {
        None | Some(Seen::Null) => false,
        Some(Seen::Reference(reference)) => reference.kind != "null",
        Some(_) => true,
    }
}

/// An empty text, array or object.
pub(crate) fn is_empty(seen: &Seen) -> bool {
    match seen {
        Seen::Text(text) => text.is_empty(),
        Seen::Array(len) | Seen::Object(len) => *len == 0,
        Seen::Reference(reference) => reference.empty,
        Seen::Null | Seen::Bool(_) | Seen::Number(_) | Seen::Long { .. } | Seen::Repeated(_) => false,
    }
}

/// The value is this text; what is known by digest only is compared by digest.
pub(crate) fn is_text(seen: &Seen, text: &str) -> bool {
    match seen {
        Seen::Text(seen) => seen == text,
        Seen::Reference(seen) => seen.kind == "text" && seen.sha256 == digest::sha256_hex(text.as_bytes()),
        Seen::Long { bytes, sha256, number: false } => {
            u64::try_from(text.len()) == Ok(*bytes) && *sha256 == digest::sha256_hex(text.as_bytes())
        }
        _ => false,
    }
}

fn is(seen: &Seen, value: &Scalar, fold: bool) -> bool {
    match (value, seen) {
        (Scalar::Text(value), Seen::Text(seen)) if fold => value.eq_ignore_ascii_case(seen),
        (Scalar::Text(value), seen) => is_text(seen, value),
        (Scalar::Number(value), Seen::Number(seen)) => numbers::compare(value, seen) == Some(Ordering::Equal),
        (Scalar::Bool(value), Seen::Bool(seen)) => value == seen,
        (Scalar::Null, Seen::Null) => true,
        (Scalar::Number(value), Seen::Reference(seen)) => digested(seen, "number", value),
        (Scalar::Bool(value), Seen::Reference(seen)) => digested(seen, "bool", if *value { "true" } else { "false" }),
        (Scalar::Null, Seen::Reference(seen)) => seen.kind == "null",
        _ => false,
    }
}

fn digested(seen: &crate::observation::RefSeen, kind: &str, text: &str) -> bool {
    seen.kind == kind && seen.sha256 == digest::sha256_hex(text.as_bytes())
}

fn kind_of(seen: &Seen) -> Option<Kind> {
    Some(match seen {
        Seen::Null => Kind::Null,
        Seen::Bool(_) => Kind::Bool,
        Seen::Number(_) => Kind::Number,
        Seen::Long { number: true, .. } => Kind::Number,
        Seen::Text(_) | Seen::Long { .. } | Seen::Repeated(_) => Kind::Text,
        Seen::Array(_) => Kind::Array,
        Seen::Object(_) => Kind::Object,
        Seen::Reference(reference) => match reference.kind.as_str() {
            "null" => Kind::Null,
            "bool" => Kind::Bool,
            "number" => Kind::Number,
            "text" | "repeated" => Kind::Text,
            "array" => Kind::Array,
            "object" => Kind::Object,
            _ => return None,
        },
    })
}
