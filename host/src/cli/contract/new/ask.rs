//! Questions: answered by a flag, else on the terminal, else told as missing all at once.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use super::super::super::CliError;

/// The answer that there is no such thing.
pub(super) const NONE: &str = "none";
/// The answer that it shall be worked out.
pub(super) const WORKED_OUT: &str = "worked out";

/// One question.
#[derive(Clone, Copy)]
pub(super) struct Question {
    flag: &'static str,
    /// What is asked, and after it an example.
    text: &'static str,
    check: fn(&str) -> Result<(), &'static str>,
}

impl Question {
    pub(super) const PROVIDER: Question = question("--provider", "Who runs the job (Acme)", any);
    pub(super) const ID: Question = question("--id", "The contract's own name (acme.exports)", id);
    pub(super) const URL: Question =
        question("--url", "The status address (https://api.acme.example/v1/exports/{export_id})", url);
    pub(super) const STATE: Question = question("--state", "Where the state word stands (/status)", pointer);
    pub(super) const PENDING: Question =
        question("--pending", "State words of a job that goes on (queued,running)", any);
    pub(super) const SUCCEEDED: Question = question("--succeeded", "State words of success (done)", any);
    pub(super) const PARTIAL: Question = question("--partial", "State words of a partial result", any);
    pub(super) const FAILED: Question = question("--failed", "State words of failure (error)", any);
    pub(super) const CANCELLED: Question = question("--cancelled", "State words of a cancelled job", any);
    pub(super) const EXPIRED: Question = question("--expired", "State words of a job that is gone", any);
    pub(super) const NEEDS_ACTION: Question = question("--needs-action", "State words that wait for a person", any);
    pub(super) const RESULT: Question =
        question("--result", "Where success refers to its result (/output/url; none: it doesn't)", pointer_or_none);
    pub(super) const ECHO: Question =
        question("--echo", "Where the answer repeats the job's id (/id; none: it doesn't)", pointer_or_none);
    pub(super) const SOURCE: Question = question("--source", "Where the provider documents all this", any);
    pub(super) const EFFECTS: Question =
        question("--effects", "What a status request does beside reading (none, bills, changes)", effects);
    pub(super) const EFFECTS_KNOWN: Question = question("--effects-known", "How that is known", any);
    pub(super) const CREDENTIAL: Question =
        question("--credential-header", "Header of the credential (none: none is sent)", any);
    pub(super) const TAKES: Question = question("--takes", "How long such a job usually takes (5m)", duration);
    pub(super) const DEADLINE: Question = question("--deadline", "When a wait stops (50m)", duration);
    pub(super) const REQUESTS: Question = question("--max-requests", "Most status requests of a wait (40)", number);
}

const fn question(flag: &'static str, text: &'static str, check: fn(&str) -> Result<(), &'static str>) -> Question {
    Question { flag, text, check }
}

fn any(text: &str) -> Result<(), &'static str> {
    if text.chars().any(char::is_control) { Err("write it on one line") } else { Ok(()) }
}

fn id(text: &str) -> Result<(), &'static str> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let ends = !text.starts_with(['.', '_', '-']) && !text.ends_with(['.', '_', '-']);
    if text.chars().all(inner) && ends { Ok(()) } else { Err("lower-case letters, digits, and . _ - within") }
}

fn url(text: &str) -> Result<(), &'static str> {
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Err("an address starts with https:// (or http:// on your own machine)");
    }
    if super::file::parts(text).is_empty() { Err("put {NAME} where the job's id goes") } else { Ok(()) }
}

fn pointer(text: &str) -> Result<(), &'static str> {
    if text.starts_with('/') && text.len() > 1 { Ok(()) } else { Err("a JSON Pointer starts with /, as /status") }
}

fn pointer_or_none(text: &str) -> Result<(), &'static str> {
    if text == NONE { Ok(()) } else { pointer(text) }
}

fn effects(text: &str) -> Result<(), &'static str> {
    if ["none", "bills", "changes"].contains(&text) { Ok(()) } else { Err("one of none, bills, changes") }
}

fn duration(text: &str) -> Result<(), &'static str> {
    match humantime::parse_duration(text) {
        Ok(_) => Ok(()),
        Err(_) if text == WORKED_OUT => Ok(()),
        Err(_) => Err("write it like 90s, 40m or 1h30m"),
    }
}

fn number(text: &str) -> Result<(), &'static str> {
    if text == WORKED_OUT || text.parse::<u32>().is_ok_and(|n| n > 0) { Ok(()) } else { Err("a number above 0") }
}

