//! Places and facts that conditions use: values of results and addresses are not kept (D11, D31), a fact is declared.

use alloc::{collections::BTreeSet, format, string::String};

use super::Stage;
use crate::contract::{AddressSpec, ArrayTest, CtxKind, FollowTarget, Op, Place, Test, Then, When};

/// Why such a place can't be looked into.
const SEALED: &str = "is a place of `result` or of a status address, whose value is kept by digest only (D11, D31)";

pub(super) fn check(stage: &Stage<'_>) {
    let contract = stage.contract;
    let mut sealed: BTreeSet<&Place> = BTreeSet::new();
    sealed.extend(contract.result.values().map(|result| &result.place));
    if let Some(FollowTarget::Address(place)) = contract.follow.as_ref().map(|follow| &follow.target) {
        sealed.insert(place);
    }
    if let AddressSpec::From(Some(place)) = &contract.request.address {
        sealed.insert(place);
    }
    let look = Look { stage, sealed };
    for (i, rule) in contract.decide.iter().enumerate() {
        look.when(&format!("/decide/{i}/when"), &rule.when);
        if let Then::Map(map) = &rule.then {
            look.value(&format!("/decide/{i}/map"), &map.place);
        }
    }
    if let Some(success) = &contract.success {
        look.whens("/success/partial_if", &success.partial_if);
    }
    for (i, consistency) in contract.consistency.iter().enumerate() {
        look.when(&format!("/consistency/{i}/if"), &consistency.when);
        look.tests(&format!("/consistency/{i}/must"), &consistency.must);
        look.tests(&format!("/consistency/{i}/must_not"), &consistency.must_not);
    }
    for (i, echo) in contract.identity.iter().enumerate() {
        look.value(&format!("/identity/{i}"), &echo.place);
    }
    for (i, hint) in contract.hints.iter().enumerate() {
        look.value(&format!("/hints/{i}"), &hint.place);
    }
    if let Some(expiry) = &contract.expiry {
        look.value("/expiry", &expiry.place);
    }
    for (list, places) in [("error", &contract.error), ("progress", &contract.progress)] {
        for (i, place) in places.iter().enumerate() {
            look.value(&format!("/{list}/{i}"), place);
        }
    }
}

struct Look<'a> {
    stage: &'a Stage<'a>,
    sealed: BTreeSet<&'a Place>,
}

impl Look<'_> {
    fn value(&self, at: &str, place: &Place) {
        if self.sealed.contains(place) {
            self.stage.add(at, SEALED);
        }
    }

    fn whens(&self, list: &str, whens: &[When]) {
        for (i, when) in whens.iter().enumerate() {
            self.when(&format!("{list}/{i}"), when);
        }
    }

    fn when(&self, at: &str, when: &When) {
        self.tests(&format!("{at}/test"), &when.tests);
        if let Some(array) = &when.array {
            self.array(&format!("{at}/{}", if array.all { "all" } else { "any" }), array);
        }
        for (name, words) in &when.ctx {
            fact(self.stage, &format!("{at}/ctx/{name}"), name, words);
        }
        if let Some(after) = &when.after {
            self.value(&format!("{at}/after"), &after.place);
            let pointer = format!("{at}/after/ctx");
            if let Some(kind) = declared(self.stage, &pointer, &after.ctx)
                && *kind != CtxKind::Time
            {
                self.stage.add(pointer, format!("`{}` is not declared as a `time`", after.ctx));
            }
        }
        self.whens(&format!("{at}/not"), &when.not);
    }

    fn tests(&self, list: &str, tests: &[Test]) {
        for (i, test) in tests.iter().enumerate() {
            let at = format!("{list}/{i}");
            if needs_value(&test.op) {
                self.value(&at, &test.place);
            }
            self.in_ctx(&at, test);
        }
    }

    fn array(&self, at: &str, array: &ArrayTest) {
        for (i, test) in array.tests.iter().enumerate() {
            let at = format!("{at}/test/{i}");
            let sealed = |place: &&&Place| within(place, array, &test.place);
            if needs_value(&test.op) && self.sealed.iter().find(sealed).is_some() {
                self.stage.add(&at, SEALED);
            }
            if matches!(test.place, Place::Header(_)) {
                self.stage.add(&at, "names a header, and an element has none: give `at`");
            }
            self.in_ctx(&at, test);
        }
    }

    fn in_ctx(&self, at: &str, test: &Test) {
        let Op::InCtx(name) = &test.op else { return };
        let pointer = format!("{at}/in_ctx");
        if let Some(CtxKind::Time) = declared(self.stage, &pointer, name) {
            self.stage.add(pointer, format!("`{name}` is a time, not words"));
        }
    }
}

/// Presence and kind are kept of a result, its value is not.
fn needs_value(op: &Op) -> bool {
    matches!(op, Op::Is { .. } | Op::InCtx(_) | Op::Above(_))
}

/// Whether a result stands in some element of the array where the test looks.
fn within(result: &Place, array: &ArrayTest, inner: &Place) -> bool {
    let (Place::At(result), Place::At(inner)) = (result, inner) else {
        return false;
    };
    let Some(rest) = result.tokens().strip_prefix(array.at.tokens()) else {
        return false;
    };
    rest.split_first().is_some_and(|(index, below)| {
        !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) && below == inner.tokens()
    })
}

fn declared<'s>(stage: &'s Stage<'_>, pointer: &str, name: &str) -> Option<&'s CtxKind> {
    match stage.contract.ctx.get(name) {
        Some(spec) => Some(&spec.kind),
        None => {
            stage.add(pointer, format!("`{name}` is not declared in `ctx`"));
            None
        }
    }
}

/// A fact that a condition or sample names: declared, and each word one that it may have.
pub(super) fn fact(stage: &Stage<'_>, pointer: &str, name: &str, words: &[String]) {
    match declared(stage, pointer, name) {
        Some(CtxKind::OneOf(known) | CtxKind::ListOf(known)) => {
            if let Some(word) = words.iter().find(|word| !known.contains(word)) {
                stage.add(pointer, format!("`{word}` is none of the words declared for `{name}`"));
            }
        }
        Some(CtxKind::Text | CtxKind::Time) | None => {}
    }
}
