//! What only the whole contract can show (D3): places, names and numbers that don't go together, and rules that would undo
//! the decision rules. Each fault stands at its JSON Pointer; [`super::parse`] has seen to the shapes before.

mod addresses;
mod cover;
mod meaning;
mod pace;
mod places;
mod rules;

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use super::{
    AddressSpec, Approval, Contract, EchoOf, EffectsKind, Follow, FollowTarget,
    parse::{self, faults::Faults},
};
use crate::{api::Fault, limits::STAGES_MAX};

/// Reads a contract and checks it as a whole: what loading and opening ask for. A step of an operation that was opened reads
/// its pinned contract without the checks, so that a stricter build strands none (D48).
///
/// # Errors
/// The faults of [`parse::parse`], or where there are none those of [`check`].
pub fn read(text: &str) -> Result<Contract, Vec<Fault>> {
    let contract = parse::parse(text)?;
    let faults = check(&contract);
    if faults.is_empty() { Ok(contract) } else { Err(faults) }
}

/// Every fault of a contract that was read, up to [`crate::limits::FAULTS_MAX`]; none: it may be used.
pub fn check(contract: &Contract) -> Vec<Fault> {
    let faults = Faults::default();
    each_stage(contract, |current, prefix| {
        let stage = Stage { contract: current, first: contract, prefix, faults: &faults };
        general(&stage);
        addresses::check(&stage);
        rules::check(&stage);
        places::check(&stage);
        meaning::check(&stage);
        pace::check(&stage);
        if let Some(follow) = &current.follow {
            following(&stage, follow);
        }
    });
    samples(contract, &faults);
    faults.into_list()
}

/// What is worth knowing about a contract without faults: a first poll far too early (D23), an id part that no request and
/// no echo uses.
pub fn warnings(contract: &Contract) -> Vec<Fault> {
    let faults = Faults::default();
    each_stage(contract, |current, prefix| {
        let stage = Stage { contract: current, first: contract, prefix, faults: &faults };
        pace::warn(&stage);
        addresses::unused_parts(&stage);
    });
    faults.into_list()
}

/// A contract of the chain that `follow` makes.
struct Stage<'a> {
    contract: &'a Contract,
    /// The outermost one, whose `ctx` facts are fixed at opening.
    first: &'a Contract,
    /// Its pointer in the text.
    prefix: &'a str,
    faults: &'a Faults,
}

impl Stage<'_> {
    /// Records a fault at a pointer below this stage.
    fn add(&self, below: impl AsRef<str>, message: impl Into<String>) {
        self.faults.add(&format!("{}{}", self.prefix, below.as_ref()), message);
    }
}

fn each_stage(contract: &Contract, mut visit: impl FnMut(&Contract, &str)) {
    let mut prefix = String::new();
    let mut next = Some(contract);
    for _ in 0..STAGES_MAX {
        let Some(current) = next else { return };
        visit(current, &prefix);
        next = current.follow.as_ref().and_then(|follow| follow.contract.as_deref());
        prefix.push_str("/follow/contract");
    }
}

fn general(stage: &Stage<'_>) {
    let contract = stage.contract;
    if contract.effects.kind != EffectsKind::None && contract.approval == Approval::PerOperation {
        stage.add("/approval", "`per_operation` would repeat a request that bills or changes something (D5)");
    }
    twice(stage, "/request/id_parts", contract.request.id_parts.iter().map(String::as_str));
    twice(stage, "/request/query", contract.request.query.iter().map(String::as_str));
    twice(stage, "/origins", contract.origins.iter().map(|o| o.origin.as_str()));
    twice(stage, "/result_origins", contract.result_origins.iter().map(String::as_str));
    twice(stage, "/actions", contract.actions.iter().map(|a| a.name.as_str()));
    twice(stage, "/request_id_headers", contract.request_id_headers.iter().map(String::as_str));
    for (reason, kept) in &contract.options {
        twice(stage, &format!("/options/{reason}"), kept.iter().map(|k| k.as_str()));
    }
}

/// Names the second of two equal entries of a list.
fn twice<'n>(stage: &Stage<'_>, list: &str, names: impl Iterator<Item = &'n str>) {
    let mut seen = BTreeSet::new();
    for (i, name) in names.enumerate() {
        if !seen.insert(name) {
            stage.add(format!("{list}/{i}"), format!("`{name}` stands more than once"));
        }
    }
}

