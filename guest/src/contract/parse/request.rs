//! Who is asked, and how: the status request, the other actions, origins, effects (D5, D28, D31, D36).

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};

use super::{
    fields::{
        duration, header_key, header_name, header_value, method, name, opt_place, place, place_only, sentence, short,
        url, word,
    },
    node::{Fields, Node},
};
use crate::{
    contract::{
        AddressSpec, BodyKind, CredentialSpec, Effects, EffectsKind, Follow, FollowTarget, Origin, OtherRequest, Price,
        RequestSpec,
    },
    limits::URL_BYTES_MAX,
    url::parse_origin,
};

/// Bytes of a request's body; a status request needs no more.
const BODY_MAX: usize = 16 * 1024;
/// Default of `request.timeout`.
const TIMEOUT_MS: u64 = 30_000;

pub(super) fn request(node: &Node<'_>) -> Option<RequestSpec> {
    let mut fields = node.fields()?;
    let method = fields.or("method", "GET".into(), method);
    let address = address(&mut fields);
    let id_parts = fields.list("id_parts", name);
    let headers = headers(&mut fields);
    let query = fields.list("query", short);
    let body = fields.opt("body", body);
    let body_kind = fields.take("body_kind");
    if let (Some(None), Some(kind)) = (&body, &body_kind) {
        kind.note("stands without a `body`");
    }
    let body_kind = body_kind.map_or(Some(BodyKind::Json), |kind| word(&kind, BODY_KINDS));
    let credential = fields.opt("credential", credential);
    let timeout = fields.or("timeout", TIMEOUT_MS, duration);
    let conditional = fields.or("conditional", false, Node::bool);
    fields.end();
    Some(RequestSpec {
        method: method?,
        address: address?,
        id_parts: id_parts?,
        headers: headers?,
        query: query?,
        body: body?,
        body_kind: body_kind?,
        credential: credential?,
        timeout: timeout?,
        conditional: conditional?,
    })
}

const BODY_KINDS: &[(&str, BodyKind)] = &[("json", BodyKind::Json), ("form", BodyKind::Form), ("text", BodyKind::Text)];

fn address(fields: &mut Fields<'_>) -> Option<AddressSpec> {
    match (fields.take("url"), fields.take("url_from")) {
        (Some(template), None) => url(&template).map(AddressSpec::Template),
        (None, Some(from)) if from.is_text() => word(&from, &[("opening", ())]).map(|()| AddressSpec::From(None)),
        (None, Some(from)) => place_only(&from).map(|place| AddressSpec::From(Some(place))),
        (Some(_), Some(from)) => from.fault("stands beside `url`; give one of them"),
        (None, None) => fields.node().fault("has no address: give `url` or `url_from` (D28: it is never guessed)"),
    }
}

fn headers(fields: &mut Fields<'_>) -> Option<BTreeMap<String, String>> {
    fields.or("headers", BTreeMap::new(), |node| node.map(header_key, header_value))
}

/// A body's template; unlike other texts it may hold line breaks.
fn body(node: &Node<'_>) -> Option<String> {
    let text = node.any_text()?;
    if text.len() > BODY_MAX {
        return node.fault(format!("has {} bytes, at most {BODY_MAX} are allowed", text.len()));
    }
    Some(text)
}

fn credential(node: &Node<'_>) -> Option<CredentialSpec> {
    let mut fields = node.fields()?;
    let header = fields.req("header", header_name);
    let prefix = fields.or("prefix", String::new(), |node| {
        // `Bearer ` ends in the space that separates it from the credential.
        let text = node.any_text()?;
        let visible = text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
        if visible && text.len() <= 64 { Some(text) } else { node.fault("must be short visible ASCII") }
    });
    fields.end();
    Some(CredentialSpec { header: header?, prefix: prefix? })
}

/// `{method, url, headers, body, credential, effect, idempotency {header}}` (D36).
pub(super) fn other(node: &Node<'_>) -> Option<OtherRequest> {
    let mut fields = node.fields()?;
    let method = fields.req("method", method);
    let url = fields.req("url", url);
    let headers = headers(&mut fields);
    let body = fields.opt("body", body);
    let credential = fields.opt("credential", credential);
    let effect = fields.opt("effect", sentence);
    let idempotency = fields.opt("idempotency", |node| {
        let mut fields = node.fields()?;
        let header = fields.req("header", header_name);
        fields.end();
        header
    });
    fields.end();
    Some(OtherRequest {
        method: method?,
        url: url?,
        headers: headers?,
        body: body?,
        credential: credential?,
        effect: effect?,
        idempotency: idempotency?,
    })
}

