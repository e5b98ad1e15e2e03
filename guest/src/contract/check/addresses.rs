//! Where requests may go, and what fills their templates (D28, D31).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
};

use super::Stage;
use crate::{
    contract::{AddressSpec, CredentialSpec, CtxKind, EchoOf, OtherRequest, UrlPolicy},
    url,
};

/// Headers that whoever sends the request sets.
const SENDERS: &[&str] = &[
    "cache-control",
    "connection",
    "content-length",
    "host",
    "if-none-match",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Why they stand in no contract.
const BY_SENDER: &str = "is set by whoever sends the request";
/// Headers that only hold secrets.
const SECRETS: &[&str] = &["authorization", "cookie", "proxy-authorization"];

pub(super) fn check(stage: &Stage<'_>) {
    let contract = stage.contract;
    origins(stage);
    let request = &contract.request;
    if let AddressSpec::Template(url) = &request.address {
        template(stage, "/request/url", url, false);
        if request.id_parts.is_empty() {
            stage.add("/request", "has a fixed `url` and no `id_parts`: nothing names the job (D3)");
        }
        for i in unused(stage) {
            let message = "is used neither in the request nor in `identity`: two jobs would be asked for as one (D4)";
            stage.add(format!("/request/id_parts/{i}"), message);
        }
    }
    Sent {
        at: "/request",
        headers: &request.headers,
        credential: request.credential.as_ref(),
        idempotency: None,
        body: request.body.as_deref(),
        results: false,
    }
    .check(stage);
    let moves = matches!(request.address, AddressSpec::From(Some(_)));
    if contract.url_policy == UrlPolicy::MayChange && !moves {
        stage.add("/url_policy", "`may_change` needs a `request.url_from` with the place that names the next address");
    }
    let actions =
        [("/submit", &contract.submit, false), ("/cancel", &contract.cancel, false), ("/fetch", &contract.fetch, true)];
    for (at, given, results) in actions {
        if let Some(given) = given {
            action(stage, at, given, results);
        }
    }
    if let Some(console) = &contract.console {
        fills(stage, "/console/url", console, false);
        match origin_of(console) {
            Ok(origin) => secure(stage, "/console/url", &origin),
            Err(why) => stage.add("/console/url", format!("`{console}`: {why}")),
        }
    }
}

/// An id part that nothing uses, where the address comes from elsewhere: worth knowing, no fault.
pub(super) fn unused_parts(stage: &Stage<'_>) {
    if matches!(stage.contract.request.address, AddressSpec::From(_)) {
        for i in unused(stage) {
            stage.add(format!("/request/id_parts/{i}"), "is used neither in the request nor in `identity`");
        }
    }
}

/// Positions of the id parts that neither the request nor an echo uses.
fn unused<'s>(stage: &'s Stage<'_>) -> impl Iterator<Item = usize> + 's {
    let request = &stage.contract.request;
    let url = match &request.address {
        AddressSpec::Template(url) => Some(url),
        AddressSpec::From(_) => None,
    };
    let texts = url.into_iter().chain(&request.body).chain(request.headers.values());
    let mut used: BTreeSet<&str> = BTreeSet::new();
    used.extend(texts.flat_map(|text| names(text)));
    used.extend(stage.contract.identity.iter().filter_map(|echo| match &echo.of {
        EchoOf::Part(part) => Some(part.as_str()),
        _ => None,
    }));
    let parts = request.id_parts.iter().enumerate();
    parts.filter(move |(_, name)| !used.contains(name.as_str())).map(|(i, _)| i)
}

fn origins(stage: &Stage<'_>) {
    let contract = stage.contract;
    if contract.origins.is_empty() {
        stage.add("/origins", "is empty: no request could go anywhere");
    }
    for (i, origin) in contract.origins.iter().enumerate() {
        if origin.origin.starts_with("http:") && !origin.allow_private {
            stage.add(format!("/origins/{i}"), "is not https; only an origin with `allow_private` may be");
        }
    }
    for (i, origin) in contract.result_origins.iter().enumerate() {
        secure(stage, &format!("/result_origins/{i}"), origin);
    }
}

/// https, or an origin that the contract admits as private.
fn secure(stage: &Stage<'_>, at: &str, origin: &str) {
    let private = || stage.contract.origins.iter().any(|known| known.allow_private && known.origin == origin);
    if origin.starts_with("http:") && !private() {
        stage.add(at, "is not https, and its origin is none with `allow_private`");
    }
}

/// An address that requests go to: on an allowed origin, ids only in path segments and query values (D28).
fn template(stage: &Stage<'_>, at: &str, template: &str, results: bool) {
    fills(stage, at, template, results);
    match origin_of(template) {
        Err(why) => stage.add(at, format!("`{template}`: {why}")),
        Ok(origin) if !stage.contract.origins.iter().any(|known| known.origin == origin) => {
            stage.add(at, format!("`{origin}` is not in `origins`"));
        }
        Ok(_) => {}
    }
}

/// The origin of a template, in which placeholders stand where they may.
fn origin_of(template: &str) -> Result<String, String> {
    let names = url::placeholders(template).map_err(|why| why.to_string())?;
    let query = template.split_once('?').map_or("", |(_, query)| query);
    if query.split('&').filter_map(|pair| pair.split('=').next()).any(|name| name.contains('{')) {
        return Err("placeholders go into path segments and query values only (D28)".into());
    }
    let mut filled = BTreeMap::new();
    filled.extend(names.into_iter().map(|name| (name, "x".into())));
    url::fill(template, &filled).map(|url| url.origin()).map_err(|why| why.to_string())
}

/// The names that stand in braces; other braces stand for themselves.
fn names(template: &str) -> impl Iterator<Item = &str> {
    let plain = |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    template.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name)).filter(plain)
}

