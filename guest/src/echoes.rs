//! Identity: the fields of an answer that echo the job, the account, a fact or an incarnation (D13).

use alloc::{format, string::String, vec::Vec};

use crate::{
    classify::Known,
    contract::{Contract, Echo, EchoOf},
    digest,
    observation::{self, Observation, Seen},
    provider_text, rules,
};

/// Bytes of an echo's value that a note shows.
const SHOWN_BYTES_MAX: usize = 64;

/// What an answer says about itself.
#[derive(Default)]
pub(crate) struct Echoes {
    /// A note for each echo with another value, type included.
    pub(crate) differing: Vec<String>,
    /// A note for each echo that is absent or null.
    pub(crate) missing: Vec<String>,
    /// Incarnations seen for the first time, by place.
    pub(crate) pins: Vec<(String, String)>,
}

/// Compares every echo with what is known. One of which nothing is known (an id part that was never given) says
/// nothing; an incarnation that was never seen is pinned once it is there.
pub(crate) fn compare(contract: &Contract, known: &Known<'_>, seen: &Observation) -> Echoes {
    let mut echoes = Echoes::default();
    for echo in &contract.identity {
        let place = observation::key(&echo.place);
        let value = seen.at(&echo.place).filter(|value| rules::is_there(Some(value)));
        let expected = expected(echo, known, &place);
        match (value, expected.is_empty()) {
            (None, true) => {}
            (None, false) => echoes.missing.push(format!("the echo `{place}` of {} is missing", called(echo))),
            (Some(value), true) if echo.of == EchoOf::First => match text_of(value, echo.number) {
                Some(text) => echoes.pins.push((place, text.into())),
                None => echoes.differing.push(format!("the echo `{place}` is of another type")),
            },
            (Some(_), true) => {}
            (Some(value), false) => {
                if !expected.iter().any(|expected| equals(value, expected, echo)) {
                    echoes.differing.push(format!("the echo `{place}` of {} is {}", called(echo), shown(value)));
                }
            }
        }
    }
    echoes
}

fn expected<'a>(echo: &Echo, known: &Known<'a>, place: &str) -> Vec<&'a str> {
    match &echo.of {
        EchoOf::Part(name) => known.job.get(name).map(String::as_str).into_iter().collect(),
        EchoOf::Account => Some(known.account).filter(|account| !account.is_empty()).into_iter().collect(),
        EchoOf::Ctx(name) => known.ctx.get(name).into_iter().flatten().map(String::as_str).collect(),
        EchoOf::First => known.incarnation.get(place).map(String::as_str).into_iter().collect(),
    }
}

fn equals(seen: &Seen, expected: &str, echo: &Echo) -> bool {
    if echo.of == EchoOf::First {
        return text_of(seen, echo.number) == Some(expected);
    }
    match seen {
        Seen::Number(text) => echo.number && text == expected,
        Seen::Reference(reference) if echo.number => {
            reference.kind == "number" && reference.sha256 == digest::sha256_hex(expected.as_bytes())
        }
        seen => !echo.number && rules::is_text(seen, expected),
    }
}

/// What is pinned of a value: its text, or the digest where that is all there is.
fn text_of(seen: &Seen, number: bool) -> Option<&str> {
    match seen {
        Seen::Number(text) if number => Some(text),
        Seen::Text(text) if !number => Some(text),
        Seen::Long { sha256, .. } if !number => Some(sha256),
        Seen::Reference(reference) if reference.kind == (if number { "number" } else { "text" }) => {
            Some(&reference.sha256)
        }
        _ => None,
    }
}

fn called(echo: &Echo) -> String {
    match &echo.of {
        EchoOf::Part(name) => format!("id part `{name}`"),
        EchoOf::Account => "the account".into(),
        EchoOf::Ctx(name) => format!("the fact `{name}`"),
        EchoOf::First => "the incarnation".into(),
    }
}

fn shown(seen: &Seen) -> String {
    match seen {
        Seen::Text(text) | Seen::Number(text) => format!("another: `{}`", provider_text::clean(text, SHOWN_BYTES_MAX)),
        Seen::Long { .. } | Seen::Reference(_) => "another".into(),
        Seen::Repeated(_) => "there more than once".into(),
        Seen::Null | Seen::Bool(_) | Seen::Array(_) | Seen::Object(_) => "of another type".into(),
    }
}
