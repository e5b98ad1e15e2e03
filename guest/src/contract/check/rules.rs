//! What rules may lead to (D9, D15), and rules that can never be reached.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    Stage,
    cover::{self, Ranges},
};
use crate::contract::{Op, Outcome, Place, Rule, Scalar, Success, Test, Then, When, WordMap};

/// Statuses that mean a refused credential: no rule makes a wait of them (D15).
const DENIED: [u16; 3] = [401, 403, 407];

pub(super) fn check(stage: &Stage<'_>) {
    let decide = &stage.contract.decide;
    if decide.is_empty() {
        stage.add("/decide", "is empty: no answer would mean anything");
    }
    for (i, rule) in decide.iter().enumerate() {
        let at = format!("/decide/{i}");
        open_world(stage, &at, rule);
        denied(stage, &at, rule);
        if let Then::Map(map) = &rule.then {
            words(stage, &at, map);
        }
        reached(stage, i, &at, rule);
    }
    leads(stage);
}

/// Everything a rule can lead to, with the pointer below the rule.
fn outcomes(rule: &Rule) -> Vec<(String, Outcome)> {
    match &rule.then {
        Then::Outcome(outcome) => Vec::from([("/then".to_string(), *outcome)]),
        Then::Map(map) => {
            let words = map.values.iter().map(|(word, outcome)| (cover::word_pointer(word), *outcome));
            let missing = map.missing.map(|outcome| ("/map/missing".to_string(), outcome));
            let other = map.other.map(|outcome| ("/map/other".to_string(), outcome));
            words.chain(missing).chain(other).collect()
        }
    }
}

/// Whether the condition looks at the answer beyond its status. `not` alone does not count: it leaves the world open.
fn looks(when: &When) -> bool {
    !when.tests.is_empty() || when.array.is_some() || when.after.is_some()
}

/// D9: a wait or a success is read from the answer, or the provider's word for it is cited.
fn open_world(stage: &Stage<'_>, at: &str, rule: &Rule) {
    let cited = rule.source.is_some();
    match &rule.then {
        Then::Outcome(outcome @ (Outcome::Pending | Outcome::Succeeded)) if !looks(&rule.when) && !cited => stage.add(
            at,
            format!("leads to `{outcome}` without looking at body or header; test one, or cite the `source` (D9)"),
        ),
        Then::Outcome(_) => {}
        Then::Map(map) => {
            if let Some(outcome) = map.other {
                let message = match outcome {
                    Outcome::Unknown => None,
                    Outcome::Pending if cited => None,
                    Outcome::Pending => Some("needs the rule's `source`: where other words are documented to mean it"),
                    _ => Some("can only be `unknown`, or `pending` with a `source`"),
                };
                open_word(stage, at, "other", outcome, message);
            }
            if let Some(outcome) = map.missing {
                let no_result = stage.contract.success.as_ref().is_some_and(|s| s.no_result);
                let message = match outcome {
                    Outcome::Unknown => None,
                    Outcome::Pending if cited => None,
                    Outcome::Succeeded if cited && no_result => None,
                    Outcome::Pending => Some("needs the rule's `source`: where absence is documented to mean it"),
                    Outcome::Succeeded => Some("needs the rule's `source`, and `success.no_result`"),
                    _ => Some("can only be `unknown`, or with a `source` `pending` or `succeeded`"),
                };
                open_word(stage, at, "missing", outcome, message);
            }
        }
    }
}

fn open_word(stage: &Stage<'_>, at: &str, field: &str, outcome: Outcome, message: Option<&str>) {
    if let Some(message) = message {
        stage.add(format!("{at}/map/{field}"), format!("`{field}` to `{outcome}` {message} (D9)"));
    }
}

/// D15: a refused credential is never a wait; 403 may be throttling where the answer says so.
fn denied(stage: &Stage<'_>, at: &str, rule: &Rule) {
    let codes = cover::codes(&rule.when);
    let touched: Vec<u16> = DENIED.into_iter().filter(|code| cover::contains(&codes, *code)).collect();
    let Some(first) = touched.first() else { return };
    for (below, outcome) in outcomes(rule) {
        let message = match outcome {
            Outcome::Pending | Outcome::NotFound | Outcome::Unavailable | Outcome::Follow => {
                format!("turns {first} into `{outcome}`; a refused credential is no wait (D15)")
            }
            Outcome::Throttled if touched.iter().any(|code| *code != 403) => {
                format!("turns {first} into `throttled`; only 403 can be that (D15)")
            }
            Outcome::Throttled if !looks(&rule.when) => {
                "turns 403 into `throttled` by the status alone; test what tells them apart (D15)".into()
            }
            Outcome::Throttled if rule.source.is_none() => "turns 403 into `throttled` without a `source` (D15)".into(),
            _ => continue,
        };
        stage.add(format!("{at}{below}"), message);
    }
}

