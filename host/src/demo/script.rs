//! What a job of the demo provider answers: steps, one a request, in words short enough for an id.

use std::fmt;
use std::str::FromStr;

/// Most steps of a script.
pub const STEPS_MAX: usize = 64;
/// Longest `Retry-After`, in seconds.
const SECONDS_MAX: u32 = 3_600;
/// Longest hint, in milliseconds.
const HINT_MS_MAX: u32 = 60_000;

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// 200 and this state, without more: `queued`, `running`, `cancelled`, `expired`, or `is-WORD` for any other.
    State(String),
    /// 200, `running`, and a hint when to ask again, in milliseconds: `hint-400`.
    Hint(u32),
    /// 200, `done`, and the result's address.
    Done,
    /// 200, `partial`, and the result's address.
    Partial,
    /// 200, `failed`, and the provider's error.
    Failed,
    /// 200, `waiting`, and for what: a person's approval.
    Waiting,
    /// 200, `moved`, and the id under which the job goes on, which then runs and is done.
    Moved,
    /// 200, `done`, and no result: the answer contradicts itself.
    Hollow,
    /// 200 and the answer of another job.
    Another,
    /// 200 and no JSON.
    Garbage,
    /// That status without a body: `500`.
    Status(u16),
    /// That status with `Retry-After` in seconds: `429-2`.
    Delta(u16, u32),
    /// That status with `Retry-After` as an HTTP date so many seconds ahead: `503-date2`.
    Date(u16, u32),
    /// The connection is closed without an answer.
    Drop,
    /// The connection is closed in the middle of the body.
    Half,
    /// No answer for a minute.
    Hang,
}

impl fmt::Display for Step {
    /// The word that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::State(word) if PLAIN.contains(&word.as_str()) => f.write_str(word),
            Step::State(word) => write!(f, "is-{word}"),
            Step::Hint(ms) => write!(f, "hint-{ms}"),
            Step::Status(status) => write!(f, "{status}"),
            Step::Delta(status, seconds) => write!(f, "{status}-{seconds}"),
            Step::Date(status, seconds) => write!(f, "{status}-date{seconds}"),
            named => f.write_str(NAMED.iter().find(|(_, step)| step == named).map_or("", |(word, _)| word)),
        }
    }
}

/// States that say no more than their word.
const PLAIN: [&str; 4] = ["queued", "running", "cancelled", "expired"];

/// Steps that are one word.
const NAMED: [(&str, Step); 11] = [
    ("done", Step::Done),
    ("partial", Step::Partial),
    ("failed", Step::Failed),
    ("waiting", Step::Waiting),
    ("moved", Step::Moved),
    ("hollow", Step::Hollow),
    ("another", Step::Another),
    ("garbage", Step::Garbage),
    ("drop", Step::Drop),
    ("half", Step::Half),
    ("hang", Step::Hang),
];

/// The text is no step, or no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not what a demo job can answer")]
pub struct ScriptError(String);

impl FromStr for Step {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let wrong = || ScriptError(text.to_owned());
        if PLAIN.contains(&text) {
            return Ok(Step::State(text.to_owned()));
        }
        if let Some((_, step)) = NAMED.iter().find(|(word, _)| *word == text) {
            return Ok(step.clone());
        }
        let (head, tail) = text.split_once('-').map_or((text, None), |(head, tail)| (head, Some(tail)));
        match (head, tail) {
            ("is", Some(word)) if is_word(word) => Ok(Step::State(word.to_owned())),
            ("hint", Some(ms)) => Ok(Step::Hint(number(ms, HINT_MS_MAX).ok_or_else(wrong)?)),
            _ => {
                let status = status(head).ok_or_else(wrong)?;
                let seconds = |text| number(text, SECONDS_MAX).ok_or_else(wrong);
                match (tail, tail.and_then(|tail| tail.strip_prefix("date"))) {
                    (None, _) => Ok(Step::Status(status)),
                    (Some(_), Some(date)) => Ok(Step::Date(status, seconds(date)?)),
                    (Some(delta), None) => Ok(Step::Delta(status, seconds(delta)?)),
                }
            }
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Digits only, and no more than `max`.
fn number(text: &str, max: u32) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= max)
}

/// A final status: 1xx is none.
fn status(text: &str) -> Option<u16> {
    let number = number(text, 599)?;
    u16::try_from(number).ok().filter(|status| text.len() == 3 && *status >= 200)
}

/// Steps in order; the last is repeated for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script(Vec<Step>);

impl Script {
    /// A script of these steps, at most [`STEPS_MAX`].
    ///
    /// # Errors
    /// Where there are none, or too many.
    pub fn new(steps: Vec<Step>) -> Result<Self, ScriptError> {
        match steps.len() {
            1..=STEPS_MAX => Ok(Self(steps)),
            other => Err(ScriptError(format!("{other} steps"))),
        }
    }

    /// The answer to request `number`, from 1 on; and how far the job is, in percent.
    pub fn step(&self, number: u32) -> Option<(&Step, usize)> {
        let index = usize::try_from(number).unwrap_or(usize::MAX).clamp(1, self.0.len());
        let percent = index.saturating_mul(100).checked_div(self.0.len())?;
        Some((self.0.get(index.saturating_sub(1))?, percent))
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(Step::to_string).collect();
        f.write_str(&words.join("."))
    }
}

impl FromStr for Script {
    type Err = ScriptError;

    /// Steps joined by dots, as in `queued.429-2.done`.
    fn from_str(text: &str) -> Result<Self, ScriptError> {
        Script::new(text.split('.').map(Step::from_str).collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_is_written() {
        for text in [
            "queued",
            "queued.running.hint-400.done",
            "cancelled.expired.is-paused.partial.failed.waiting.moved.hollow.another.garbage",
            "200.401.429-2.503-date3.599.drop.half.hang",
        ] {
            let script: Script = text.parse().unwrap();
            assert_eq!(script.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_script_is_refused() {
        let long = ["queued"; STEPS_MAX + 1].join(".");
        for text in [
            "",
            ".",
            "done.",
            "Done",
            "is-",
            "is-A",
            "hint",
            "hint-x",
            "hint-99999",
            "99",
            "199",
            "600",
            "429-",
            "429-date",
            "429-+1",
            &long,
        ] {
            assert!(text.parse::<Script>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_step_is_repeated_for_ever() {
        let script: Script = "queued.done".parse().unwrap();
        assert_eq!(script.step(1), Some((&Step::State("queued".to_owned()), 50)));
        for number in [2, 3, u32::MAX] {
            assert_eq!(script.step(number), Some((&Step::Done, 100)));
        }
    }
}
