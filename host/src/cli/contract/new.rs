//! `contract new`: a contract begun from a few answers, given by flags or asked for on the terminal.

mod ask;
mod file;
mod render;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::super::{App, CliError, code, input, open, output};
use ask::{Asker, Question};

/// A deadline that nobody chose is so many usual times away.
const DEADLINE_FACTOR: u64 = 10;
/// The first look comes after this share of the usual time, as a divisor.
const FIRST_LOOK: u64 = 10;
/// The longest delay between looks that is proposed.
const MAX_DELAY_S: u64 = 600;
/// Looks beyond those that pace and deadline come to.
const REQUESTS_MORE: u64 = 8;
/// Most looks that are proposed.
const REQUESTS_MAX: u64 = 1_000;

/// Options of `contract new`; on a terminal what is not given is asked for.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Where the contract is written; never over a file that is there. [default: ID.json]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Who runs the job.
    #[arg(long)]
    provider: Option<String>,
    /// The contract's own name, such as acme.exports. [default: made from the provider's name]
    #[arg(long)]
    id: Option<String>,
    /// The status address, with {NAME} for each part of the job's id.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Where the state word stands in the body, as a JSON Pointer: /status.
    #[arg(long, value_name = "POINTER")]
    state: Option<String>,
    /// State words of a job that goes on.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pending: Vec<String>,
    /// State words of success.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    succeeded: Vec<String>,
    /// State words of a partial result.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    partial: Vec<String>,
    /// State words of failure.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    failed: Vec<String>,
    /// State words of a job that was cancelled.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    cancelled: Vec<String>,
    /// State words of a job, or its result, that is gone.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    expired: Vec<String>,
    /// State words that wait for a person.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    needs_action: Vec<String>,
    /// Where the reference to the result stands in an answer that says success; `none` where the provider gives none.
    #[arg(long, value_name = "POINTER")]
    result: Option<String>,
    /// Where the answer repeats the job's id (the last part of it); `none` where it doesn't.
    #[arg(long, value_name = "POINTER")]
    echo: Option<String>,
    /// Where the provider documents all this.
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// Whether a status request bills or changes anything.
    #[arg(long, value_name = "KIND")]
    effects: Option<EffectsKind>,
    /// How that is known.
    #[arg(long, value_name = "TEXT")]
    effects_known: Option<String>,
    /// Header of the credential; `none` where none is sent. [default: authorization]
    #[arg(long, value_name = "NAME")]
    credential_header: Option<String>,
    /// What stands before the credential in it. [default: "Bearer " in authorization, else nothing]
    #[arg(long, value_name = "TEXT")]
    credential_prefix: Option<String>,
    /// How long such a job usually takes.
    #[arg(long, value_name = "DURATION")]
    takes: Option<String>,
    /// When a wait stops. [default: ten times the usual time]
    #[arg(long, value_name = "DURATION")]
    deadline: Option<String>,
    /// Most status requests of a wait. [default: what pace and deadline come to]
    #[arg(long, value_name = "N")]
    max_requests: Option<u32>,
    /// Most exchanges from which nothing is learnt.
    #[arg(long, value_name = "N", default_value_t = 5)]
    max_failures: u32,
}

/// D5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EffectsKind {
    /// Free, and changes nothing.
    None,
    /// Each one costs.
    Bills,
    /// Each one changes something at the provider.
    Changes,
}

impl EffectsKind {
    fn word(self) -> &'static str {
        match self {
            EffectsKind::None => "none",
            EffectsKind::Bills => "bills",
            EffectsKind::Changes => "changes",
        }
    }
}

/// Everything that the file is made from.
struct Answers {
    provider: String,
    id: String,
    url: String,
    state: String,
    /// Outcomes with their words, in the order that they are written.
    words: Vec<(&'static str, Vec<String>)>,
    /// `None`: the provider gives no reference.
    result: Option<String>,
    echo: Option<String>,
    source: String,
    effects: String,
    effects_known: String,
    /// Header and prefix.
    credential: Option<(String, String)>,
    amounts: Amounts,
    failures: u32,
    /// Whether deadline or requests were worked out here.
    worked_out: bool,
}

/// Times in seconds, and the number of looks that they come to.
struct Amounts {
    takes: u64,
    first: u64,
    max: u64,
    deadline: u64,
    requests: u64,
}

/// Writes a contract that passes `contract check`.
pub(super) fn new(app: &App, args: NewArgs) -> Result<u8, CliError> {
    let out = args.out.clone();
    if let Some(path) = out.as_ref().filter(|path| path.exists()) {
        return Err(there(path));
    }
    let answers = answers(args)?;
    let path = out.unwrap_or_else(|| PathBuf::from(format!("{}.json", answers.id)));
    let text = file::text(&answers).map_err(CliError::Input)?;
    let summary = open::summary(&app.component()?, "the contract that these answers make", &text)?;
    write(&path, &text)?;
    if app.common.json {
        output::json(&json!({"file": path.display().to_string(), "id": summary.id, "digest": summary.digest,
            "samples": summary.samples}))?;
        return Ok(code::DONE);
    }
    output::line(&format!(
        "written   {} ({}, {} samples came out as stated)",
        path.display(),
        summary.id,
        summary.samples
    ))?;
    for warning in &summary.warnings {
        output::line(&format!("warning   {}: {}", crate::controller::pointer(&warning.pointer), warning.message))?;
    }
    output::line("next      put answers of the provider among its `samples`, then:")?;
    output::line(&format!("          sondeo contract check {}", path.display()))?;
    Ok(code::DONE)
}

fn there(path: &Path) -> CliError {
    CliError::Input(format!("`{}` is there already, and is not written over: name another with --out", path.display()))
}

/// Writes the file if it isn't there; looking first would leave a moment in which it could come.
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => there(path),
        _ => CliError::Input(format!("can't write `{}`: {error}", path.display())),
    };
    let mut file = std::fs::File::options().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

