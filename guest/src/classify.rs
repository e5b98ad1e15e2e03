//! What one answer means: the checks that RULES "The order of checks" gives to `answered`, in that order, as a pure
//! function of contract, observation and what is known of the job. Expiry, grace and limits are the machine's.
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    api::{Reason, ResultRef},
    contract::{Contract, Op, Outcome, Place, Rule, Scalar, Then, WordMap},
    echoes::{self, Echoes},
    limits,
    observation::{self, BodyKind, Observation, Seen},
    provider_text, results,
    rules::{self, Codes, Facts, Line},
    time::Instant,
};

/// What is known of the job when an answer comes.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Id parts by name.
    pub job: &'a BTreeMap<String, String>,
    /// Empty where it isn't known: a contract's own samples.
    pub account: &'a str,
    /// Facts fixed at opening.
    pub ctx: &'a BTreeMap<String, Vec<String>>,
    /// Echoes pinned when first seen, by place (D13).
    pub incarnation: &'a BTreeMap<String, String>,
    /// The request carried the last `ETag` (D29).
    pub conditional_sent: bool,
}

/// The verdict on one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    Is(Outcome),
    /// Not to be used, and why (D11 to D14, D30).
    Stop(Reason),
    /// A 304 to our own `ETag`: as the last one (D29).
    NotModified,
}

/// The verdict, and what else the answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub judged: Judged,
    /// The state word that was seen, made harmless; none where the job's last known state stays as it was (D7).
    pub word: Option<String>,
    /// What an entry should say about the verdict; provider text in it is bounded.
    pub notes: Vec<String>,
    /// Incarnations seen for the first time, by place (D13).
    pub pins: Vec<(String, String)>,
    /// Results that are there and valid, whatever the verdict; none of an answer that isn't this job's.
    pub results: Vec<ResultRef>,
    /// Actions whose needs these results meet (D11).
    pub actions: Vec<String>,
    /// The provider's expiry of the job, or why it can't be read (D12).
    pub expires: Option<Result<Instant, &'static str>>,
    /// Index of the contract's rule that decided; none for the defaults.
    pub rule: Option<u32>,
}

/// What rules or defaults say, before success and consistency are looked at.
struct Ruling<'a> {
    judged: Judged,
    /// The contract's rule that spoke, and its index.
    rule: Option<(u32, &'a Rule)>,
    word: Option<String>,
    note: Option<String>,
}

/// Judges one answer.
pub fn classify(contract: &Contract, known: &Known<'_>, seen: &Observation) -> Judgement {
    let facts = Facts { seen, ctx: known.ctx };
    if let Some(why) = unreadable(seen) {
        return Judgement::stopped(Reason::UnreadableResponse, Vec::from([why]));
    }
    let echoes = echoes::compare(contract, known, seen);
    let ruling = rule(contract, &facts).unwrap_or_else(|| default(seen, known.conditional_sent));
    // INVARIANT (identity-first): D13 wants echoes tested before anything else of an answer is used. An error that no
    // rule of the contract speaks of is judged by its status alone (D15, D26 to D30): an `id` in its body is its own.
    let used = seen.status < 400 || ruling.rule.is_some();
    if used && !echoes.differing.is_empty() {
        return Judgement::stopped(Reason::IdentityMismatch, echoes.differing);
    }
    if lacks_echo(&ruling, &facts, &echoes) {
        return Judgement::stopped(Reason::IdentityMismatch, echoes.missing);
    }
    let mut judgement = Judgement::of(ruling);
    if used && seen.incomplete.is_none() {
        judgement.take(contract, seen, echoes.pins);
    }
    if judgement.rule.is_none() || !states_job(judgement.judged) {
        return judgement;
    }
    let contradictions = contradictions(contract, facts);
    if !contradictions.is_empty() {
        return judgement.contradicted(contradictions);
    }
    match judgement.judged {
        Judged::Is(Outcome::Succeeded) => match results::success(contract, facts) {
            Ok(outcome) => Judgement { judged: Judged::Is(outcome), ..judgement },
            Err(faults) => judgement.contradicted(faults),
        },
        _ => judgement,
    }
}

