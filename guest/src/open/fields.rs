//! The fields of an opening, each fault named at its place (D1 to D3).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{fault, is_digest, is_name, is_words};
use crate::{
    api::{Fault, Opening, Predecessor},
    backoff,
    contract::{Contract, CtxKind},
    limits, step,
    time::Instant,
    url,
};

pub(super) fn check_fields(contract: &Contract, opening: &Opening, faults: &mut Vec<Fault>) {
    for (pointer, name, text) in [
        ("/operation_id", "operation id", &opening.operation_id),
        ("/namespace", "namespace", &opening.namespace),
        ("/account", "account label", &opening.account),
        ("/opened_by", "opener's name", &opening.opened_by),
    ] {
        if !is_name(text) {
            fault(
                faults,
                pointer,
                format!("the {name} must be 1 to {} bytes without control characters", limits::NAME_BYTES_MAX),
            );
        }
    }
    if !is_digest(&opening.component) {
        fault(faults, "/component", "the component must be named by its SHA-256, 64 hexadecimal digits");
    }
    if backoff::parse_seed(&opening.seed).is_none() {
        fault(faults, "/seed", "the seed must be 32 random bytes as 64 hexadecimal digits (D6)");
    }
    if opening.fingerprint.as_ref().is_some_and(|f| !is_name(f)) {
        fault(
            faults,
            "/fingerprint",
            "the fingerprint of the original request must be a short text, such as `sha256:...`",
        );
    }
    check_lease(contract, opening.lease_ms, faults);
    check_credential(contract, opening, faults);
    // A job whose submission is in doubt may have an id that its submitter chose.
    if !opening.submission_unknown || !opening.job.is_empty() {
        check_job(contract, &opening.job, "/job", faults);
    }
    check_ctx(contract, &opening.ctx, faults);
    if let Some(predecessor) = &opening.predecessor {
        check_predecessor(opening, predecessor, faults);
    }
}

/// D3: the requests of every stage fit in a lease.
fn check_lease(contract: &Contract, lease_ms: u64, faults: &mut Vec<Fault>) {
    let timeout = contract.stages().map(|stage| stage.request.timeout).max().unwrap_or_default();
    if timeout >= lease_ms || lease_ms > limits::DURATION_MAX {
        fault(
            faults,
            "/lease_ms",
            format!(
                "the request timeout of {timeout} ms must be shorter than the lease of {lease_ms} ms: give a longer lease (D3)"
            ),
        );
    }
}

fn check_credential(contract: &Contract, opening: &Opening, faults: &mut Vec<Fault>) {
    match (contract.stages().find_map(|stage| stage.request.credential.as_ref()), &opening.credential) {
        (Some(spec), None) if !opening.submission_unknown => fault(
            faults,
            "/credential",
            format!(
                "the contract sends a credential in `{}`: name where it is found, for example `env:NAME`",
                spec.header
            ),
        ),
        (None, Some(_)) => fault(faults, "/credential", "the contract sends no credential, so none may be given"),
        (_, Some(reference)) if !is_name(reference) => {
            fault(faults, "/credential", "the credential reference must be a short text like `env:NAME`");
        }
        _ => {}
    }
}

/// D4: a further operation on a job is an operator's decision, which D40 keeps from the opener.
fn check_predecessor(opening: &Opening, predecessor: &Predecessor, faults: &mut Vec<Fault>) {
    for (pointer, name, text) in [
        ("/predecessor/operation_id", "operation before", &predecessor.operation_id),
        ("/predecessor/decided_by", "decider", &predecessor.decided_by),
    ] {
        if !is_name(text) {
            fault(faults, pointer, format!("the {name} must be named (D4)"));
        }
    }
    if !is_words(&predecessor.why) {
        fault(faults, "/predecessor/why", "a further operation on a job states why (D4)");
    }
    if opening.opened_by != "cli" && opening.opened_by == predecessor.decided_by {
        fault(faults, "/predecessor/decided_by", "whoever opens an operation can't decide that it goes on (D40)");
    }
}

