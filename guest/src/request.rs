//! The status request: address, headers and body, built from contract and record; credentials by reference (D28, D31).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use crate::{
    api::{PlanCredential, PlanOrigin, Refusal, RefusalKind, RequestPlan},
    contract::{AddressSpec, BodyKind, Contract, Origin},
    digest, limits,
    observation::Named,
    pinned, provider_text,
    record::{Address, Record},
    step,
    url::{self, Url},
};

/// The request that the operation's next attempt sends.
///
/// # Errors
/// `contract_mismatch`, `invalid_record`, or `invalid_opening` where no address is known.
pub fn request(contract: &str, record: &str) -> Result<RequestPlan, Refusal> {
    let read = pinned::read(contract)?;
    let record = Record::parse(record)?;
    step::pinned(&record, &read.digest)?;
    plan(read.contract.stage(record.stage), &record)
}

fn plan(contract: &Contract, record: &Record) -> Result<RequestPlan, Refusal> {
    let no_address = || Refusal::new(RefusalKind::InvalidRecord, "the operation has no usable status address");
    let address = record.address.as_ref().ok_or_else(no_address)?;
    let origin = Url::parse(&address.url).map_err(|_| no_address())?.origin();
    let values = values(&record.job, &record.ctx);
    let mut headers: Vec<(String, String)> =
        contract.request.headers.iter().map(|(name, value)| (name.clone(), fill_text(value, &values))).collect();
    headers.push(("cache-control".into(), "no-cache".into()));
    if let (true, Some(etag)) = (contract.request.conditional, &record.etag) {
        headers.push(("if-none-match".into(), etag.clone()));
    }
    if contract.request.body.is_some() && !contract.request.headers.contains_key("content-type") {
        headers.push(("content-type".into(), media_type(contract.request.body_kind).into()));
    }
    let credential = match (&contract.request.credential, &record.credential) {
        (Some(spec), Some(reference)) => Some(PlanCredential {
            header: spec.header.clone(),
            prefix: spec.prefix.clone(),
            reference: reference.clone(),
        }),
        _ => None,
    };
    Ok(RequestPlan {
        method: contract.request.method.clone(),
        url: (!address.secret).then(|| address.url.clone()),
        secret_url_sha256: address.secret.then(|| address.sha256.clone()),
        origin,
        headers,
        body: contract.request.body.as_ref().map(|body| fill_body(body, contract.request.body_kind, &values)),
        origins: contract
            .origins
            .iter()
            .map(|o| PlanOrigin { origin: o.origin.clone(), allow_private: o.allow_private })
            .collect(),
        credential,
        timeout_ms: contract.request.timeout,
        max_body_bytes: u64::try_from(limits::BODY_BYTES_MAX).unwrap_or(u64::MAX),
        request_id_headers: contract.request_id_headers.clone(),
    })
}

fn media_type(kind: BodyKind) -> &'static str {
    match kind {
        BodyKind::Json => "application/json",
        BodyKind::Form => "application/x-www-form-urlencoded",
        BodyKind::Text => "text/plain; charset=utf-8",
    }
}