/// D14: only a 2xx has to be readable. What did not complete never comes this far with its state (D20).
fn unreadable(seen: &Observation) -> Option<String> {
    let unreadable =
        rules::is_success(seen.status) && seen.incomplete.is_none() && seen.body.kind == BodyKind::Unreadable;
    unreadable.then(|| format!("the body is unreadable: {}", seen.body.why.as_deref().unwrap_or("unknown")))
}

/// The contract's rules, first match wins (D8, D15).
fn rule<'a>(contract: &'a Contract, facts: &Facts<'_>) -> Option<Ruling<'a>> {
    if facts.seen.incomplete.is_some() {
        return None;
    }
    let (index, rule) = contract.decide.iter().enumerate().find(|(_, rule)| facts.matches(rule))?;
    let (outcome, word, note) = match &rule.then {
        Then::Outcome(outcome) => (*outcome, tested_word(rule, facts.seen), None),
        Then::Map(map) => {
            let value = facts.seen.at(&map.place);
            let (outcome, line) = rules::look_up(map, value);
            (outcome, value.and_then(word_of), line_note(map, outcome, line, value))
        }
    };
    let (status, ruled) = (facts.seen.status, Some((u32::try_from(index).ok()?, rule)));
    if !may_stand(status, rule, outcome) {
        let note = format!("no rule turns {status} into `{outcome}`");
        return Some(Ruling { judged: Judged::Is(Outcome::Unauthorized), rule: ruled, word: None, note: Some(note) });
    }
    Some(Ruling { judged: Judged::Is(outcome), rule: ruled, word: word.filter(|_| tells_of_job(outcome)), note })
}

/// D15: no rule turns 401, 403 or 407 into a wait, but a cited one that looks past the code may call a 403 `throttled`.
fn may_stand(status: u16, rule: &Rule, outcome: Outcome) -> bool {
    match (status, outcome) {
        (403, Outcome::Throttled) => rule.source.is_some() && rules::looks_past_code(&rule.when),
        (
            401 | 403 | 407,
            Outcome::Pending | Outcome::Follow | Outcome::NotFound | Outcome::Throttled | Outcome::Unavailable,
        ) => false,
        _ => true,
    }
}

/// The protocol's own signals (D26 to D30), where no rule speaks.
fn default<'a>(seen: &Observation, conditional_sent: bool) -> Ruling<'a> {
    let judged = match seen.status {
        // D14: of an exchange that did not complete a 429 still counts; its state doesn't.
        429 => Judged::Is(Outcome::Throttled),
        _ if seen.incomplete.is_some() => Judged::Is(Outcome::Unavailable),
        200..=299 => Judged::Is(Outcome::Unknown),
        304 if conditional_sent => Judged::NotModified,
        401 | 403 | 407 => Judged::Is(Outcome::Unauthorized),
        404 => Judged::Is(Outcome::NotFound),
        410 => Judged::Is(Outcome::Expired),
        408 | 421 | 423 | 425 | 500..=599 => Judged::Is(Outcome::Unavailable),
        _ => Judged::Stop(Reason::IntegrationFailure),
    };
    let note = match (judged, seen.status) {
        (Judged::Is(Outcome::Unknown), _) => Some("no rule of the contract speaks of this answer".into()),
        (Judged::Stop(_), status) => Some(format!("no rule of the contract speaks of status {status}")),
        (_, 407) => Some("a proxy refused, not the provider".into()),
        _ => None,
    };
    Ruling { judged, rule: None, word: None, note }
}

/// D13: where the body gave an outcome other than `unknown`, every echo has to be there.
fn lacks_echo(ruling: &Ruling<'_>, facts: &Facts<'_>, echoes: &Echoes) -> bool {
    let by_body = facts.has_body() && ruling.rule.is_some_and(|(_, rule)| rules::looks_into_body(rule));
    by_body && ruling.judged != Judged::Is(Outcome::Unknown) && !echoes.missing.is_empty()
}

