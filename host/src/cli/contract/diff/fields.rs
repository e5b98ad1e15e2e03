//! Fields that differ, each at its JSON Pointer.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// What answers mean is compared by answers.
const BY_ANSWERS: [&str; 2] = ["decide", "samples"];
/// Explanations, which change nothing.
const EXPLAIN: [&str; 3] = ["source", "sources", "why"];

/// One field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) pointer: String,
    /// `None`: it wasn't given.
    pub(super) was: Option<Value>,
    /// `None`: it isn't given.
    pub(super) is: Option<Value>,
}

/// Every field that differs, but for rules, samples and explanations, in the order of their pointers.
pub(super) fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let without = |value: &Value| {
        let mut value = value.clone();
        if let Some(members) = value.as_object_mut() {
            members.retain(|name, _| !BY_ANSWERS.contains(&name.as_str()));
        }
        value
    };
    let mut found = Vec::new();
    compare("", &without(before), &without(after), &mut found);
    found
}

/// Whether the rules differ in more than their sources.
pub(super) fn rules_differ(before: &Value, after: &Value) -> bool {
    let mut found = Vec::new();
    let rules = |value: &Value| value.get("decide").cloned().unwrap_or_default();
    compare("", &rules(before), &rules(after), &mut found);
    !found.is_empty()
}

fn compare(pointer: &str, before: &Value, after: &Value, found: &mut Vec<Change>) {
    match (before, after) {
        (Value::Object(was), Value::Object(is)) => members(pointer, was, is, found),
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            for (index, (was, is)) in was.iter().zip(is).enumerate() {
                compare(&format!("{pointer}/{index}"), was, is, found);
            }
        }
        (was, is) if alike(was, is) => {}
        (was, is) => {
            found.push(Change { pointer: pointer.to_owned(), was: Some(was.clone()), is: Some(is.clone()) });
        }
    }
}

fn members(pointer: &str, was: &Map<String, Value>, is: &Map<String, Value>, found: &mut Vec<Change>) {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for name in names {
        if EXPLAIN.contains(&name.as_str()) && explains(pointer) {
            continue;
        }
        let below = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match (was.get(name), is.get(name)) {
            (Some(was), Some(is)) => compare(&below, was, is, found),
            (was, is) => found.push(Change { pointer: below, was: was.cloned(), is: is.cloned() }),
        }
    }
}

/// Below these the names are the user's own: a header or a fact may be called `source`.
fn explains(pointer: &str) -> bool {
    !["headers", "ctx", "result", "values", "job", "id_parts"].iter().any(|own| pointer.ends_with(&format!("/{own}")))
}

/// Equal, or the same duration written otherwise.
fn alike(was: &Value, is: &Value) -> bool {
    let span = |value: &Value| value.as_str().and_then(|text| humantime::parse_duration(text).ok());
    was == is || span(was).is_some_and(|was| span(is) == Some(was))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_told_at_their_pointer_and_explanations_are_none() {
        let before = json!({"pace": {"base": "60s", "max": "2m"}, "origins": [{"origin": "a"}], "sources": ["x"],
            "request": {"headers": {"source": "1"}}, "decide": [{"source": "p"}]});
        let after = json!({"pace": {"base": "1m", "max": "3m"}, "origins": [{"origin": "b"}], "sources": ["y"],
            "request": {"headers": {"source": "2"}}, "decide": [{"source": "q"}], "approval": "per_request"});
        let found: Vec<String> = changes(&before, &after).into_iter().map(|change| change.pointer).collect();
        assert_eq!(found, ["/approval", "/origins/0/origin", "/pace/max", "/request/headers/source"]);
        assert!(!rules_differ(&before, &after));
        assert_eq!(changes(&before, &before), []);
    }
}