/// Id parts, and the facts of `ctx` that are one text.
pub(crate) fn values(job: &BTreeMap<String, String>, ctx: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, String> {
    // Here and elsewhere `extend`, not `collect`: that would bring a sort of its own for each type.
    let mut values = BTreeMap::new();
    values.extend(ctx.iter().filter_map(|(name, all)| Some((name.clone(), all.first()?.clone()))));
    values.extend(job.iter().map(|(name, value)| (name.clone(), value.clone())));
    values
}

/// A template for people (a console's address), filled; ids are percent-encoded.
pub(crate) fn filled(template: &str, job: &BTreeMap<String, String>, ctx: &BTreeMap<String, Vec<String>>) -> String {
    fill(template, &values(job, ctx), |value| url::encode_segment(value).unwrap_or_default())
}

fn fill_text(template: &str, values: &BTreeMap<String, String>) -> String {
    fill(template, values, |value| value.into())
}

fn fill_body(template: &str, kind: BodyKind, values: &BTreeMap<String, String>) -> String {
    match kind {
        BodyKind::Text => fill_text(template, values),
        BodyKind::Form => fill(template, values, |value| url::encode_segment(value).unwrap_or_default()),
        BodyKind::Json => fill(template, values, |value| {
            let quoted = digest::quoted(value);
            quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().into()
        }),
    }
}

/// Replaces each `{name}` of a known name in one pass, so that a value can't bring a placeholder of its own.
fn fill(template: &str, values: &BTreeMap<String, String>, write: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let known = after.split_once('}').and_then(|(name, tail)| Some((values.get(name)?, tail)));
        match known {
            Some((value, tail)) => {
                out.push_str(&write(value));
                rest = tail;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The address that the contract's template makes; `None` where the address comes from elsewhere.
///
/// # Errors
/// Why it can't be built: a missing part, a part that is no path segment, or a foreign origin.
pub(crate) fn address_from_template(
    contract: &Contract,
    job: &BTreeMap<String, String>,
    ctx: &BTreeMap<String, Vec<String>>,
) -> Result<Option<Address>, String> {
    let AddressSpec::Template(template) = &contract.request.address else {
        return Ok(None);
    };
    let url = url::fill(template, &values(job, ctx)).map_err(|error| format!("{error}"))?;
    let mut address = allowed(contract, &url)?;
    // What stands in the contract's own template is public by being there.
    if address.secret {
        address.secret = false;
        address.url = url.as_str().into();
    }
    address.template = true;
    Ok(Some(address))
}

/// Stands between what may be shown of a secret address and the digest of the whole; no address has a fragment.
const BY_DIGEST: &str = "#sha256:";

/// An address that an opener or a decider gives: the whole, or what [`kept`] leaves of a secret one.
///
/// # Errors
/// Why it may not be used.
pub(crate) fn given(contract: &Contract, text: &str) -> Result<Address, String> {
    let (shown, sha256) = match text.split_once(BY_DIGEST) {
        Some((shown, sha256)) => (shown, Some(sha256)),
        None => (text, None),
    };
    let url = Url::parse(shown).map_err(|error| format!("{error}"))?;
    let address = allowed(contract, &url)?;
    match sha256 {
        None => Ok(address),
        Some(sha256) if crate::open::is_digest(sha256) && shown == url.without_query() => {
            Ok(Address { sha256: sha256.into(), secret: true, ..address })
        }
        Some(_) => Err("an address by digest is origin and path, then `#sha256:` and 64 hexadecimal digits".into()),
    }
}

/// What an entry keeps of an address that was given: of a secret one origin, path and the digest of the whole (D31), of
/// which [`given`] makes the same address in a replay. `None`: it is kept as it is.
pub(crate) fn kept(contract: &Contract, text: &str) -> Option<String> {
    let address = given(contract, text).ok().filter(|address| address.secret)?;
    Some(format!("{}{BY_DIGEST}{}", address.url, address.sha256))
}

/// The address that an answer names, looked at once more where it is taken (D28).
///
/// # Errors
/// Why it may not be used.
pub(crate) fn named(contract: &Contract, named: &Named) -> Result<Address, String> {
    let (shown, sha256, secret) = match named {
        Named::Address { url, sha256, secret } => (url, sha256, *secret),
        Named::Refused { why } => return Err(provider_text::clean(why, limits::NAME_BYTES_MAX)),
    };
    let url = Url::parse(shown).map_err(|error| format!("{error}"))?;
    let address = allowed(contract, &url)?;
    if secret && crate::open::is_digest(sha256) && *shown == url.without_query() {
        return Ok(Address { sha256: sha256.clone(), secret: true, ..address });
    }
    if secret || address.secret {
        return Err("it is neither public nor named by its digest".into());
    }
    Ok(address)
}

/// Checks an address against the contract's origins, and parts what may be shown from what may not (D28, D31).
///
/// # Errors
/// Why it may not be used.
pub(crate) fn allowed(contract: &Contract, url: &Url) -> Result<Address, String> {
    let origin = url.origin();
    let Some(Origin { allow_private, .. }) = contract.origins.iter().find(|o| o.origin == origin) else {
        return Err(format!("its origin `{origin}` is not one of the contract's"));
    };
    if origin.starts_with("http:") && !allow_private {
        return Err(format!("`{origin}` is not encrypted, and the contract does not say `allow_private` for it"));
    }
    let secret = url.query_names().iter().any(|name| !contract.request.query.contains(name));
    let shown = if secret { url.without_query() } else { url.as_str().into() };
    Ok(Address { url: shown, sha256: digest::sha256_hex(url.as_str().as_bytes()), secret, template: false })
}