pub(super) fn effects(node: &Node<'_>) -> Option<Effects> {
    let mut fields = node.fields()?;
    let kind = fields.req("kind", |node| {
        word(node, &[("none", EffectsKind::None), ("bills", EffectsKind::Bills), ("changes", EffectsKind::Changes)])
    });
    let known = fields.req("known", sentence);
    fields.end();
    Some(Effects { kind: kind?, known: known? })
}

pub(super) fn origin(node: &Node<'_>) -> Option<Origin> {
    let mut fields = node.fields()?;
    let origin = fields.req("origin", bare_origin);
    let allow_private = fields.or("allow_private", false, Node::bool);
    fields.end();
    Some(Origin { origin: origin?, allow_private: allow_private? })
}

/// `scheme://host[:port]` and nothing else.
pub(super) fn bare_origin(node: &Node<'_>) -> Option<String> {
    let text = url(node)?;
    match parse_origin(&text) {
        Ok(origin) => Some(origin),
        Err(why) => node.fault(format!("`{text}` is not an origin: {why}")),
    }
}

pub(super) fn console(node: &Node<'_>) -> Option<String> {
    let mut fields = node.fields()?;
    let url = fields.req("url", url);
    fields.end();
    url
}

/// `{header | at | id_parts, contract?}`; the inner contract is read by `stage`.
pub(super) fn follow<'a>(
    node: &Node<'a>,
    stage: impl FnOnce(&Node<'a>) -> Option<crate::contract::Contract>,
) -> Option<Follow> {
    let mut fields = node.fields()?;
    let address = opt_place(&mut fields);
    let parts = fields.opt("id_parts", |node| {
        node.map(super::fields::name_key, |node| {
            let mut fields = node.fields()?;
            let place = place(&mut fields);
            fields.end();
            place
        })
    });
    let target = match (address, parts) {
        (Some(Some(place)), Some(None)) => Some(FollowTarget::Address(place)),
        (Some(None), Some(Some(parts))) if !parts.is_empty() => Some(FollowTarget::Parts(parts)),
        (Some(_), Some(_)) => node.fault("needs exactly one of `at`, `header`, `id_parts` (not empty)"),
        _ => None,
    };
    let contract = fields.opt("contract", |node| stage(node).map(Box::new));
    fields.end();
    Some(Follow { target: target?, contract: contract? })
}

/// `{per_request, currency, source?}`.
pub(super) fn price(node: &Node<'_>) -> Option<Price> {
    let mut fields = node.fields()?;
    let per_request = fields.req("per_request", micros);
    let currency = fields.req("currency", short);
    let source = fields.opt("source", sentence);
    fields.end();
    source?;
    Some(Price { per_request_micros: per_request?, currency: currency? })
}

/// Decimal text with at most six places, in millionths.
fn micros(node: &Node<'_>) -> Option<u64> {
    if node.is_number() {
        return node.fault("a price is a decimal text, as `0.01`, so that no digit is lost");
    }
    let text = node.any_text()?;
    match decimal_micros(&text) {
        Some(micros) => Some(micros),
        None => node.fault(format!("`{text}` is not a decimal text with at most six places, as `0.01`")),
    }
}

fn decimal_micros(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    let missing = u32::try_from(6_usize.checked_sub(part.len())?).ok()?;
    let part = part.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow(missing)?)?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part)
}

/// Headers of an answer, as an object or, where one stands twice, a list of pairs.
pub(super) fn answer_headers(node: &Node<'_>) -> Option<Vec<(String, String)>> {
    if node.is_object() {
        return node.map(header_key, header_line).map(|map| map.into_iter().collect());
    }
    node.list(|pair| {
        let texts = pair.list(|n| Some(*n))?;
        match texts.as_slice() {
            [name, value] => Some((header_name(name)?, header_line(value)?)),
            _ => pair.fault("must be a pair of a name and a value"),
        }
    })
}

/// A header's value as a provider may send it; malformed ones are samples too.
fn header_line(node: &Node<'_>) -> Option<String> {
    let text = node.any_text()?;
    if text.len() > URL_BYTES_MAX || text.contains(['\r', '\n', '\0']) {
        return node.fault("a header's value is one line");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_lose_no_digit() {
        for (text, micros) in [("0.01", 10_000), ("1", 1_000_000), ("12.000001", 12_000_001), ("0", 0)] {
            assert_eq!(decimal_micros(text), Some(micros), "{text}");
        }
        for bad in ["", ".1", "1.", "-1", "1e3", "0.0000001", "99999999999999999999"] {
            assert_eq!(decimal_micros(bad), None, "{bad}");
        }
    }
}