/// Why a text can't be one of a job's id parts; `None`: it can (D28).
pub(crate) fn unusable_part(part: &str) -> Option<String> {
    if part.len() > limits::NAME_BYTES_MAX {
        return Some(format!("it is longer than {} bytes", limits::NAME_BYTES_MAX));
    }
    if let Err(why) = url::encode_segment(part) {
        return Some(format!("{why}"));
    }
    // An id that climbs out of its segment is never meant, even where encoding would hold it.
    part.split('/').any(|piece| piece == ".." || piece == ".").then(|| "it holds dot segments".into())
}

/// Exactly the contract's id parts, each of which makes one path segment (D28).
pub(crate) fn check_job(contract: &Contract, job: &BTreeMap<String, String>, pointer: &str, faults: &mut Vec<Fault>) {
    for name in &contract.request.id_parts {
        match job.get(name) {
            None => fault(faults, &format!("{pointer}/{name}"), format!("the contract needs the id part `{name}`")),
            Some(part) => {
                if let Some(why) = unusable_part(part) {
                    fault(faults, &format!("{pointer}/{name}"), format!("the id part `{name}` can't be used: {why}"));
                }
            }
        }
    }
    for name in job.keys().filter(|name| !contract.request.id_parts.contains(name)).take(limits::FAULTS_MAX) {
        fault(
            faults,
            &format!("{pointer}/{name}"),
            format!(
                "the contract has no id part `{}`; it has {}",
                crate::provider_text::clean(name, 64),
                step::names(contract.request.id_parts.iter().map(String::as_str))
            ),
        );
    }
}

/// The facts that the contract declares, each of its kind; none besides.
fn check_ctx(contract: &Contract, ctx: &BTreeMap<String, Vec<String>>, faults: &mut Vec<Fault>) {
    check_declared(contract, ctx, faults);
    for name in ctx.keys().filter(|name| !contract.ctx.contains_key(*name)).take(limits::FAULTS_MAX) {
        fault(
            faults,
            &format!("/ctx/{name}"),
            format!(
                "the contract declares no fact `{}`; it declares {}",
                crate::provider_text::clean(name, 64),
                step::names(contract.ctx.keys().map(String::as_str))
            ),
        );
    }
}

/// The facts that the contract declares, each of its kind.
pub(crate) fn check_declared(contract: &Contract, ctx: &BTreeMap<String, Vec<String>>, faults: &mut Vec<Fault>) {
    for (name, spec) in &contract.ctx {
        let pointer = format!("/ctx/{name}");
        match ctx.get(name).map(Vec::as_slice) {
            None | Some([]) if spec.required => {
                fault(faults, &pointer, format!("the contract needs the fact `{name}` at opening"))
            }
            None | Some([]) => {}
            Some(values) => check_ctx_values(&spec.kind, name, values, &pointer, faults),
        }
    }
}

fn check_ctx_values(kind: &CtxKind, name: &str, values: &[String], pointer: &str, faults: &mut Vec<Fault>) {
    let single = !matches!(kind, CtxKind::ListOf(_));
    if single && values.len() != 1 {
        fault(faults, pointer, format!("the fact `{name}` has one value, not {}", values.len()));
    }
    if values.len() > limits::LIST_MAX {
        return fault(faults, pointer, format!("the fact `{name}` has {} values", values.len()));
    }
    for value in values {
        match kind {
            CtxKind::OneOf(words) | CtxKind::ListOf(words) if !words.contains(value) => fault(
                faults,
                pointer,
                format!(
                    "`{}` is no value of the fact `{name}`; it is {}",
                    crate::provider_text::clean(value, 64),
                    step::names(words.iter().map(String::as_str))
                ),
            ),
            CtxKind::Time if Instant::parse_rfc3339(value).is_err() => {
                fault(faults, pointer, format!("the fact `{name}` is a time such as 2025-04-18T10:20:00Z"));
            }
            CtxKind::Text if !is_name(value) => {
                fault(faults, pointer, format!("the fact `{name}` must be a short text"))
            }
            _ => {}
        }
    }
}
