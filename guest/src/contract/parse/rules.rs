//! What answers mean: `decide` and the conditions that other members share (D8, D9).

use alloc::{format, string::String, vec::Vec};

use super::{
    fields::{facts, name, outcome, place, pointer, sentence, test, time_format, word_key},
    node::{Fields, Node},
};
use crate::contract::{After, ArrayTest, Consistency, Rule, Then, When, WordMap};

/// Smallest and largest status of a final answer (RFC 9110 15).
const CODES: (u16, u16) = (200, 599);

pub(super) fn rule(node: &Node<'_>) -> Option<Rule> {
    let mut fields = node.fields()?;
    let when = fields.or("when", When::default(), when);
    let then = match (fields.take("then"), fields.take("map")) {
        (Some(then), None) if then.is_object() => then.fault("must be an outcome; a table of words is `map` beside it"),
        (Some(then), None) => outcome(&then).map(Then::Outcome),
        (None, Some(map)) => word_map(&map).map(Then::Map),
        (Some(_), Some(map)) => map.fault("stands beside `then`; give one of them"),
        (None, None) => node.fault("leads nowhere: give `then` or `map`"),
    };
    let source = fields.opt("source", sentence);
    fields.end();
    Some(Rule { when: when?, then: then?, source: source? })
}

fn word_map(node: &Node<'_>) -> Option<WordMap> {
    let mut fields = node.fields()?;
    let place = place(&mut fields);
    let values = fields.req("values", |node| node.map(word_key, outcome));
    let missing = fields.opt("missing", outcome);
    let other = fields.opt("other", outcome);
    let fold = fields.or("fold", false, Node::bool);
    fields.end();
    Some(WordMap { place: place?, values: values?, missing: missing?, other: other?, fold: fold? })
}

/// A condition: all that is given must hold.
pub(super) fn when(node: &Node<'_>) -> Option<When> {
    let mut fields = node.fields()?;
    let code = fields.opt("code", codes);
    let tests = fields.list("test", test);
    let array = array(&mut fields);
    let ctx = fields.or("ctx", Default::default(), facts);
    let after = fields.opt("after", after);
    let not = fields.list("not", when);
    fields.end();
    Some(When { code: code?, tests: tests?, array: array?, ctx: ctx?, after: after?, not: not? })
}

fn array(fields: &mut Fields<'_>) -> Option<Option<ArrayTest>> {
    let (node, all) = match (fields.take("any"), fields.take("all")) {
        (None, None) => return Some(None),
        (Some(any), None) => (any, false),
        (None, Some(all)) => (all, true),
        (Some(_), Some(all)) => return all.fault("stands beside `any`; give one of them"),
    };
    let mut fields = node.fields()?;
    let at = fields.req("at", pointer);
    let tests = fields.req("test", |node| node.list(test));
    fields.end();
    let tests = tests?;
    if tests.is_empty() {
        return node.fault("tests nothing of its elements");
    }
    Some(Some(ArrayTest { at: at?, all, tests }))
}

fn after(node: &Node<'_>) -> Option<After> {
    let mut fields = node.fields()?;
    let place = place(&mut fields);
    let format = fields.req("format", time_format);
    let ctx = fields.req("ctx", name);
    fields.end();
    Some(After { place: place?, format: format?, ctx: ctx? })
}

/// `200`, `"2xx"`, `"200-204"`, or a list of these.
pub(super) fn codes(node: &Node<'_>) -> Option<Vec<(u16, u16)>> {
    if !node.is_list() {
        return code(node).map(|one| Vec::from([one]));
    }
    let ranges = node.list(code)?;
    if ranges.is_empty() {
        return node.fault("is an empty list, which no status is in");
    }
    Some(ranges)
}

fn code(node: &Node<'_>) -> Option<(u16, u16)> {
    let text: String = if node.is_number() { node.raw().into() } else { node.any_text()? };
    match code_range(&text) {
        Some((low, high)) if CODES.0 <= low && low <= high && high <= CODES.1 => Some((low, high)),
        Some(_) => node.fault(format!("`{text}`: a status is from {} to {}, the lower one first", CODES.0, CODES.1)),
        None => node.fault(format!("`{text}` is not a status: write 200, \"2xx\" or \"200-204\"")),
    }
}

fn code_range(text: &str) -> Option<(u16, u16)> {
    let number = |text: &str| -> Option<u16> {
        (text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
    };
    if let Some(class) = text.strip_suffix("xx") {
        let low = number(&format!("{class}00"))?;
        return Some((low, low.checked_add(99)?));
    }
    match text.split_once('-') {
        Some((low, high)) => Some((number(low)?, number(high)?)),
        None => number(text).map(|one| (one, one)),
    }
}

/// `{if, must[], must_not[]}` (D12).
pub(super) fn consistency(node: &Node<'_>) -> Option<Consistency> {
    let mut fields = node.fields()?;
    let condition = fields.req("if", when);
    let must = fields.list("must", test);
    let must_not = fields.list("must_not", test);
    fields.end();
    let (must, must_not) = (must?, must_not?);
    if must.is_empty() && must_not.is_empty() {
        return node.fault("demands nothing: give `must` or `must_not`");
    }
    Some(Consistency { when: condition?, must, must_not })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_single_classes_or_ranges() {
        assert_eq!(code_range("200"), Some((200, 200)));
        assert_eq!(code_range("5xx"), Some((500, 599)));
        assert_eq!(code_range("200-204"), Some((200, 204)));
        for bad in ["", "2", "2000", "xx", "20x", "200-", "-1", "2.0", "200-204-208", "+20"] {
            assert_eq!(code_range(bad), None, "{bad}");
        }
    }
}
