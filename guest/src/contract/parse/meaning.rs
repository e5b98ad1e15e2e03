//! What an answer must prove and what is taken from it: identity, success, result, guidance (D11 to D13, D24, D27).

use alloc::{format, string::String, vec::Vec};

use super::{
    fields::{duration, name, name_key, place, place_only, sentence, time_format, word},
    node::Node,
    rules::when,
};
use crate::contract::{
    ActionSpec, CtxKind, CtxSpec, Echo, EchoOf, Expiry, Hint, HintKind, HintUnit, NotFound, Place, Reference, Success,
    TimeFormat,
};

/// `{name: {one_of | list_of | text | time, required?}}`.
pub(super) fn ctx(node: &Node<'_>) -> Option<CtxSpec> {
    let mut fields = node.fields()?;
    let words = |node: &Node<'_>| {
        let words = node.list(super::fields::state_word)?;
        if words.is_empty() { node.fault("is an empty list, which no fact is in") } else { Some(words) }
    };
    let truth = |node: &Node<'_>| {
        if node.bool()? { Some(()) } else { node.fault("can only be true") }
    };
    let kinds = [
        fields.take("one_of").map(|n| words(&n).map(CtxKind::OneOf)),
        fields.take("list_of").map(|n| words(&n).map(CtxKind::ListOf)),
        fields.take("text").map(|n| truth(&n).map(|()| CtxKind::Text)),
        fields.take("time").map(|n| truth(&n).map(|()| CtxKind::Time)),
    ];
    let required = fields.or("required", false, Node::bool);
    fields.end();
    let mut given = kinds.into_iter().flatten();
    let kind = match (given.next(), given.next()) {
        (Some(kind), None) => kind,
        _ => node.fault("needs exactly one of `one_of`, `list_of`, `text`, `time`"),
    };
    Some(CtxSpec { kind: kind?, required: required? })
}

/// `{at|header, equals, type?}` (D13).
pub(super) fn echo(node: &Node<'_>) -> Option<Echo> {
    let mut fields = node.fields()?;
    let place = place(&mut fields);
    let of = fields.req("equals", |node| {
        let text = node.any_text()?;
        match text.split_once(':') {
            Some(("part", name)) => Some(EchoOf::Part(name_key(node, name)?)),
            Some(("ctx", name)) => Some(EchoOf::Ctx(name_key(node, name)?)),
            None if text == "account" => Some(EchoOf::Account),
            None if text == "first" => Some(EchoOf::First),
            _ => node.fault(format!("`{text}` must be `part:NAME`, `ctx:NAME`, `account` or `first`")),
        }
    });
    let number = fields.or("type", false, |node| word(node, &[("text", false), ("number", true)]));
    fields.end();
    Some(Echo { place: place?, of: of?, number: number? })
}

/// `{require[], no_result?, forbid[], partial_if[], source?}` (D11).
pub(super) fn success(node: &Node<'_>) -> Option<Success> {
    let mut fields = node.fields()?;
    let require = fields.list("require", group);
    let no_result = fields.or("no_result", false, Node::bool);
    let forbid = fields.list("forbid", place_only);
    let partial_if = fields.list("partial_if", when);
    let source = fields.opt("source", sentence);
    fields.end();
    Some(Success {
        require: require?,
        no_result: no_result?,
        forbid: forbid?,
        partial_if: partial_if?,
        source: source?,
    })
}

/// One place, or `{any: [places]}`.
fn group(node: &Node<'_>) -> Option<Vec<Place>> {
    let mut fields = node.fields()?;
    let Some(any) = fields.take("any") else {
        let place = place(&mut fields);
        fields.end();
        return place.map(|one| Vec::from([one]));
    };
    fields.end();
    let places = any.list(place_only)?;
    if places.is_empty() { any.fault("is an empty list, which nothing satisfies") } else { Some(places) }
}

/// `{at|header, url?, secret?}`.
pub(super) fn reference(node: &Node<'_>) -> Option<Reference> {
    let mut fields = node.fields()?;
    let place = place(&mut fields);
    let url = fields.or("url", false, Node::bool);
    let secret = fields.or("secret", false, Node::bool);
    fields.end();
    Some(Reference { place: place?, url: url?, secret: secret? })
}

/// `{name, needs[]}`.
pub(super) fn action(node: &Node<'_>) -> Option<ActionSpec> {
    let mut fields = node.fields()?;
    let action = fields.req("name", name);
    let needs = fields.list("needs", name);
    fields.end();
    Some(ActionSpec { name: action?, needs: needs? })
}

/// `{at|header, format, grace?}` (D12).
pub(super) fn expiry(node: &Node<'_>) -> Option<Expiry> {
    let mut fields = node.fields()?;
    let place = place(&mut fields);
    let format = fields.req("format", time_format);
    let grace = fields.or("grace", 0, duration);
    fields.end();
    Some(Expiry { place: place?, format: format?, grace: grace? })
}

/// `{header|at, unit, kind, code?}` (D24).
pub(super) fn hint(node: &Node<'_>) -> Option<Hint> {
    let mut fields = node.fields()?;
    let place = place(&mut fields);
    let unit = fields.req("unit", |node| word(node, UNITS));
    let kind = fields
        .req("kind", |node| word(node, &[("delay", HintKind::Delay), ("at", HintKind::At), ("eta", HintKind::Eta)]));
    let code = fields.opt("code", super::rules::codes);
    fields.end();
    Some(Hint { place: place?, unit: unit?, kind: kind?, code: code? })
}

const UNITS: &[(&str, HintUnit)] = &[
    ("s", HintUnit::S),
    ("ms", HintUnit::Ms),
    ("rfc3339", HintUnit::Time(TimeFormat::Rfc3339)),
    ("http_date", HintUnit::Time(TimeFormat::HttpDate)),
    ("epoch_s", HintUnit::Time(TimeFormat::EpochS)),
    ("epoch_ms", HintUnit::Time(TimeFormat::EpochMs)),
];

/// `{grace?, after_seen?, source?}` (D27).
pub(super) fn not_found(node: &Node<'_>) -> Option<NotFound> {
    let mut fields = node.fields()?;
    let grace = fields.or("grace", 0, duration);
    let after_seen = fields.take("after_seen");
    let expired = after_seen
        .as_ref()
        .map_or(Some(false), |node| word(node, &[("job_expired", true), ("integration_failure", false)]));
    let source = fields.opt("source", sentence);
    fields.end();
    let (expired, source): (bool, Option<String>) = (expired?, source?);
    if let (true, None, Some(node)) = (expired, &source, &after_seen) {
        node.note("`job_expired` needs a `source`: where the provider documents that it forgets jobs (D27)");
    }
    Some(NotFound { grace: grace?, after_seen_expired: expired })
}
