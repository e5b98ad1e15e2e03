//! `verify` and `replay`: chain, decisions, record, columns and what they rest on, offline (D47, D48).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::component::{Component, audit};
use crate::controller::{ControlError, Controller, derived};
use crate::store::{Entry, StoreError, Stored, Unlisted, compare};

/// Entries read from the store at once.
const PAGE: u32 = 500;

/// What was found of one operation.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The operation.
    pub operation_id: String,
    /// `verified`, `verified (other build)`, `broken`, `diverged` or `not checkable`.
    pub verdict: &'static str,
    /// Entries replayed.
    pub entries: u64,
    /// The first entry at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// JSON Pointer to the first field at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Everything that is wrong, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// The story, as replay tells it.
    #[serde(skip)]
    pub sentences: Vec<String>,
}

impl Finding {
    /// Nothing is wrong.
    pub fn is_fine(&self) -> bool {
        self.verdict.starts_with("verified") && self.why.is_empty()
    }

    /// Of a row that can't be read at all.
    pub(crate) fn of_damaged(row: &Unlisted) -> Self {
        Self::new(&row.operation_id).not_checkable(row.why.clone())
    }

    fn new(id: &str) -> Self {
        Self {
            operation_id: id.to_owned(),
            verdict: "verified",
            entries: 0,
            entry: None,
            field: None,
            why: Vec::new(),
            sentences: Vec::new(),
        }
    }

    /// Something is not as it was saved; a verdict that says more stays.
    fn breaks(&mut self, why: String) {
        if self.verdict.starts_with("verified") {
            self.verdict = "broken";
        }
        self.why.push(why);
    }

    fn not_checkable(mut self, why: String) -> Self {
        self.verdict = "not checkable";
        self.why.push(why);
        self
    }
}

/// What an entry rests on; the rest of it is the component's to read.
#[derive(serde::Deserialize)]
struct Rests {
    contract_digest: String,
    component_digest: String,
    sha256: String,
}

impl Controller {
    /// Checks one operation: with `by`, every decision is made again by that component; else each by the one it names.
    ///
    /// # Errors
    /// What the store says where it can't be read at all.
    pub fn verify(&self, id: &str, by: Option<&Component>) -> Result<Finding, ControlError> {
        let finding = Finding::new(id);
        let stored = match self.stored(id) {
            Err(ControlError::Store(StoreError::Damaged { what, why })) => {
                return Ok(finding.not_checkable(format!("{what}: {why}")));
            }
            other => other?,
        };
        let entries = self.log(id)?;
        let mut finding = finding;
        if let Err(why) = self.replay(&mut finding, &stored, &entries, by) {
            finding = finding.not_checkable(why);
        }
        entry_columns(&mut finding, &entries);
        self.columns(&mut finding, &stored);
        if let Some(mark) = &stored.mark {
            finding.why.push(format!(
                "the host marked it for a failed component ({}); the log has no entry for it yet",
                mark.kind
            ));
        }
        Ok(finding)
    }

