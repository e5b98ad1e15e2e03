//! The JSON twin of the whole interface: one function, text in, text out. Field names are those of `wit/` with
//! underscores; times are RFC 3339 text; no number passes 2^53.

use alloc::{format, string::String};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    api::{Answer, Event, Opening, Refusal},
    check, digest,
    fill::fields,
    limits, machine, notice, open, record, request,
    time::Instant,
    verify,
};

struct OfContract {
    contract: String,
}

struct OfOpening {
    contract: String,
    opening: Opening,
    at: Instant,
}

struct OfJob {
    contract: String,
    opening: Opening,
}

struct OfRejoining {
    contract: String,
    record: String,
    opening: Opening,
}

struct OfRecord {
    contract: String,
    record: String,
}

struct OfAnswer {
    contract: String,
    record: Option<String>,
    answer: Answer,
}

struct OfStep {
    contract: String,
    record: String,
    event: Event,
}

struct OfNotice {
    contract: String,
    record: String,
    at: Instant,
}

struct OfRead {
    record: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfNothing {}

fields! {
    OfContract { contract }
    OfOpening { contract, opening, at }
    OfJob { contract, opening }
    OfRejoining { contract, record, opening }
    OfRecord { contract, record }
    OfAnswer { contract, record, answer }
    OfStep { contract, record, event }
    OfNotice { contract, record, at }
    OfRead { record }
}

/// The functions that [`call`] knows.
pub const FUNCTIONS: &[&str] = &[
    "about",
    "check_contract",
    "job",
    "notice",
    "observe",
    "open",
    "read",
    "rejoin",
    "request",
    "step",
    "try_answer",
    "verify",
];

/// Calls `function` with `input` (JSON text) and gives its result as JSON text.
///
/// # Errors
/// JSON text: a refusal `{kind, message, faults}`, or a list of faults from `check_contract`.
pub fn call(function: &str, input: &str) -> Result<String, String> {
    match function {
        "about" => read_input::<OfNothing>(input).and_then(|_| write(&check::about())),
        "check_contract" => {
            let input: OfContract = read_input(input)?;
            match check::check_contract(&input.contract) {
                Ok(summary) => write(&summary),
                Err(faults) => Err(write(&faults).unwrap_or_default()),
            }
        }
        "open" => {
            let input: OfOpening = read_input(input)?;
            answer(open::open(&input.contract, &input.opening, input.at))
        }
        "job" => {
            let input: OfJob = read_input(input)?;
            answer(open::job(&input.contract, &input.opening))
        }
        "rejoin" => {
            let input: OfRejoining = read_input(input)?;
            answer(open::rejoin(&input.contract, &input.record, &input.opening))
        }
        "request" => {
            let input: OfRecord = read_input(input)?;
            answer(request::request(&input.contract, &input.record))
        }
        "observe" => {
            let input: OfAnswer = read_input(input)?;
            answer(check::observe(&input.contract, input.record.as_deref(), &input.answer))
        }
        "step" => {
            let input: OfStep = read_input(input)?;
            answer(machine::step(&input.contract, &input.record, &input.event))
        }
        "notice" => {
            let input: OfNotice = read_input(input)?;
            answer(notice::notice(&input.contract, &input.record, input.at))
        }
        "read" => {
            let input: OfRead = read_input(input)?;
            answer(record::read(&input.record))
        }
        "try_answer" => {
            let input: check::Trial = read_input(input)?;
            answer(check::try_answer(&input))
        }
        "verify" => write(&verify::verify(&read_input(input)?)),
        other => {
            let known = crate::step::names(FUNCTIONS.iter().copied());
            Err(refusal(format!(
                "there is no function `{}`; there are {known}",
                crate::provider_text::clean(other, 64)
            )))
        }
    }
}

fn read_input<T: DeserializeOwned>(input: &str) -> Result<T, String> {
    serde_json::from_str(input).map_err(|error| {
        let message = crate::provider_text::clean(&format!("{error}"), limits::WHY_BYTES_MAX);
        refusal(format!("the input can't be read: {message}"))
    })
}

fn refusal(message: String) -> String {
    let refusal = Refusal::new(crate::api::RefusalKind::InvalidEvent, message);
    digest::canonical_of(&refusal).unwrap_or_default()
}

fn write<T: Serialize>(value: &T) -> Result<String, String> {
    digest::canonical_of(value).map_err(|_| refusal("the result can't be written as JSON".into()))
}

fn answer<T: Serialize>(result: Result<T, Refusal>) -> Result<String, String> {
    match result {
        Ok(value) => write(&value),
        Err(refusal) => Err(digest::canonical_of(&refusal).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_function_is_an_error_that_names_the_known_ones() {
        let error = call("nothing", "{}").unwrap_err();
        assert!(error.contains("there is no function `nothing`"), "{error}");
        assert!(error.contains("`check_contract`"), "{error}");
    }
}
