//! The answers that two contracts are asked about: their samples, every state word that either names, every status.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::place;
use crate::component::types;

/// Statuses that every contract has a meaning for, by its rules or the defaults (D26 to D30).
const STATUSES: [u16; 13] = [200, 202, 302, 304, 400, 401, 403, 404, 408, 410, 429, 500, 503];
/// A word that no provider uses.
const UNLISTED: &str = "a-word-that-is-not-listed";
/// An id part that no sample gives.
const JOB: &str = "job-1";

/// An answer, and what stands for job and facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Probe {
    /// In words.
    pub(super) label: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: Option<String>,
    job: Vec<(String, String)>,
    pub(super) ctx: Vec<(String, Vec<String>)>,
}

impl Probe {
    /// As an answer that came at `at`.
    pub(super) fn answer(&self, at: u64) -> types::Answer {
        types::Answer {
            status: self.status,
            headers: self.headers.clone(),
            body: self.body.clone().map_or(types::Body::None, types::Body::Text),
            incomplete: None,
            sent_at: at,
            received_at: at,
        }
    }

    /// Its id parts under a contract's names: by name, else by place, since a part may have been renamed.
    pub(super) fn job(&self, id_parts: &[String]) -> Vec<(String, String)> {
        let value = |index: usize, name: &String| {
            let named = self.job.iter().find(|(known, _)| known == name).or_else(|| self.job.get(index));
            named.map_or_else(|| JOB.to_owned(), |(_, value)| value.clone())
        };
        id_parts.iter().enumerate().map(|(index, name)| (name.clone(), value(index, name))).collect()
    }

    fn same_answer(&self, other: &Probe) -> bool {
        let facts = |probe: &Probe| Probe { label: String::new(), ..probe.clone() };
        facts(self) == facts(other)
    }

    fn json(&self) -> Option<Value> {
        self.body.as_ref().and_then(|body| serde_json::from_str(body).ok())
    }
}

/// A sample, and what it has to mean.
struct Sample {
    probe: Probe,
    expect: String,
}

/// Every probe, each answer once.
pub(super) fn probes(before: &Value, after: &Value) -> Vec<Probe> {
    let mut samples = samples(before);
    samples.extend(self::samples(after));
    let mut all: Vec<Probe> = Vec::new();
    let made = words(&[before, after], &samples).into_iter().chain(statuses(&[before, after], &samples));
    for probe in made.chain(samples.iter().map(|sample| sample.probe.clone())) {
        if !all.iter().any(|known| known.same_answer(&probe)) {
            all.push(probe);
        }
    }
    all
}

fn samples(contract: &Value) -> Vec<Sample> {
    let all = contract.get("samples").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(sample).collect()
}

fn sample(value: &Value) -> Option<Sample> {
    let answer = value.get("answer")?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let headers = match answer.get("headers") {
        Some(Value::Object(members)) => {
            members.iter().filter_map(|(name, value)| Some((name.to_ascii_lowercase(), text(value)?))).collect()
        }
        Some(Value::Array(pairs)) => {
            let pair = |pair: &Value| Some((text(pair.get(0)?)?.to_ascii_lowercase(), text(pair.get(1)?)?));
            pairs.iter().filter_map(pair).collect()
        }
        _ => Vec::new(),
    };
    let words = |value: &Value| match value {
        Value::Array(all) => all.iter().filter_map(text).collect(),
        one => text(one).into_iter().collect::<Vec<String>>(),
    };
    let members = |name: &str| value.get(name).and_then(Value::as_object).into_iter().flatten();
    let probe = Probe {
        label: format!("sample \u{201c}{}\u{201d}", value.get("name")?.as_str()?),
        status: u16::try_from(answer.get("status")?.as_u64()?).ok()?,
        headers,
        body: answer.get("body").map(Value::to_string).or_else(|| answer.get("text").and_then(text)),
        job: members("job").filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect(),
        ctx: members("ctx").map(|(name, value)| (name.clone(), words(value))).collect(),
    };
    Some(Sample { probe, expect: value.get("expect")?.as_str()?.to_owned() })
}

/// Where state words stand, with each word's meanings in either contract.
type Tables = BTreeMap<(bool, String), BTreeMap<String, BTreeSet<String>>>;

fn tables(contracts: &[&Value]) -> Tables {
    let mut tables = Tables::new();
    let rules = contracts.iter().filter_map(|contract| contract.get("decide")?.as_array()).flatten();
    for map in rules.filter_map(|rule| rule.get("map")) {
        let (header, place) = match (map.get("at"), map.get("header")) {
            (Some(Value::String(pointer)), _) => (false, pointer.clone()),
            (_, Some(Value::String(name))) => (true, name.to_ascii_lowercase()),
            _ => continue,
        };
        let table = tables.entry((header, place)).or_default();
        for (word, outcome) in map.get("values").and_then(Value::as_object).into_iter().flatten() {
            table.entry(word.clone()).or_default().extend(outcome.as_str().map(str::to_owned));
        }
    }
    tables
}

/// Every word of every table, one that is in none, and none at all.
fn words(contracts: &[&Value], samples: &[Sample]) -> Vec<Probe> {
    let mut all = Vec::new();
    for ((header, place), table) in tables(contracts) {
        let shown = if header { format!("header {place}") } else { place.clone() };
        let at = if shown.is_empty() { "(the whole body)" } else { &shown };
        for (word, outcomes) in &table {
            let base = base(samples, header, &place, Some((word, outcomes)));
            all.push(with(base, header, &place, Some(word), format!("state word \u{201c}{word}\u{201d} at {at}")));
        }
        let none = base(samples, header, &place, None);
        all.push(with(none.clone(), header, &place, Some(UNLISTED), format!("an unlisted state word at {at}")));
        all.push(with(none, header, &place, None, format!("no state word at {at}")));
    }
    all
}

