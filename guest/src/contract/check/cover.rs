//! When one condition says no more than another: sound, so that what it calls covered is covered, and not complete.

use alloc::{string::String, vec::Vec};

use crate::contract::{ArrayTest, Kind, Op, Place, Rule, Scalar, Test, Then, When, parse::faults::child};

/// Inclusive ranges of statuses.
pub(super) type Ranges = Vec<(u16, u16)>;

/// The statuses that a condition speaks of; without `code`, 2xx (D8).
pub(super) fn codes(when: &When) -> Ranges {
    when.code.clone().unwrap_or_else(|| Vec::from([(200, 299)]))
}

pub(super) fn contains(ranges: &Ranges, code: u16) -> bool {
    ranges.iter().any(|(low, high)| *low <= code && code <= *high)
}

/// What is left of `ranges` outside `taken`.
pub(super) fn without(ranges: &Ranges, taken: &Ranges) -> Ranges {
    let mut left = ranges.clone();
    for (from, to) in taken {
        let mut next = Vec::new();
        for (low, high) in left {
            if high < *from || low > *to {
                next.push((low, high));
                continue;
            }
            if low < *from {
                next.push((low, from.saturating_sub(1)));
            }
            if high > *to {
                next.push((to.saturating_add(1), high));
            }
        }
        left = next;
    }
    left
}

/// The pointer of a word below its rule.
pub(super) fn word_pointer(word: &str) -> String {
    child("/map/values", word)
}

/// Whether, statuses aside, the rule `general` decides wherever one of `special` (and a table at `word`) would.
pub(super) fn decides(general: &Rule, special: &When, word: Option<&Place>) -> bool {
    // A rule that looks into the body says nothing of an answer without one (D14).
    let body = |when: &When, word: Option<&Place>| in_body(when) || matches!(word, Some(Place::At(_)));
    let table = match &general.then {
        Then::Map(map) => Some(&map.place),
        Then::Outcome(_) => None,
    };
    (body(special, word) || !body(&general.when, table)) && implied(&general.when, special)
}

fn in_body(when: &When) -> bool {
    let at = |place: &Place| matches!(place, Place::At(_));
    when.array.is_some()
        || when.tests.iter().any(|test| at(&test.place))
        || when.after.as_ref().is_some_and(|after| at(&after.place))
        || when.not.iter().any(in_body)
}

fn implied(general: &When, special: &When) -> bool {
    all_implied(&general.tests, &special.tests)
        && general.array.as_ref().is_none_or(|g| special.array.as_ref().is_some_and(|s| array_implied(g, s)))
        && general.ctx.iter().all(|(name, words)| {
            special.ctx.get(name).is_some_and(|fewer| fewer.iter().all(|word| words.contains(word)))
        })
        && (general.after.is_none() || general.after == special.after)
        && general.not.iter().all(|n| special.not.contains(n))
}

fn all_implied(general: &[Test], special: &[Test]) -> bool {
    general.iter().all(|g| special.iter().any(|s| g.place == s.place && op_implied(&g.op, &s.op)))
}

/// Both are false over an empty array, so `all` is the stronger.
fn array_implied(general: &ArrayTest, special: &ArrayTest) -> bool {
    general.at == special.at && (special.all || !general.all) && all_implied(&general.tests, &special.tests)
}

/// Whether `general` holds at a place wherever `special` holds there.
fn op_implied(general: &Op, special: &Op) -> bool {
    if general == special {
        return true;
    }
    match (general, special) {
        (Op::Is { values, fold }, Op::Is { values: fewer, fold: folded }) => {
            fewer.iter().all(|value| values.iter().any(|known| equal(known, *fold, value, *folded)))
        }
        (Op::Present(true), Op::Is { values, .. }) => !values.contains(&Scalar::Null),
        (Op::Present(true), Op::Kind(kind)) => *kind != Kind::Null,
        (Op::Present(true), Op::Above(_) | Op::InCtx(_) | Op::Empty(_)) => true,
        (Op::Present(false), Op::Kind(Kind::Null)) => true,
        (Op::Present(false), Op::Is { values, .. }) => values.iter().all(|v| *v == Scalar::Null),
        (Op::Kind(kind), Op::Is { values, .. }) => values.iter().all(|v| kind_of(v) == *kind),
        (Op::Kind(Kind::Text), Op::InCtx(_)) | (Op::Kind(Kind::Number), Op::Above(_)) => true,
        (Op::Above(low), Op::Above(high)) => low <= high,
        _ => false,
    }
}

/// Whether whatever equals `value` (folded or not) also equals `known`.
fn equal(known: &Scalar, fold: bool, value: &Scalar, folded: bool) -> bool {
    match (known, value) {
        (Scalar::Text(known), Scalar::Text(value)) if fold => known.eq_ignore_ascii_case(value),
        (Scalar::Text(known), Scalar::Text(value)) => {
            known == value && !(folded && value.bytes().any(|b| b.is_ascii_alphabetic()))
        }
        (known, value) => known == value,
    }
}

fn kind_of(value: &Scalar) -> Kind {
    match value {
        Scalar::Text(_) => Kind::Text,
        Scalar::Number(_) => Kind::Number,
        Scalar::Bool(_) => Kind::Bool,
        Scalar::Null => Kind::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(values: &[&str], fold: bool) -> Op {
        Op::Is { values: values.iter().map(|v| Scalar::Text((*v).into())).collect(), fold }
    }

    #[test]
    fn ranges_are_subtracted_exactly() {
        assert_eq!(without(&[(200, 299)].into(), &[(200, 204)].into()), [(205, 299)]);
        assert_eq!(
            without(&[(200, 299)].into(), &[(210, 220), (230, 240)].into()),
            [(200, 209), (221, 229), (241, 299)]
        );
        assert_eq!(without(&[(200, 204)].into(), &[(100, 599)].into()), []);
        assert_eq!(without(&[(404, 404)].into(), &[(200, 299)].into()), [(404, 404)]);
    }

    #[test]
    fn fewer_words_are_covered_by_more_and_case_only_by_fold() {
        assert!(op_implied(&is(&["a", "b"], false), &is(&["a"], false)));
        assert!(!op_implied(&is(&["a"], false), &is(&["a", "b"], false)));
        assert!(op_implied(&is(&["A"], true), &is(&["a"], false)));
        assert!(!op_implied(&is(&["a"], false), &is(&["a"], true)));
        assert!(op_implied(&is(&["1"], false), &is(&["1"], true)));
    }

    #[test]
    fn presence_is_covered_by_what_needs_it() {
        assert!(op_implied(&Op::Present(true), &is(&["a"], false)));
        assert!(op_implied(&Op::Above(0), &Op::Above(5)));
        assert!(!op_implied(&Op::Above(5), &Op::Above(0)));
        assert!(!op_implied(&Op::Present(true), &Op::Present(false)));
        assert!(!op_implied(&Op::Present(true), &Op::Is { values: [Scalar::Null].into(), fold: false }));
    }
}
