//! The fields of an opening, each fault named at its place (D1 to D3).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{fault, is_digest, is_name};
use crate::{
    api::{Fault, Opening},
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
    if contract.request.timeout >= opening.lease_ms || opening.lease_ms > limits::DURATION_MAX {
        fault(
            faults,
            "/lease_ms",
            format!(
                "the request timeout of {} ms must be shorter than the lease of {} ms: give a longer lease (D3)",
                contract.request.timeout, opening.lease_ms
            ),
        );
    }
    match (&contract.request.credential, &opening.credential) {
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
    if !opening.submission_unknown {
        check_job(contract, &opening.job, "/job", faults);
    }
    check_ctx(contract, &opening.ctx, faults);
}

/// Exactly the contract's id parts, each of which makes one path segment (D28).
pub(crate) fn check_job(contract: &Contract, job: &BTreeMap<String, String>, pointer: &str, faults: &mut Vec<Fault>) {
    for name in &contract.request.id_parts {
        match job.get(name) {
            None => fault(faults, &format!("{pointer}/{name}"), format!("the contract needs the id part `{name}`")),
            Some(part) if part.len() > limits::NAME_BYTES_MAX => {
                fault(
                    faults,
                    &format!("{pointer}/{name}"),
                    format!("the id part `{name}` is longer than {} bytes", limits::NAME_BYTES_MAX),
                );
            }
            Some(part) => {
                if let Err(why) = url::encode_segment(part) {
                    fault(faults, &format!("{pointer}/{name}"), format!("the id part `{name}` can't be used: {why}"));
                }
                // An id that climbs out of its segment is never meant, even where encoding would hold it.
                if part.split('/').any(|piece| piece == ".." || piece == ".") {
                    fault(faults, &format!("{pointer}/{name}"), format!("the id part `{name}` holds dot segments"));
                }
            }
        }
    }
    for name in job.keys().filter(|name| !contract.request.id_parts.contains(name)) {
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

fn check_ctx(contract: &Contract, ctx: &BTreeMap<String, Vec<String>>, faults: &mut Vec<Fault>) {
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
    for name in ctx.keys().filter(|name| !contract.ctx.contains_key(*name)) {
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

fn check_ctx_values(kind: &CtxKind, name: &str, values: &[String], pointer: &str, faults: &mut Vec<Fault>) {
    let single = !matches!(kind, CtxKind::ListOf(_));
    if single && values.len() != 1 {
        fault(faults, pointer, format!("the fact `{name}` has one value, not {}", values.len()));
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
