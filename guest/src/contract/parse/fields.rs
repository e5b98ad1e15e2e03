//! Readers of the small things that stand everywhere in a contract: durations, ratios, names, places, tests.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{
    near,
    node::{Fields, Node},
};
use crate::{
    contract::{Kind, Op, Outcome, Place, Ratio, Scalar, Test, TimeFormat},
    limits::{DURATION_MAX, NAME_BYTES_MAX, URL_BYTES_MAX, VALUE_BYTES_MAX, WHY_BYTES_MAX},
    pointer::Pointer,
    time::parse_duration,
};

/// A text of at most `max` bytes that is not blank and holds no control character.
pub(super) fn line(node: &Node<'_>, max: usize) -> Option<String> {
    let text = node.any_text()?;
    if text.trim().is_empty() {
        return node.fault("must not be empty");
    }
    if text.len() > max {
        return node.fault(format!("has {} bytes, at most {max} are allowed", text.len()));
    }
    if text.chars().any(char::is_control) {
        return node.fault("must be one line without control characters");
    }
    Some(text)
}

/// A short text: a provider's name, a version.
pub(super) fn short(node: &Node<'_>) -> Option<String> {
    line(node, NAME_BYTES_MAX)
}

/// A sentence for people: a source, a reason.
pub(super) fn sentence(node: &Node<'_>) -> Option<String> {
    line(node, WHY_BYTES_MAX)
}

/// A URL or a template of one; what it means is checked later.
pub(super) fn url(node: &Node<'_>) -> Option<String> {
    line(node, URL_BYTES_MAX)
}

/// A provider's word; an observation keeps no longer one, so a longer one could never match.
pub(super) fn state_word(node: &Node<'_>) -> Option<String> {
    checked_word(node, node.any_text()?)
}

/// A provider's word as the name of a member.
pub(super) fn word_key(node: &Node<'_>, key: &str) -> Option<String> {
    checked_word(node, key.into())
}

fn checked_word(node: &Node<'_>, word: String) -> Option<String> {
    if word.len() > VALUE_BYTES_MAX {
        return node.fault(format!("a word has at most {VALUE_BYTES_MAX} bytes, longer ones never match"));
    }
    Some(word)
}

/// A name that the contract itself gives: letters, digits and `_`, not first a digit.
pub(super) fn name(node: &Node<'_>) -> Option<String> {
    name_key(node, &node.any_text()?)
}

/// Such a name as the name of a member, or as a part of a text.
pub(super) fn name_key(node: &Node<'_>, name: &str) -> Option<String> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let first = name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if !plain || !first || name.len() > NAME_BYTES_MAX {
        return node.fault(format!("`{name}` must be a name of ASCII letters, digits and `_`"));
    }
    Some(name.into())
}

/// A contract's id: lower-case letters, digits, and `.`, `_`, `-` between them.
pub(super) fn id(node: &Node<'_>) -> Option<String> {
    let id = node.any_text()?;
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let plain = id.chars().all(|c| inner(c) || matches!(c, '.' | '_' | '-'));
    if !plain || !id.starts_with(inner) || !id.ends_with(inner) || id.len() > NAME_BYTES_MAX {
        return node.fault(format!("`{id}` must be lower-case letters, digits, and `.`, `_` or `-` between them"));
    }
    Some(id)
}

/// One of a closed set of words.
pub(super) fn word<T: Copy>(node: &Node<'_>, words: &[(&str, T)]) -> Option<T> {
    let given = node.any_text()?;
    match words.iter().find(|(word, _)| *word == given) {
        Some((_, value)) => Some(*value),
        None => {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            unknown(node, "word", &given, &known);
            None
        }
    }
}

fn unknown(node: &Node<'_>, what: &str, given: &str, known: &[&str]) {
    node.note(format!("unknown {what} `{given}`{}", near::hint(given, known)));
}

/// An outcome's word (D8).
pub(super) fn outcome(node: &Node<'_>) -> Option<Outcome> {
    let given = node.any_text()?;
    match Outcome::from_word(&given) {
        Some(outcome) => Some(outcome),
        None => {
            unknown(node, "outcome", &given, Outcome::WORDS);
            None
        }
    }
}

/// A duration as text, in milliseconds.
pub(super) fn duration(node: &Node<'_>) -> Option<u64> {
    if node.is_number() {
        return node.fault("a duration is a text with its unit, as `5s`, `40m` or `1h30m`");
    }
    let text = node.any_text()?;
    match parse_duration(&text) {
        Ok(ms) if ms <= DURATION_MAX => Some(ms),
        Ok(_) => node.fault(format!("`{text}` is longer than a hundred years")),
        Err(why) => node.fault(format!("`{text}` is no duration: {why}")),
    }
}

/// A ratio: a whole number, or a text as `3/2`.
pub(super) fn ratio(node: &Node<'_>) -> Option<Ratio> {
    let given = if node.is_text() { node.any_text()? } else { node.raw().into() };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let (num, den) = match given.split_once('/') {
        Some((num, den)) => (digits(num), digits(den)),
        None => (digits(&given), Some(1)),
    };
    match (num, den) {
        (Some(num), Some(den)) if den > 0 => Some(Ratio { num, den }),
        _ => node.fault("a ratio is a whole number, or a text of two as `3/2`, the second above 0"),
    }
}

/// The token characters of RFC 9110 5.6.2.
fn is_token(text: &str) -> bool {
    let mark = |c: char| "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || mark(c))
}

/// A header's name, in lower case.
pub(super) fn header_name(node: &Node<'_>) -> Option<String> {
    header_key(node, &node.any_text()?)
}

