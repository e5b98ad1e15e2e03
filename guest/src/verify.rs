//! `verify` and replay, offline (D47, D48): the chain first, then every decision made again from the events alone.
#![allow(missing_docs, reason = "fields and cases are described in `wit/` and in the contract's schema")]

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use crate::{
    api::{DecisionWhat, Refusal, Transition, What},
    contract::Kind,
    digest,
    entry::Entry,
    fill::fields,
    machine, open,
    reader::{Doc, Node},
    record::Record,
};

/// A log, or a part of one, to be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Log {
    /// Entries' texts, in order.
    pub entries: Vec<String>,
    /// Every contract that the log names.
    pub contracts: Vec<String>,
    /// The record before the first of these entries; none: the log starts at its opening.
    pub start: Option<String>,
    /// The record as it is stored now; none: not compared (more entries follow).
    pub current: Option<String>,
    /// Digest of the component that replays.
    pub component: String,
}

fields! {
    Log { entries, contracts = DEFAULT, start, current, component }
}

/// D48's verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Verified,
    /// Another component's digest is in the log; its bytes were the same.
    VerifiedOtherBuild,
    /// The chain is broken: an edit, a deletion, a reordering, a cut tail.
    Broken,
    /// Replay gives something else.
    Diverged,
    NotCheckable,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub verdict: Verdict,
    pub checked: u64,
    /// Sequence of the first entry at fault.
    pub entry: Option<u64>,
    /// RFC 6901 pointer to the first field that differs.
    pub field: Option<String>,
    pub why: Option<String>,
    /// The record after the last entry, for checking what follows.
    pub record: Option<String>,
    pub sentences: Vec<String>,
}

impl Report {
    fn stop(mut self, verdict: Verdict, entry: u64, field: Option<String>, why: impl Into<String>) -> Report {
        self.verdict = verdict;
        self.entry = Some(entry);
        self.field = field;
        self.why = Some(why.into());
        self
    }
}

/// Checks the chain and replays every decision.
pub fn verify(log: &Log) -> Report {
    let mut report = Report {
        verdict: Verdict::Verified,
        checked: 0,
        entry: None,
        field: None,
        why: None,
        record: log.start.clone(),
        sentences: Vec::new(),
    };
    let mut previous = match log.start.as_deref().map(Record::parse) {
        None => None,
        Some(Ok(record)) => Some((record.revision, record.head)),
        Some(Err(refusal)) => return report.stop(Verdict::NotCheckable, 0, None, refusal.message),
    };
    if log.entries.is_empty() && log.start.is_none() && log.current.is_none() {
        return report.stop(Verdict::NotCheckable, 0, None, "there is no entry to check");
    }
    let mut entries = Vec::with_capacity(log.entries.len());
    for text in &log.entries {
        let expected = previous.as_ref().map_or(1, |(sequence, _)| sequence.saturating_add(1));
        match link(text, expected, previous.as_ref().map(|(_, head)| head.as_str())) {
            Ok(entry) => {
                previous = Some((entry.sequence, entry.sha256.clone()));
                entries.push(entry);
            }
            Err(why) => return report.stop(Verdict::Broken, expected, None, why),
        }
    }
    if let Some(current) = &log.current
        && let Err(why) = tail(current, previous.as_ref())
    {
        let entry = previous.map_or(0, |(sequence, _)| sequence);
        return report.stop(Verdict::Broken, entry, None, why);
    }
    let contracts: BTreeMap<String, &str> =
        log.contracts.iter().map(|text| (digest::sha256_hex(text.as_bytes()), text.as_str())).collect();
    for (entry, text) in entries.iter().zip(&log.entries) {
        match replay(&contracts, report.record.as_deref(), entry, text) {
            Ok(transition) => {
                if entry.component_digest != log.component {
                    report.verdict = Verdict::VerifiedOtherBuild;
                }
                report.checked = report.checked.saturating_add(1);
                report.record = Some(transition.record);
                report.sentences.push(entry.sentence.clone());
            }
            Err((verdict, field, why)) => return report.stop(verdict, entry.sequence, field, why),
        }
    }
    match (&log.current, &report.record) {
        (Some(current), Some(made)) if current != made => {
            let field = first_difference_of(current, made);
            let entry = previous.map_or(report.checked, |(sequence, _)| sequence);
            report.stop(Verdict::Diverged, entry, field, "the stored record is not the one that the entries make")
        }
        _ => report,
    }
}

