//! Samples and the narrowing of options.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{
    fields::{facts, line, name_key, short, word},
    near,
    node::Node,
    request::answer_headers,
};
use crate::{
    api::{OptionKind, Reason},
    contract::{Outcome, Sample},
    limits::NAME_BYTES_MAX,
};

/// `{name, answer {status, headers, body | text}, ctx?, job?, expect}`.
pub(super) fn sample(node: &Node<'_>) -> Option<Sample> {
    let mut fields = node.fields()?;
    let name = fields.req("name", short);
    let answer = fields.req("answer", answer);
    let ctx = fields.or("ctx", BTreeMap::new(), facts);
    let job = fields.or("job", BTreeMap::new(), |node| node.map(name_key, |n| line(n, NAME_BYTES_MAX)));
    let expect = fields.req("expect", expect);
    fields.end();
    let (status, headers, body) = answer?;
    Some(Sample { name: name?, status, headers, body, ctx: ctx?, job: job?, expect: expect? })
}

type Answer = (u16, Vec<(String, String)>, Option<String>);

fn answer(node: &Node<'_>) -> Option<Answer> {
    let mut fields = node.fields()?;
    let status = fields.req("status", |node| match node.whole(599) {
        Some(status) if status >= 200 => u16::try_from(status).ok(),
        Some(_) => node.fault("a final answer's status is from 200 to 599"),
        None => None,
    });
    let headers = fields.or("headers", Vec::new(), answer_headers);
    let body = match (fields.take("body"), fields.take("text")) {
        (Some(json), None) => Some(Some(json.raw().into())),
        (None, Some(text)) => text.any_text().map(Some),
        (None, None) => Some(None),
        (Some(_), Some(text)) => text.fault("stands beside `body`; give one of them"),
    };
    fields.end();
    Some((status?, headers?, body?))
}

/// An outcome's word or a reason's.
fn expect(node: &Node<'_>) -> Option<String> {
    let given = node.any_text()?;
    if Outcome::from_word(&given).is_some() || Reason::from_word(&given).is_some() {
        return Some(given);
    }
    let hint = near::hint(&given, &[Outcome::WORDS, Reason::WORDS].concat());
    node.fault(format!("`{given}` is neither an outcome nor a reason{hint}"))
}

/// `{reason: [kept options]}` (D33).
pub(super) fn options(node: &Node<'_>) -> Option<BTreeMap<Reason, Vec<OptionKind>>> {
    let kinds: Vec<(&str, OptionKind)> = OptionKind::ALL.iter().map(|kind| (kind.as_str(), *kind)).collect();
    let mut out = Some(BTreeMap::new());
    for (reason, kept) in node.members()? {
        let known = Reason::from_word(&reason);
        if known.is_none() {
            let hint = near::hint(&reason, Reason::WORDS);
            kept.note(format!("`{reason}` is not a reason{hint}"));
        }
        let kept = kept.list(|node| word(node, &kinds));
        match (known, kept, &mut out) {
            (Some(known), Some(kept), Some(out)) => {
                out.insert(known, kept);
            }
            _ => out = None,
        }
    }
    out
}