/// D12: the contract's own checks, on an answer that a rule has decided.
fn contradictions(contract: &Contract, facts: Facts<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, check) in contract.consistency.iter().enumerate() {
        if facts.holds(&check.when, Codes::Any) {
            let must = check.must.iter().filter(|test| !facts.test(test));
            let must_not = check.must_not.iter().filter(|test| facts.test(test));
            let places: Vec<String> =
                must.chain(must_not).map(|test| format!("`{}`", observation::key(&test.place))).collect();
            if !places.is_empty() {
                notes.push(format!("consistency check {index} fails at {}", places.join(", ")));
            }
        }
    }
    notes
}

impl Judgement {
    fn stopped(reason: Reason, notes: Vec<String>) -> Judgement {
        Judgement {
            judged: Judged::Stop(reason),
            word: None,
            notes,
            pins: Vec::new(),
            results: Vec::new(),
            actions: Vec::new(),
            expires: None,
            rule: None,
        }
    }

    fn of(ruling: Ruling<'_>) -> Judgement {
        Judgement {
            judged: ruling.judged,
            word: ruling.word,
            notes: ruling.note.into_iter().collect(),
            rule: ruling.rule.map(|(index, _)| index),
            ..Judgement::stopped(Reason::UnknownState, Vec::new())
        }
    }

    /// What else there is in an answer that is this job's.
    fn take(&mut self, contract: &Contract, seen: &Observation, pins: Vec<(String, String)>) {
        self.pins = pins;
        self.results = results::valid(contract, seen);
        self.actions = results::permitted(contract, &self.results);
        self.expires = expires(contract, seen);
    }

    /// D12: the job's last known state stays as it was (D7).
    fn contradicted(mut self, faults: Vec<String>) -> Judgement {
        self.judged = Judged::Stop(Reason::ContradictoryResponse);
        if let Some(word) = self.word.take() {
            self.notes.push(format!("the state was given as `{word}`"));
        }
        self.notes.extend(faults);
        self
    }
}

fn expires(contract: &Contract, seen: &Observation) -> Option<Result<Instant, &'static str>> {
    let expiry = contract.expiry.as_ref()?;
    let value = seen.at(&expiry.place).filter(|value| rules::is_there(Some(value)))?;
    Some(rules::time_of(value, expiry.format, seen.received_at))
}

/// An outcome of the job, not of the exchange (D8).
fn tells_of_job(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::NotFound | Outcome::Throttled | Outcome::Unavailable | Outcome::Unauthorized)
}

/// A statement about the job, which checks of the contract may contradict; `unknown` states nothing (D10).
fn states_job(judged: Judged) -> bool {
    matches!(judged, Judged::Is(outcome) if outcome != Outcome::Unknown && tells_of_job(outcome))
}

/// The first text that the rule compared, where it has no table of words.
fn tested_word(rule: &Rule, seen: &Observation) -> Option<String> {
    let compares = |op: &Op| match op {
        Op::Is { values, .. } => values.iter().any(|value| matches!(value, Scalar::Text(_))),
        Op::InCtx(_) => true,
        _ => false,
    };
    rule.when.tests.iter().find(|test| compares(&test.op)).and_then(|test| seen.at(&test.place)).and_then(word_of)
}

fn word_of(seen: &Seen) -> Option<String> {
    match seen {
        Seen::Text(text) | Seen::Number(text) => Some(provider_text::clean(text, limits::PROVIDER_TEXT_BYTES_MAX)),
        Seen::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// D9: the entry says which word was taken as what, where it wasn't in the table.
fn line_note(map: &WordMap, outcome: Outcome, line: Line, seen: Option<&Seen>) -> Option<String> {
    let place = match &map.place {
        Place::At(pointer) if pointer.tokens().is_empty() => "the body".into(),
        place => format!("`{}`", observation::key(place)),
    };
    let taken = |line: &str| match outcome {
        Outcome::Unknown => String::new(),
        outcome => format!(", taken as {outcome} ({line})"),
    };
    match line {
        Line::Word => None,
        Line::Missing => Some(format!("no state at {place}{}", taken("missing"))),
        Line::Other => Some(match seen.and_then(word_of) {
            Some(word) => format!("word `{word}` at {place} is not in the table{}", taken("other")),
            None => format!("the value at {place} is no word of the table{}", taken("other")),
        }),
    }
}

#[cfg(test)]
pub(crate) mod tests;
