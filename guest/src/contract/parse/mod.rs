//! From the text of a contract (format `sondeo.contract/1`) to its types. Every fault is named at its JSON Pointer; a
//! contract with a fault is not read at all. What only the whole can show is [`super::check`]'s.

pub(in crate::contract) mod faults;
mod fields;
mod meaning;
mod near;
mod node;
mod pace;
mod request;
mod rules;
mod samples;
#[cfg(test)]
mod tests;

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use self::{
    faults::Faults,
    fields::{duration, header_name, id, name_key, place_only, sentence, short, word},
    node::{Fields, Node},
};
use super::{
    Approval, Contract, Effects, EffectsKind, FORMAT, Limits, NotFound, OtherRequest, Pace, Price, Reads, Sample,
    UrlPolicy,
};
use crate::{
    api::{Fault, OptionKind, Reason},
    limits::{CONTRACT_BYTES_MAX, STAGES_MAX},
};

/// Reads a contract's text.
///
/// # Errors
/// Every fault, up to [`crate::limits::FAULTS_MAX`], each with its RFC 6901 pointer: broken JSON (with line and column),
/// unknown, missing or doubled names, wrong types, texts that are no duration, ratio, pointer, origin or word.
pub fn parse(text: &str) -> Result<Contract, Vec<Fault>> {
    let faults = Faults::default();
    if text.len() > CONTRACT_BYTES_MAX {
        faults.add("", format!("has {} bytes, at most {CONTRACT_BYTES_MAX} are read", text.len()));
        return Err(faults.into_list());
    }
    let contract = Node::root(text, &faults).and_then(|node| whole(&node));
    let list = faults.into_list();
    match contract {
        Some(contract) if list.is_empty() => Ok(contract),
        _ => Err(list),
    }
}

/// The outermost contract: with `format` and `samples`.
fn whole(node: &Node<'_>) -> Option<Contract> {
    let mut fields = node.fields()?;
    let format = fields.req("format", |node| match node.any_text()? {
        given if given == FORMAT => Some(()),
        given => node.fault(format!("`{given}` is not read here; this build reads `{FORMAT}`")),
    });
    let samples = fields.list("samples", samples::sample);
    let contract = stage(fields, samples.unwrap_or_default(), 1);
    format?;
    contract
}

/// What the first contract and those behind `follow` have in common; `nth` counts them from 1.
fn stage(mut f: Fields<'_>, samples: Vec<Sample>, nth: usize) -> Option<Contract> {
    let id = f.req("id", id);
    let provider = f.req("provider", short);
    let api_version = f.opt("api_version", short);
    let sources = sources(&mut f);
    let typical_duration = f.opt("typical_duration", duration);
    let retention = f.opt("retention", duration);
    let console = f.opt("console", request::console);
    let request = f.req("request", request::request);
    let effects = effects(&mut f);
    let origins = f.req("origins", |node| node.list(request::origin));
    let url_policy = f.or("url_policy", UrlPolicy::Fixed, |node| word(node, URL_POLICIES));
    let ctx = f.or("ctx", BTreeMap::new(), |node| node.map(name_key, meaning::ctx));
    let follow = f.opt("follow", |node| request::follow(node, |inner| following(inner, nth)));
    let reads = f.or("reads", Reads::Json, |node| word(node, &[("json", Reads::Json), ("text", Reads::Text)]));
    let decide = f.req("decide", |node| node.list(rules::rule));
    let identity = f.list("identity", meaning::echo);
    let success = f.opt("success", meaning::success);
    let consistency = f.list("consistency", rules::consistency);
    let result = f.or("result", BTreeMap::new(), |node| node.map(name_key, meaning::reference));
    let result_origins = f.list("result_origins", request::bare_origin);
    let actions = f.list("actions", meaning::action);
    let error = f.list("error", place_only);
    let progress = f.list("progress", place_only);
    let expiry = f.opt("expiry", meaning::expiry);
    let hints = f.list("hints", meaning::hint);
    let not_found = f.or("not_found", NotFound { grace: 0, after_seen_expired: false }, meaning::not_found);
    let terms = terms(&mut f);
    f.end();
    let (terms, (effects, approval)) = (terms?, effects?);
    Some(Contract {
        id: id?,
        provider: provider?,
        api_version: api_version?,
        sources: sources?,
        typical_duration: typical_duration?,
        retention: retention?,
        console: console?,
        request: request?,
        approval,
        effects,
        origins: origins?,
        url_policy: url_policy?,
        ctx: ctx?,
        follow: follow?,
        reads: reads?,
        decide: decide?,
        identity: identity?,
        success: success?,
        consistency: consistency?,
        result: result?,
        result_origins: result_origins?,
        actions: actions?,
        error: error?,
        progress: progress?,
        expiry: expiry?,
        hints: hints?,
        not_found: not_found?,
        pace: terms.pace,
        limits: terms.limits,
        price: terms.price,
        submit: terms.submit,
        cancel: terms.cancel,
        fetch: terms.fetch,
        request_id_headers: terms.request_id_headers,
        options: terms.options,
        samples,
    })
}