/// One link: readable, canonical, in sequence, and naming its predecessor.
fn link(text: &str, sequence: u64, previous: Option<&str>) -> Result<Entry, String> {
    let entry = Entry::parse(text).map_err(|why| format!("entry {sequence}: {why}"))?;
    if entry.sequence != sequence {
        return Err(format!("entry {sequence} is missing: {} stands in its place", entry.sequence));
    }
    if entry.previous.as_deref() != previous {
        return Err(format!("entry {sequence} does not name the entry before it"));
    }
    Ok(entry)
}

/// The record's count and head against the last entry.
fn tail(current: &str, last: Option<&(u64, String)>) -> Result<(), String> {
    let record = Record::parse(current).map_err(|refusal| refusal.message)?;
    let (sequence, head) = last.map_or((0, ""), |(sequence, head)| (*sequence, head.as_str()));
    if record.revision > sequence {
        return Err(format!(
            "the log ends at entry {sequence}, the record counts {}: the tail was cut",
            record.revision
        ));
    }
    if record.revision < sequence || record.head != head {
        return Err(format!("the record ends at entry {} with another head than the log", record.revision));
    }
    Ok(())
}

type Fault = (Verdict, Option<String>, String);

fn replay(
    contracts: &BTreeMap<String, &str>,
    before: Option<&str>,
    entry: &Entry,
    text: &str,
) -> Result<Transition, Fault> {
    let uncheckable = |why: String| (Verdict::NotCheckable, None, why);
    let wanted = match &entry.event.what {
        What::Decided { decision } => match &decision.what {
            DecisionWhat::Amend { contract, .. } => contract.clone(),
            _ => entry.contract_digest.clone(),
        },
        _ => entry.contract_digest.clone(),
    };
    let contract = contracts
        .get(&wanted)
        .ok_or_else(|| uncheckable(format!("the contract with SHA-256 {wanted} is not there")))?;
    let refused =
        |refusal: Refusal| (Verdict::Diverged, None, format!("replay refuses this step: {}", refusal.message));
    let made = match (&entry.event.what, before) {
        (What::Opened { opening }, None) => open::open(contract, opening, entry.event.at).map_err(refused)?,
        (What::Opened { .. }, Some(_)) => return Err((Verdict::Diverged, None, "a second opening".into())),
        (_, None) => return Err(uncheckable("the log does not start with its opening".into())),
        (_, Some(record)) => machine::step(contract, record, &entry.event).map_err(refused)?,
    };
    match &made.entry {
        Some(again) if again == text => Ok(made),
        Some(again) => {
            let field = first_difference_of(text, again);
            let why = match &field {
                Some(field) => format!("`{field}` differs from what replay makes"),
                None => "the bytes differ from what replay makes".into(),
            };
            Err((Verdict::Diverged, field, why))
        }
        None => Err((Verdict::Diverged, None, "replay makes no entry here".into())),
    }
}

/// Pointer to the first field in which two JSON texts differ, digests last.
fn first_difference_of(a: &str, b: &str) -> Option<String> {
    let (a, b) = (Doc::parse(a).ok()?, Doc::parse(b).ok()?);
    first_difference(a.root(), b.root(), "")
}

fn first_difference(a: Node<'_>, b: Node<'_>, at: &str) -> Option<String> {
    match (a.kind(), b.kind()) {
        (Kind::Object, Kind::Object) => {
            let (x, y) = (a.members()?, b.members()?);
            let differing = x.iter().chain(&y).filter_map(|(key, _)| {
                let path = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                let path = match (member(&x, key), member(&y, key)) {
                    (Some(left), Some(right)) => first_difference(left, right, &path)?,
                    _ => path,
                };
                // A digest differs because something else does: that is the field to name.
                let late = matches!(key.as_str(), "sha256" | "head" | "record_before" | "previous" | "sentence");
                Some(((late, key), path))
            });
            differing.min_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, path)| path)
        }
        (Kind::Array, Kind::Array) => {
            let (x, y) = (a.items(usize::MAX).ok()?, b.items(usize::MAX).ok()?);
            let differing = x
                .iter()
                .zip(&y)
                .enumerate()
                .find_map(|(i, (left, right))| first_difference(*left, *right, &format!("{at}/{i}")));
            differing.or_else(|| (x.len() != y.len()).then(|| at.to_string()))
        }
        (Kind::Text, Kind::Text) => (a.text() != b.text()).then(|| at.to_string()),
        _ => (a.raw() != b.raw()).then(|| at.to_string()),
    }
}

/// The value that counts of the members of this name.
fn member<'a>(members: &[(String, Node<'a>)], name: &str) -> Option<Node<'a>> {
    members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
}