/// A header's name as the name of a member.
pub(super) fn header_key(node: &Node<'_>, key: &str) -> Option<String> {
    if !is_token(key) || key.len() > NAME_BYTES_MAX {
        return node.fault(format!("`{key}` is not a header's name (RFC 9110 5.6.2)"));
    }
    Some(key.to_ascii_lowercase())
}

/// A header's value, or a template of one: visible ASCII, spaces inside.
pub(super) fn header_value(node: &Node<'_>) -> Option<String> {
    let text = node.any_text()?;
    let visible = text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    if !visible || text.trim() != text || text.len() > WHY_BYTES_MAX {
        return node.fault("a header's value is visible ASCII without spaces around it");
    }
    Some(text)
}

/// A method: upper case, as RFC 9110 9.1 has them.
pub(super) fn method(node: &Node<'_>) -> Option<String> {
    let text = node.any_text()?;
    if text.is_empty() || text.len() > 16 || !text.bytes().all(|b| b.is_ascii_uppercase()) {
        return node.fault(format!("`{text}` is not a method, as `GET` or `POST`"));
    }
    Some(text)
}

/// A pointer into a body.
pub(super) fn pointer(node: &Node<'_>) -> Option<Pointer> {
    let text = node.any_text()?;
    match Pointer::parse(&text) {
        Ok(pointer) => Some(pointer),
        Err(why) => node.fault(format!("`{text}`: {why}")),
    }
}

/// The place that an object's `at` or `header` names, if it has one of them.
pub(super) fn opt_place(fields: &mut Fields<'_>) -> Option<Option<Place>> {
    match (fields.take("at"), fields.take("header")) {
        (Some(at), None) => pointer(&at).map(|at| Some(Place::At(at))),
        (None, Some(header)) => header_name(&header).map(|name| Some(Place::Header(name))),
        (None, None) => Some(None),
        (Some(_), Some(header)) => header.fault("stands beside `at`; give one of them"),
    }
}

/// The place that an object names.
pub(super) fn place(fields: &mut Fields<'_>) -> Option<Place> {
    match opt_place(fields)? {
        Some(place) => Some(place),
        None => fields.node().fault("names no place: give `at` (a JSON Pointer) or `header`"),
    }
}

/// An object that is a place and nothing else.
pub(super) fn place_only(node: &Node<'_>) -> Option<Place> {
    let mut fields = node.fields()?;
    let place = place(&mut fields);
    fields.end();
    place
}

/// How a time is written.
pub(super) fn time_format(node: &Node<'_>) -> Option<TimeFormat> {
    word(
        node,
        &[
            ("rfc3339", TimeFormat::Rfc3339),
            ("http_date", TimeFormat::HttpDate),
            ("epoch_s", TimeFormat::EpochS),
            ("epoch_ms", TimeFormat::EpochMs),
        ],
    )
}

/// A scalar that a place is compared with.
fn scalar(node: &Node<'_>) -> Option<Scalar> {
    if node.is_text() {
        return state_word(node).map(Scalar::Text);
    }
    if node.is_number() {
        return checked_word(node, node.raw().into()).map(Scalar::Number);
    }
    if node.is_null() {
        return Some(Scalar::Null);
    }
    if node.is_object() || node.is_list() {
        return node.fault("must be a text, number, true, false or null");
    }
    node.bool().map(Scalar::Bool)
}

fn scalars(node: &Node<'_>) -> Option<Vec<Scalar>> {
    if !node.is_list() {
        return scalar(node).map(|one| Vec::from([one]));
    }
    let values = node.list(scalar)?;
    if values.is_empty() {
        return node.fault("is an empty list, which nothing equals");
    }
    Some(values)
}

/// `{at|header, and exactly one of is, present, empty, kind, above, in_ctx}`.
pub(super) fn test(node: &Node<'_>) -> Option<Test> {
    let mut fields = node.fields()?;
    let place = place(&mut fields);
    let fold = fields.take("fold");
    let ops = [
        fields.take("is").map(|n| scalars(&n).map(|values| Op::Is { values, fold: false })),
        fields.take("present").map(|n| n.bool().map(Op::Present)),
        fields.take("empty").map(|n| n.bool().map(Op::Empty)),
        fields.take("kind").map(|n| word(&n, KINDS).map(Op::Kind)),
        fields.take("above").map(|n| n.integer().map(Op::Above)),
        fields.take("in_ctx").map(|n| name(&n).map(Op::InCtx)),
    ];
    fields.end();
    let mut given = ops.into_iter().flatten();
    let op = match (given.next(), given.next()) {
        (Some(op), None) => op,
        _ => node.fault("needs exactly one of `is`, `present`, `empty`, `kind`, `above`, `in_ctx`"),
    };
    let op = match (op, fold) {
        (Some(Op::Is { values, .. }), Some(fold)) => fold.bool().map(|fold| Op::Is { values, fold }),
        (Some(_), Some(fold)) => fold.fault("`fold` goes with `is` only"),
        (op, _) => op,
    };
    Some(Test { place: place?, op: op? })
}

const KINDS: &[(&str, Kind)] = &[
    ("text", Kind::Text),
    ("number", Kind::Number),
    ("bool", Kind::Bool),
    ("null", Kind::Null),
    ("array", Kind::Array),
    ("object", Kind::Object),
];

/// `{name: word | [words]}`: facts, each with one word or several.
pub(super) fn facts(node: &Node<'_>) -> Option<BTreeMap<String, Vec<String>>> {
    node.map(name_key, |value| {
        if !value.is_list() {
            return state_word(value).map(|one| Vec::from([one]));
        }
        let words = value.list(state_word)?;
        if words.is_empty() {
            return value.fault("is an empty list");
        }
        Some(words)
    })
}