fn sources(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    fields.req("sources", |node| match node.list(sentence)? {
        list if list.is_empty() => node.fault("is empty: say where the provider documents this"),
        list => Some(list),
    })
}

/// Effects, and the approval that they ask for where the contract doesn't say (D5).
fn effects(fields: &mut Fields<'_>) -> Option<(Effects, Approval)> {
    let effects = match fields.take("effects") {
        Some(node) => request::effects(&node),
        None => fields.node().fault("lacks `effects`: whether a status request bills or changes anything (D5)"),
    };
    let approval = fields.opt("approval", |node| word(node, APPROVALS));
    let (effects, approval) = (effects?, approval?);
    let asked = match effects.kind {
        EffectsKind::None => Approval::PerOperation,
        EffectsKind::Bills | EffectsKind::Changes => Approval::PerRequest,
    };
    Some((effects, approval.unwrap_or(asked)))
}

const APPROVALS: &[(&str, Approval)] =
    &[("per_operation", Approval::PerOperation), ("per_request", Approval::PerRequest)];

const URL_POLICIES: &[(&str, UrlPolicy)] = &[("fixed", UrlPolicy::Fixed), ("may_change", UrlPolicy::MayChange)];

/// What a wait costs, and what else may be done.
struct Terms {
    pace: Pace,
    limits: Limits,
    price: Option<Price>,
    submit: Option<OtherRequest>,
    cancel: Option<OtherRequest>,
    fetch: Option<OtherRequest>,
    request_id_headers: Vec<String>,
    options: BTreeMap<Reason, Vec<OptionKind>>,
}

fn terms(f: &mut Fields<'_>) -> Option<Terms> {
    let pace = f.or("pace", pace::default(), pace::pace);
    let limits = f.or("limits", pace::no_limits(), pace::limits);
    let price = f.opt("price", request::price);
    let submit = f.opt("submit", request::other);
    let cancel = f.opt("cancel", request::other);
    let fetch = f.opt("fetch", request::other);
    let request_id_headers = f.list("request_id_headers", header_name);
    let options = f.or("options", BTreeMap::new(), samples::options);
    Some(Terms {
        pace: pace?,
        limits: limits?,
        price: price?,
        submit: submit?,
        cancel: cancel?,
        fetch: fetch?,
        request_id_headers: request_id_headers?,
        options: options?,
    })
}

/// A contract inside `follow`; `nth` is the number of the one around it.
fn following(node: &Node<'_>, nth: usize) -> Option<Contract> {
    if nth >= STAGES_MAX {
        return node.fault(format!("is one stage too many: at most {STAGES_MAX} follow one another"));
    }
    stage(node.fields()?, Vec::new(), nth.saturating_add(1))
}