    /// All entries, those beyond the record's count too: they would be somebody's addition.
    fn log(&self, id: &str) -> Result<Vec<Entry>, ControlError> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let from = entries.last().map_or(1, |entry| entry.seq.saturating_add(1));
            let page = self.store().entries(id, from, PAGE)?;
            let more = u64::try_from(page.len()).is_ok_and(|read| read == u64::from(PAGE));
            entries.extend(page);
            if !more {
                return Ok(entries);
            }
        }
    }

    fn replay(
        &self,
        finding: &mut Finding,
        stored: &Stored,
        entries: &[Entry],
        by: Option<&Component>,
    ) -> Result<(), String> {
        let rests: Vec<Option<Rests>> = entries.iter().map(|entry| serde_json::from_str(&entry.text).ok()).collect();
        let contracts = self.contracts(&rests, &stored.row.contract_digest)?;
        self.components(&rests)?;
        let mut start = None;
        let mut from = 0;
        loop {
            let digest = digest_at(&rests, from).unwrap_or_else(|| stored.row.component_digest.clone());
            let to = match by {
                Some(_) => entries.len(),
                None => segment_end(&rests, from, &digest),
            };
            let component = match by {
                Some(component) => component.clone(),
                None => self.pinned(&digest).map_err(|error| error.to_string())?,
            };
            let log = audit::Log {
                entries: entries
                    .iter()
                    .skip(from)
                    .take(to.saturating_sub(from))
                    .map(|entry| entry.text.clone())
                    .collect(),
                contracts: contracts.clone(),
                start: start.take(),
                current: (to == entries.len()).then(|| stored.record.clone()),
                component: component.sha256().to_owned(),
            };
            let report = component.verify(&log).map_err(|error| error.to_string())?;
            let fine = merge(finding, &report);
            if !fine || to == entries.len() {
                return Ok(());
            }
            (start, from) = (report.record, to);
        }
    }

    /// Every contract that the log names, each under its own digest.
    fn contracts(&self, rests: &[Option<Rests>], current: &str) -> Result<Vec<String>, String> {
        let mut digests: BTreeSet<&str> = rests.iter().flatten().map(|rests| rests.contract_digest.as_str()).collect();
        digests.insert(current);
        let mut texts = BTreeMap::new();
        for digest in digests {
            match self.store().contract(digest) {
                Ok(Some(text)) => texts.insert(digest, text),
                Ok(None) => return Err(format!("the contract with SHA-256 {digest} is not in the store")),
                Err(error) => return Err(error.to_string()),
            };
        }
        Ok(texts.into_values().collect())
    }

    /// Every component that the log names is there, under its own digest: without it nobody could check the log later.
    fn components(&self, rests: &[Option<Rests>]) -> Result<(), String> {
        let digests: BTreeSet<&str> = rests.iter().flatten().map(|rests| rests.component_digest.as_str()).collect();
        for digest in digests {
            match self.store().component(digest) {
                Ok(Some(_)) => {}
                Ok(None) => return Err(format!("the component with SHA-256 {digest} is not in the store")),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// The store's columns against what the record makes.
    fn columns(&self, finding: &mut Finding, stored: &Stored) {
        let read =
            self.pinned(&stored.row.component_digest).or_else(|_| Ok::<_, ControlError>(self.component().clone()));
        let Ok(Ok(operation)) = read.map(|component| component.read(&stored.record)) else {
            finding.verdict = "not checkable";
            finding.why.push("the record can't be read, so its columns can't be compared".to_owned());
            return;
        };
        for mismatch in compare(&stored.row, &derived(&operation)) {
            finding.breaks(mismatch.to_string());
        }
    }
}

/// The digest beside each entry against the one in it.
fn entry_columns(finding: &mut Finding, entries: &[Entry]) {
    for entry in entries {
        let own = serde_json::from_str(&entry.text).ok().map(|rests: Rests| rests.sha256);
        if own.is_some_and(|own| own != entry.sha256) {
            finding.breaks(format!("entry {}: column `sha256` is not the digest in its text", entry.seq));
        }
    }
}

fn digest_at(rests: &[Option<Rests>], index: usize) -> Option<String> {
    rests.get(index)?.as_ref().map(|rests| rests.component_digest.clone())
}

/// Where the entries of one component end.
fn segment_end(rests: &[Option<Rests>], from: usize, digest: &str) -> usize {
    let same = rests
        .iter()
        .skip(from)
        .take_while(|rests| rests.as_ref().is_none_or(|rests| rests.component_digest == digest))
        .count();
    from.saturating_add(same.max(1)).min(rests.len())
}

/// Adds a part's report; whether all is well so far.
fn merge(finding: &mut Finding, report: &audit::Report) -> bool {
    use audit::Verdict as V;
    finding.entries = finding.entries.saturating_add(report.checked);
    finding.sentences.extend(report.sentences.iter().cloned());
    finding.verdict = match report.verdict {
        V::Verified => finding.verdict,
        V::VerifiedOtherBuild => "verified (other build)",
        V::Broken => "broken",
        V::Diverged => "diverged",
        V::NotCheckable => "not checkable",
    };
    finding.entry = report.entry;
    finding.field.clone_from(&report.field);
    finding.why.extend(report.why.clone());
    matches!(report.verdict, V::Verified | V::VerifiedOtherBuild)
}