fn answers(args: NewArgs) -> Result<Answers, CliError> {
    let mut asker = Asker::new();
    let provider = asker.text(Question::PROVIDER, args.provider)?;
    let slug = slug(&provider);
    let id = asker.text_or(Question::ID, args.id, &slug)?;
    let url = asker.text(Question::URL, args.url)?;
    let state = asker.text(Question::STATE, args.state)?;
    let mut words = vec![
        ("pending", asker.words(Question::PENDING, args.pending)?),
        ("succeeded", asker.words(Question::SUCCEEDED, args.succeeded)?),
    ];
    for (outcome, question, given) in [
        ("partial", Question::PARTIAL, args.partial),
        ("failed", Question::FAILED, args.failed),
        ("cancelled", Question::CANCELLED, args.cancelled),
        ("expired", Question::EXPIRED, args.expired),
        ("needs_action", Question::NEEDS_ACTION, args.needs_action),
    ] {
        words.push((outcome, asker.words_or_none(question, given)?));
    }
    let result = asker.text(Question::RESULT, args.result)?;
    let echo = asker.text_or(Question::ECHO, args.echo, ask::NONE)?;
    let source = asker.text(Question::SOURCE, args.source)?;
    let effects = asker.text(Question::EFFECTS, args.effects.map(|kind| kind.word().to_owned()))?;
    let effects_known = asker.text(Question::EFFECTS_KNOWN, args.effects_known)?;
    let header = asker.text_or(Question::CREDENTIAL, args.credential_header, "authorization")?.to_ascii_lowercase();
    let takes = asker.text(Question::TAKES, args.takes)?;
    let deadline = asker.text_or(Question::DEADLINE, args.deadline, ask::WORKED_OUT)?;
    let requests = args.max_requests.map(|n| n.to_string());
    let requests = asker.text_or(Question::REQUESTS, requests, ask::WORKED_OUT)?;
    asker.complete()?;
    distinct(&words)?;
    let credential = (header != ask::NONE).then(|| {
        let bearer = if header == "authorization" { "Bearer " } else { "" };
        let prefix = args.credential_prefix.unwrap_or_else(|| bearer.to_owned());
        (header, prefix)
    });
    let given = |text: String| (text != ask::NONE).then_some(text);
    let worked_out = deadline == ask::WORKED_OUT || requests == ask::WORKED_OUT;
    let amounts = amounts(&takes, &deadline, &requests)?;
    Ok(Answers {
        provider,
        id,
        url,
        state,
        words,
        result: given(result),
        echo: given(echo),
        source,
        effects,
        effects_known,
        credential,
        amounts,
        failures: args.max_failures,
        worked_out,
    })
}

/// Pace, deadline and budget, as given or as the usual time suggests.
fn amounts(takes: &str, deadline: &str, requests: &str) -> Result<Amounts, CliError> {
    let takes = seconds("--takes", takes)?;
    let first = takes.div_ceil(FIRST_LOOK).max(1);
    let max = (takes / 2).clamp(first, MAX_DELAY_S.max(first));
    let deadline = match deadline {
        ask::WORKED_OUT => takes.saturating_mul(DEADLINE_FACTOR),
        text => seconds("--deadline", text)?,
    };
    let requests = match requests {
        // A delay may be drawn at half its length.
        ask::WORKED_OUT => (deadline.saturating_mul(2) / max).saturating_add(REQUESTS_MORE).min(REQUESTS_MAX),
        text => text.parse().map_err(|_| CliError::Input(format!("--max-requests `{text}`: write a number")))?,
    };
    Ok(Amounts { takes, first, max, deadline, requests })
}

/// A duration in whole seconds, at least one.
fn seconds(flag: &str, text: &str) -> Result<u64, CliError> {
    Ok(input::duration(flag, text)?.div_ceil(1000).max(1))
}

/// A word means one thing.
fn distinct(words: &[(&'static str, Vec<String>)]) -> Result<(), CliError> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (outcome, words) in words {
        for word in words {
            if let Some((_, other)) = seen.iter().find(|(known, _)| known == word) {
                return Err(CliError::Input(format!(
                    "the state word `{word}` is given as `{other}` and as `{outcome}`"
                )));
            }
            seen.push((word, outcome));
        }
    }
    Ok(())
}

/// A contract id from a name: lower-case letters, digits, and a dot for whatever is between.
fn slug(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    if words.is_empty() { "jobs".to_owned() } else { words.join(".") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_from_the_providers_name() {
        assert_eq!(slug("Acme Exports, Inc."), "acme.exports.inc");
        assert_eq!(slug("\u{e9}"), "jobs");
    }

    #[test]
    fn a_word_can_not_mean_two_things() {
        let words = |a: &str, b: &str| vec![("pending", vec![a.to_owned()]), ("failed", vec![b.to_owned()])];
        assert!(distinct(&words("run", "error")).is_ok());
        let error = distinct(&words("run", "run")).unwrap_err().to_string();
        assert_eq!(error, "the state word `run` is given as `pending` and as `failed`");
    }
}