/// A table names words, and with `fold` none twice (D9).
fn words(stage: &Stage<'_>, at: &str, map: &WordMap) {
    if map.values.is_empty() {
        stage.add(format!("{at}/map/values"), "names no word");
    }
    if !map.fold {
        return;
    }
    let words: Vec<&String> = map.values.keys().collect();
    for (i, word) in words.iter().enumerate() {
        if let Some(twin) = words.iter().take(i).find(|earlier| earlier.eq_ignore_ascii_case(word)) {
            let pointer = format!("{at}{}", cover::word_pointer(word));
            stage.add(pointer, format!("`{word}` is `{twin}` again: `fold` ignores case"));
        }
    }
}

/// Names a rule, or a word of its table, that earlier rules leave nothing for.
fn reached(stage: &Stage<'_>, index: usize, at: &str, rule: &Rule) {
    let table = match &rule.then {
        Then::Map(map) => Some(&map.place),
        Then::Outcome(_) => None,
    };
    if let Some(by) = covered(stage, index, &rule.when, table) {
        stage.add(at, format!("is never reached: `/decide/{by}` decides first"));
        return;
    }
    let Then::Map(map) = &rule.then else { return };
    for word in map.values.keys() {
        let is = Op::Is { values: Vec::from([Scalar::Text(word.clone())]), fold: map.fold };
        let mut when = rule.when.clone();
        when.tests.push(Test { place: map.place.clone(), op: is });
        if let Some(by) = covered(stage, index, &when, table) {
            let pointer = format!("{at}{}", cover::word_pointer(word));
            stage.add(pointer, format!("is never reached: `/decide/{by}` decides first on `{word}`"));
        }
    }
}

/// The last of the earlier rules that together match whatever `when` matches.
fn covered(stage: &Stage<'_>, index: usize, when: &When, table: Option<&Place>) -> Option<usize> {
    let mut left: Ranges = cover::codes(when);
    for (i, earlier) in stage.contract.decide.iter().enumerate().take(index) {
        if cover::decides(earlier, when, table) {
            left = cover::without(&left, &cover::codes(&earlier.when));
            if left.is_empty() {
                return Some(i);
            }
        }
    }
    None
}

/// What the rules can reach must be defined: `success`, `follow`.
fn leads(stage: &Stage<'_>) {
    let contract = stage.contract;
    let reachable: Vec<(String, Outcome)> = contract
        .decide
        .iter()
        .enumerate()
        .flat_map(|(i, rule)| outcomes(rule).into_iter().map(move |(below, o)| (format!("/decide/{i}{below}"), o)))
        .collect();
    let first = |wanted| reachable.iter().find(|(_, outcome)| *outcome == wanted).map(|(pointer, _)| pointer);
    match (first(Outcome::Succeeded), &contract.success) {
        (Some(pointer), None) => {
            stage.add(pointer, "leads to `succeeded`, and there is no `success` to prove it (D11)")
        }
        (None, Some(_)) => stage.add("/success", "no rule leads to `succeeded`"),
        _ => {}
    }
    match (first(Outcome::Follow), &contract.follow) {
        (Some(pointer), None) => stage.add(pointer, "leads to `follow`, and there is no `follow` to say where (D28)"),
        (None, Some(_)) => stage.add("/follow", "no rule leads to `follow`"),
        _ => {}
    }
    if let Some(success) = &contract.success {
        proof(stage, success);
    }
}

/// D11: success is proved by a reference, or that there is none is said and cited.
fn proof(stage: &Stage<'_>, success: &Success) {
    match (success.require.is_empty(), success.no_result) {
        (true, false) => stage.add("/success", "requires nothing: name a place, or say `no_result` and cite it (D11)"),
        (false, true) => stage.add("/success/no_result", "contradicts `require`"),
        (true, true) if success.source.is_none() => {
            stage.add("/success/no_result", "needs a `source` beside it (D11)");
        }
        _ => {}
    }
    let required = success.require.iter().enumerate();
    for (i, group) in required {
        if group.iter().any(|place| success.forbid.contains(place)) {
            stage.add(format!("/success/require/{i}"), "is forbidden by `forbid`");
        }
    }
}