/// Every placeholder is an id part, a fact that is always there, or, where there are `results`, one of them.
fn fills(stage: &Stage<'_>, at: &str, template: &str, results: bool) {
    let contract = stage.contract;
    for name in names(template) {
        let part = contract.request.id_parts.iter().any(|part| part == name);
        if part || (results && contract.result.contains_key(name)) {
            continue;
        }
        let message = match contract.ctx.get(name) {
            None => format!(
                "`{{{name}}}` is neither an id part nor a `ctx` fact (a brace that is no placeholder takes a space)"
            ),
            Some(spec) if matches!(spec.kind, CtxKind::ListOf(_)) => {
                format!("`{{{name}}}` may be several words, which fill no one place")
            }
            Some(spec) if !spec.required => {
                format!("`{{{name}}}` may be absent: make the fact `required`")
            }
            Some(_) => continue,
        };
        stage.add(at, message);
    }
}

/// What a request carries besides its address.
struct Sent<'a> {
    at: &'a str,
    headers: &'a BTreeMap<String, String>,
    credential: Option<&'a CredentialSpec>,
    idempotency: Option<&'a str>,
    body: Option<&'a str>,
    results: bool,
}

impl Sent<'_> {
    fn check(&self, stage: &Stage<'_>) {
        let at = self.at;
        for (name, value) in self.headers {
            // Not at the name itself: it may be written there in another case.
            let pointer = format!("{at}/headers");
            fills(stage, &pointer, value, self.results);
            if SENDERS.contains(&name.as_str()) {
                stage.add(pointer, format!("`{name}` {BY_SENDER}"));
            } else if SECRETS.contains(&name.as_str()) {
                let message = "holds a secret, which no contract does: use `credential` (D31)";
                stage.add(pointer, format!("`{name}` {message}"));
            }
        }
        let credential = self.credential.map(|credential| credential.header.as_str());
        for (field, header) in [("credential", credential), ("idempotency", self.idempotency)] {
            let Some(header) = header else { continue };
            let pointer = format!("{at}/{field}/header");
            if self.headers.contains_key(header) {
                stage.add(pointer, format!("`{header}` is in `headers` too"));
            } else if SENDERS.contains(&header) {
                stage.add(pointer, format!("`{header}` {BY_SENDER}"));
            }
        }
        if let Some(body) = self.body {
            fills(stage, &format!("{at}/body"), body, self.results);
        }
    }
}

/// Only fetching happens when there is a result to name.
fn action(stage: &Stage<'_>, at: &str, action: &OtherRequest, results: bool) {
    template(stage, &format!("{at}/url"), &action.url, results);
    Sent {
        at,
        headers: &action.headers,
        credential: action.credential.as_ref(),
        idempotency: action.idempotency.as_deref(),
        body: action.body.as_deref(),
        results,
    }
    .check(stage);
}