/// Takes answers where they can be had.
pub(super) struct Asker {
    terminal: bool,
    missing: Vec<&'static str>,
}

impl Asker {
    pub(super) fn new() -> Asker {
        Asker { terminal: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(), missing: Vec::new() }
    }

    /// An answer that there has to be; where nobody can be asked it counts as missing.
    pub(super) fn text(&mut self, question: Question, given: Option<String>) -> Result<String, CliError> {
        self.answer(question, given, None)
    }

    /// An answer that may be left out.
    pub(super) fn text_or(
        &mut self,
        question: Question,
        given: Option<String>,
        default: &str,
    ) -> Result<String, CliError> {
        self.answer(question, given, Some(default))
    }

    /// Words, at least one.
    pub(super) fn words(&mut self, question: Question, given: Vec<String>) -> Result<Vec<String>, CliError> {
        Ok(split(&self.answer(question, joined(given), None)?))
    }

    /// Words, or none.
    pub(super) fn words_or_none(&mut self, question: Question, given: Vec<String>) -> Result<Vec<String>, CliError> {
        Ok(split(&self.answer(question, joined(given), Some(""))?))
    }

    /// Every flag that is missing, at once.
    pub(super) fn complete(self) -> Result<(), CliError> {
        if self.missing.is_empty() {
            return Ok(());
        }
        Err(CliError::Input(format!("without a terminal to ask on, give: {}", self.missing.join(", "))))
    }

    fn answer(&mut self, question: Question, given: Option<String>, default: Option<&str>) -> Result<String, CliError> {
        if let Some(text) = given {
            let text = text.trim().to_owned();
            let checked = if text.is_empty() { Err("it is empty") } else { (question.check)(&text) };
            return match checked {
                Ok(()) => Ok(text),
                Err(why) => Err(CliError::Input(format!("{} `{text}`: {why}", question.flag))),
            };
        }
        match (self.terminal, default) {
            (true, default) => ask(question, default),
            (false, Some(default)) => Ok(default.to_owned()),
            (false, None) => {
                self.missing.push(question.flag);
                Ok(String::new())
            }
        }
    }
}

/// Asks until the answer will do; the end of the input ends the command.
fn ask(question: Question, default: Option<&str>) -> Result<String, CliError> {
    loop {
        let mut terminal = std::io::stderr().lock();
        match default {
            None => write!(terminal, "{}: ", question.text)?,
            Some("") => write!(terminal, "{} [no such words]: ", question.text)?,
            Some(default) => write!(terminal, "{} [{default}]: ", question.text)?,
        }
        terminal.flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Err(CliError::Input("the questions were not answered to the end; nothing is written".to_owned()));
        }
        let text = match (line.trim(), default) {
            ("", Some(default)) => return Ok(default.to_owned()),
            ("", None) => continue,
            (text, _) => text,
        };
        match (question.check)(text) {
            Ok(()) => return Ok(text.to_owned()),
            Err(why) => writeln!(terminal, "  {why}")?,
        }
    }
}

fn joined(words: Vec<String>) -> Option<String> {
    (!words.is_empty()).then(|| words.join(","))
}

fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_at_once_and_what_is_wrong_by_its_flag() {
        let mut asker = Asker { terminal: false, missing: Vec::new() };
        assert_eq!(asker.text_or(Question::ID, None, "a").unwrap(), "a");
        let error = asker.text(Question::STATE, Some("status".to_owned())).unwrap_err().to_string();
        assert_eq!(error, "--state `status`: a JSON Pointer starts with /, as /status");
        assert_eq!(asker.words(Question::PENDING, vec!["a".to_owned(), " b ".to_owned()]).unwrap(), ["a", "b"]);
        asker.text(Question::URL, None).unwrap();
        asker.words(Question::SUCCEEDED, Vec::new()).unwrap();
        let error = asker.complete().unwrap_err().to_string();
        assert_eq!(error, "without a terminal to ask on, give: --url, --succeeded");
    }

    #[test]
    fn answers_are_checked_where_they_are_given() {
        for (question, bad) in [
            (Question::URL, "https://a.example/jobs"),
            (Question::URL, "a.example/{id}"),
            (Question::ID, ".a"),
            (Question::EFFECTS, "some"),
            (Question::TAKES, "5"),
            (Question::REQUESTS, "0"),
            (Question::RESULT, "nothing"),
        ] {
            assert!((question.check)(bad).is_err(), "{bad}");
        }
        assert!((Question::URL.check)("https://a.example/{id}").is_ok());
    }
}