/// The sample that a word is put into: with that word and its meaning, else with that meaning, else with any word, so that
/// what else has to be in such an answer is there.
fn base(samples: &[Sample], header: bool, place: &str, word: Option<(&String, &BTreeSet<String>)>) -> Probe {
    let there = |sample: &&Sample| match header {
        true => sample.probe.headers.iter().any(|(name, _)| name == place),
        false => sample.probe.json().is_some_and(|body| body.pointer(place).is_some_and(|found| !found.is_null())),
    };
    let fits = |sample: &&Sample| (200..300).contains(&sample.probe.status) && there(sample);
    let means = |sample: &&Sample| word.is_none_or(|(_, outcomes)| outcomes.contains(&sample.expect));
    let says = |sample: &&Sample| {
        let body = sample.probe.json();
        word.is_none_or(|(word, _)| {
            body.as_ref().and_then(|body| body.pointer(place)).and_then(Value::as_str) == Some(word)
        })
    };
    let found = samples.iter().find(|sample| fits(sample) && means(sample) && says(sample));
    let found = found.or_else(|| samples.iter().find(|sample| fits(sample) && means(sample)));
    let found = found.or_else(|| samples.iter().find(fits));
    found.map_or_else(|| bare(samples, 200, Some(json!({}).to_string())), |sample| sample.probe.clone())
}

fn with(base: Probe, header: bool, place: &str, word: Option<&str>, label: String) -> Probe {
    let mut probe = Probe { label, ..base };
    if header {
        probe.headers.retain(|(name, _)| name != place);
        probe.headers.extend(word.map(|word| (place.to_owned(), word.to_owned())));
        return probe;
    }
    if place.is_empty() {
        // A body that is read as text is the word itself.
        probe.body = word.map(str::to_owned);
        return probe;
    }
    let mut body = probe.json().unwrap_or_else(|| json!({}));
    match word {
        Some(word) => place::put(&mut body, place, Value::String(word.to_owned())),
        None => place::take(&mut body, place),
    }
    probe.body = Some(body.to_string());
    probe
}

/// An answer with the job and the facts of the first sample.
fn bare(samples: &[Sample], status: u16, body: Option<String>) -> Probe {
    let (job, ctx) = samples.first().map(|s| (s.probe.job.clone(), s.probe.ctx.clone())).unwrap_or_default();
    Probe { label: format!("status {status}, no body"), status, headers: Vec::new(), body, job, ctx }
}

/// The statuses with a meaning of their own, and both ends of every range that a rule names.
fn statuses(contracts: &[&Value], samples: &[Sample]) -> Vec<Probe> {
    let mut all: BTreeSet<u16> = STATUSES.into();
    for contract in contracts {
        named(contract.get("decide").unwrap_or(&Value::Null), &mut all);
    }
    all.into_iter().map(|status| bare(samples, status, None)).collect()
}

/// Collects the values of every `code`.
fn named(value: &Value, into: &mut BTreeSet<u16>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| named(item, into)),
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("code", Value::Array(codes)) => into.extend(codes.iter().flat_map(ends)),
                    ("code", one) => into.extend(ends(one)),
                    (_, other) => named(other, into),
                }
            }
        }
        _ => {}
    }
}

/// 404, `"4xx"` or `"400-404"`: its ends.
fn ends(code: &Value) -> Vec<u16> {
    if let Some(number) = code.as_u64() {
        return u16::try_from(number).into_iter().collect();
    }
    let text = code.as_str().unwrap_or_default();
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    [low.replace('x', "0"), high.replace('x', "9")].iter().filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_sample_and_status_is_asked_about_once() {
        let contract = json!({
            "decide": [{"when": {"code": ["4xx", "500-503", 299]}, "map": {"at": "/s",
                "values": {"run": "pending", "done": "succeeded"}}}],
            "samples": [
                {"name": "r", "answer": {"status": 200, "body": {"s": "run", "id": "a"}}, "job": {"id": "a"}, "expect": "pending"},
                {"name": "d", "answer": {"status": 200, "body": {"s": "done", "url": "u"}}, "expect": "succeeded"},
            ],
        });
        let all = probes(&contract, &contract);
        let labels: Vec<&str> = all.iter().map(|probe| probe.label.as_str()).collect();
        assert_eq!(
            labels[..4],
            [
                "state word \u{201c}done\u{201d} at /s",
                "state word \u{201c}run\u{201d} at /s",
                "an unlisted state word at /s",
                "no state word at /s"
            ]
        );
        assert!(all[0].body.as_ref().unwrap().contains("\"url\""), "the word stands in the sample that proves it");
        for status in [299, 400, 499, 500, 503] {
            assert!(labels.contains(&format!("status {status}, no body").as_str()), "{labels:?}");
        }
        assert!(!labels.iter().any(|label| label.starts_with("sample")), "the samples are those of the words");
        assert_eq!(all[0].job(&["renamed".to_owned()]), [("renamed".to_owned(), JOB.to_owned())]);
        assert_eq!(all[1].job(&["renamed".to_owned()]), [("renamed".to_owned(), "a".to_owned())]);
    }
}