/// D28: the next stage must be able to make its request of what the answer and the opening give.
fn following(stage: &Stage<'_>, follow: &Follow) {
    let next = follow.contract.as_deref().unwrap_or(stage.contract);
    let from_answer = matches!(next.request.address, AddressSpec::From(_));
    match &follow.target {
        FollowTarget::Address(_) if !from_answer => {
            stage.add("/follow", "gives an address, but the request there has a `url` of its own (needs `url_from`)");
        }
        FollowTarget::Address(_) => {}
        FollowTarget::Parts(_) if from_answer => {
            stage.add("/follow/id_parts", "gives id parts, but the request there has no `url` to put them in");
        }
        FollowTarget::Parts(parts) => {
            for name in parts.keys().filter(|name| !next.request.id_parts.contains(name)) {
                stage.add(format!("/follow/id_parts/{name}"), format!("`{name}` is no id part of the request there"));
            }
            let had = |name: &String| parts.contains_key(name) || stage.contract.request.id_parts.contains(name);
            for name in next.request.id_parts.iter().filter(|name| !had(name)) {
                stage.add("/follow/id_parts", format!("gives no `{name}`, which the request there needs"));
            }
        }
    }
    let Some(inner) = &follow.contract else {
        return;
    };
    for (name, spec) in &inner.ctx {
        if stage.first.ctx.get(name) != Some(spec) {
            let message = format!("`{name}` must be declared alike in the outermost `ctx`: facts are fixed at opening");
            stage.add(format!("/follow/contract/ctx/{name}"), message);
        }
    }
}

fn samples(contract: &Contract, faults: &Faults) {
    let stage = Stage { contract, first: contract, prefix: "", faults };
    twice(&stage, "/samples", contract.samples.iter().map(|s| s.name.as_str()));
    for (i, sample) in contract.samples.iter().enumerate() {
        for name in sample.job.keys().filter(|name| !contract.request.id_parts.contains(name)) {
            stage.add(format!("/samples/{i}/job/{name}"), format!("`{name}` is no id part"));
        }
        for (name, words) in &sample.ctx {
            places::fact(&stage, &format!("/samples/{i}/ctx/{name}"), name, words);
        }
    }
}

/// Whether the contract names such an id part.
fn is_part(contract: &Contract, of: &EchoOf) -> bool {
    matches!(of, EchoOf::Part(name) if contract.request.id_parts.contains(name))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn contract(request: &str, more: &str) -> Contract {
        let text = format!(
            r#"{{"format": "sondeo.contract/1", "id": "a", "provider": "A", "sources": ["docs"], "request": {request},
                "effects": {{"kind": "none", "known": "docs"}}, "origins": [{{"origin": "https://a.example"}}],
                "decide": [{{"map": {{"at": "/s", "values": {{"run": "pending"}}}}}}]{more}}}"#
        );
        read(&text).unwrap()
    }

    #[test]
    fn d23_a_first_poll_under_a_tenth_of_the_usual_time_is_warned_about() {
        let request = r#"{"url": "https://a.example/{job}", "id_parts": ["job"]}"#;
        let pointers = |more| -> Vec<String> {
            warnings(&contract(request, more)).into_iter().map(|warning| warning.pointer).collect()
        };
        assert_eq!(pointers(r#", "typical_duration": "50s""#), Vec::<String>::new());
        assert_eq!(pointers(r#", "typical_duration": "51s""#), ["/pace/base"]);
        let both = r#", "typical_duration": "1h", "pace": {"base": "6m", "max": "6m", "first_delay": "359s"}"#;
        assert_eq!(pointers(both), ["/pace/first_delay"]);
    }

    #[test]
    fn an_id_part_that_only_names_the_job_is_told_where_the_address_comes_from_elsewhere() {
        let of = contract(r#"{"url_from": "opening", "id_parts": ["job"]}"#, "");
        let pointers: Vec<String> = warnings(&of).into_iter().map(|warning| warning.pointer).collect();
        assert_eq!(pointers, vec!["/request/id_parts/0"]);
    }

    #[test]
    fn d14_a_rule_on_the_status_stays_reachable_for_answers_without_a_body() {
        let rules =
            r#"[{"map": {"at": "/s", "values": {"run": "pending"}}}, {"when": {"code": 204}, "then": "failed"}]"#;
        let text = r#"{"format": "sondeo.contract/1", "id": "a", "provider": "A", "sources": ["docs"],
            "request": {"url": "https://a.example/{job}", "id_parts": ["job"]}, "origins": [{"origin": "https://a.example"}],
            "effects": {"kind": "none", "known": "docs"}, "decide": RULES}"#;
        assert_eq!(read(&text.replace("RULES", rules)).err(), None);
    }
}
