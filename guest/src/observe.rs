//! From an answer to an observation: what the contract names, and nothing else (RULES "Terms", D11, D14, D31).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    api::{Answer, Body, Kept, Observed},
    contract::{Contract, Kind, Place, Reads, Reference},
    digest, limits,
    named::{self, Naming},
    observation::{self, BodyFact, BodyKind, Observation, RefSeen, Seen},
    places::Places,
    provider_text,
    reader::{Doc, Duplicate, Node, TooLong, Unfit},
    rules,
    url::Url,
};

/// Reduces `answer` to what `contract`, the stage in force, names. `base` is the address asked, which a relative one is
/// resolved against (D28). Of an exchange that did not complete only status, headers and request id count (D14).
///
/// Results and secret addresses are in the observation by presence and digest; their values are in `kept`.
pub fn observe(contract: &Contract, base: Option<&Url>, answer: &Answer) -> Observed {
    let places = Places::of(contract);
    let (body, fact) = read_body(contract.reads, answer);
    let mut whole = Reduced::of(contract, base, answer, &places, body, fact.clone());
    if whole.text().len() > limits::OBSERVATION_BYTES_MAX {
        whole = Reduced::of(contract, base, answer, &places, Source::Nothing, unreadable(fact, "too_large"));
    }
    Observed { observation: whole.text(), kept: whole.kept }
}

/// Where values come from, once the body was looked at.
#[derive(Clone, Copy)]
enum Source<'a> {
    Nothing,
    Json(Doc<'a>),
    Text(&'a str),
}

/// A value that is there.
#[derive(Clone)]
enum Found<'a> {
    Json(Node<'a>),
    /// A header that stands once, or a body that is a text.
    Text(&'a str),
    Repeated(Vec<&'a str>),
}

struct Reduced {
    observation: Observation,
    kept: Vec<Kept>,
}

/// Why the body can't be used, in the observation's words.
struct Unusable(&'static str);

impl From<Duplicate> for Unusable {
    fn from(_: Duplicate) -> Unusable {
        Unusable("duplicate_key")
    }
}

impl From<TooLong> for Unusable {
    fn from(_: TooLong) -> Unusable {
        Unusable("array_too_long")
    }
}

impl Reduced {
    fn of(
        contract: &Contract,
        base: Option<&Url>,
        answer: &Answer,
        places: &Places,
        body: Source<'_>,
        fact: BodyFact,
    ) -> Reduced {
        let reader = Reader { contract, base, answer, places };
        match reader.reduce(body, fact.clone()) {
            Ok(reduced) => reduced,
            // Without a body only headers are read, in which nothing is unusable.
            Err(Unusable(why)) => reader
                .reduce(Source::Nothing, unreadable(fact.clone(), why))
                .unwrap_or_else(|_| Reduced { observation: reader.bare(fact), kept: Vec::new() }),
        }
    }

    fn text(&self) -> String {
        // An observation has only texts, small integers and ordered maps: there is a canonical text.
        digest::canonical_of(&self.observation).unwrap_or_default()
    }
}

struct Reader<'a> {
    contract: &'a Contract,
    base: Option<&'a Url>,
    answer: &'a Answer,
    places: &'a Places,
}

impl<'a> Reader<'a> {
    fn reduce(&self, body: Source<'a>, fact: BodyFact) -> Result<Reduced, Unusable> {
        let mut observation = self.bare(fact);
        let mut kept = Vec::new();
        for place in &self.places.values {
            if let Some(found) = self.find(place, body)? {
                let seen = if self.places.seals(place) {
                    Seen::Reference(self.sealed(&found, self.is_url(place)))
                } else {
                    found.seen()
                };
                observation.values.insert(observation::key(place), seen);
            }
        }
        if let Source::Json(doc) = body {
            self.arrays(doc, &mut observation)?;
        }
        for (name, reference) in self.contract.result.iter().filter(|_| self.answer.incomplete.is_none()) {
            if let Some(found) = self.find(&reference.place, body)? {
                kept.extend(self.keep(name, reference, &found));
            }
        }
        observation.error = self.first_text(&self.contract.error, body)?;
        observation.progress = self.first_text(&self.contract.progress, body)?;
        if let Some(naming) = self.named(body)? {
            observation.address = Some(naming.named);
            kept.extend(naming.kept);
        }
        Ok(Reduced { observation, kept })
    }

    /// The facts of the exchange, without any value.
    fn bare(&self, body: BodyFact) -> Observation {
        Observation {
            format: observation::FORMAT.into(),
            status: self.answer.status,
            sent_at: self.answer.sent_at,
            received_at: self.answer.received_at,
            incomplete: self.answer.incomplete,
            request_id: self.request_id(),
            body,
            values: BTreeMap::new(),
            arrays: BTreeMap::new(),
            error: None,
            progress: None,
            address: None,
            etag: self.etag(),
        }
    }

    fn find(&self, place: &Place, body: Source<'a>) -> Result<Option<Found<'a>>, Duplicate> {
        Ok(match (place, body) {
            (Place::Header(name), _) => self.header(name),
            (Place::At(pointer), Source::Json(doc)) => doc.at(pointer)?.map(Found::Json),
            (Place::At(pointer), Source::Text(text)) => pointer.tokens().is_empty().then_some(Found::Text(text)),
            (Place::At(_), Source::Nothing) => None,
        })
    }

    /// Header names compare without case (RFC 9110 section 5.1); blanks around a value are not part of it (5.5).
    fn header(&self, name: &str) -> Option<Found<'a>> {
        let lines = self.answer.headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name));
        let lines: Vec<&str> = lines.map(|(_, value)| value.trim_matches([' ', '\t'])).collect();
        match lines.as_slice() {
            [] => None,
            [one] => Some(Found::Text(one)),
            _ => Some(Found::Repeated(lines)),
        }
    }

    fn arrays(&self, doc: Doc<'a>, observation: &mut Observation) -> Result<(), Unusable> {
        for (at, inner) in &self.places.arrays {
            let Some(array) = doc.at(at)?.filter(|node| node.kind() == Kind::Array) else {
                continue;
            };
            let mut elements = Vec::new();
            for element in array.items(limits::ARRAY_ITEMS_MAX)? {
                let mut values = BTreeMap::new();
                for pointer in inner {
                    if let Some(node) = element.at(pointer)? {
                        let found = Found::Json(node);
                        let sealed = self.places.seals_element(at, pointer);
                        let seen = if sealed { Seen::Reference(self.sealed(&found, false)) } else { found.seen() };
                        values.insert(pointer.as_str().to_string(), seen);
                    }
                }
                elements.push(values);
            }
            observation.arrays.insert(at.as_str().into(), elements);
        }
        Ok(())
    }

    fn is_url(&self, place: &Place) -> bool {
        self.contract.result.values().any(|reference| reference.url && reference.place == *place)
    }

    /// A value by presence and digest (D11); a result that is a URL is resolved and shows its origin.
    fn sealed(&self, found: &Found<'_>, url: bool) -> RefSeen {
        let text = found.text();
        let address = if url { self.result_url(&text) } else { None };
        RefSeen {
            kind: found.kind().into(),
            empty: found.is_empty(),
            sha256: digest::sha256_hex(address.as_ref().map_or(text.as_str(), Url::as_str).as_bytes()),
            origin: address.map(|url| url.origin()),
            secret: found.texts().iter().any(|text| self.is_secret(text)),
        }
    }

    fn result_url(&self, text: &str) -> Option<Url> {
        match self.base {
            Some(base) => base.resolve(text).ok(),
            None => Url::parse(text).ok(),
        }
    }

    /// The value of a result that could be one: there, not empty, and as a URL only on `result_origins`.
    fn keep(&self, name: &str, reference: &Reference, found: &Found<'_>) -> Option<Kept> {
        let is_url = self.is_url(&reference.place);
        let seen = Seen::Reference(self.sealed(found, is_url));
        if crate::results::check(self.contract, Some(reference), Some(&seen)).is_err() {
            return None;
        }
        let text = found.text();
        let value = match self.result_url(&text) {
            Some(url) if is_url => String::from(url.as_str()),
            _ => text,
        };
        Some(Kept {
            sha256: digest::sha256_hex(value.as_bytes()),
            secret: reference.secret || found.texts().iter().any(|text| self.is_secret(text)),
            value,
            role: alloc::format!("result:{name}"),
        })
    }

    /// D31: an address with query parameters that the contract doesn't list as public (a signed URL).
    fn is_secret(&self, text: &str) -> bool {
        Url::parse(text).is_ok_and(|url| named::is_secret(self.contract, &url))
    }

    /// The first of the places that has something to show, as bounded text (D35).
    fn first_text(&self, places: &[Place], body: Source<'a>) -> Result<Option<String>, Duplicate> {
        for place in places.iter().filter(|place| self.places.may_show(place)) {
            if let Some(found) = self.find(place, body)?.filter(|found| !found.is_null() && !found.is_empty()) {
                return Ok(Some(provider_text::clean(&found.text(), limits::PROVIDER_TEXT_BYTES_MAX)));
            }
        }
        Ok(None)
    }

    /// The status address that the answer names (D28): of an answer that may stand for the job, not of a refusal.
    fn named(&self, body: Source<'a>) -> Result<Option<Naming>, Duplicate> {
        if self.answer.incomplete.is_some() || !(200..400).contains(&self.answer.status) {
            return Ok(None);
        }
        for (place, contract) in crate::places::address_places(self.contract) {
            if let Some(found) = self.find(place, body)?.filter(|found| !found.is_null() && !found.is_empty()) {
                return Ok(Some(match found.single_text() {
                    Some(text) => named::name(contract, self.base, &text),
                    None => named::refused("it is not one text"),
                }));
            }
        }
        Ok(None)
    }

    fn request_id(&self) -> Option<String> {
        let found = self.contract.request_id_headers.iter().find_map(|name| self.header(name))?;
        let text = match found {
            Found::Repeated(lines) => lines.first().copied().unwrap_or_default().into(),
            found => found.text(),
        };
        Some(provider_text::clean(&text, limits::PROVIDER_TEXT_BYTES_MAX)).filter(|text| !text.is_empty())
    }

    /// An entity tag that can be sent back as it is (D29, RFC 9110 section 8.8.3).
    fn etag(&self) -> Option<String> {
        let usable = self.contract.request.conditional
            && self.answer.incomplete.is_none()
            && rules::is_success(self.answer.status);
        let Some(Found::Text(tag)) = self.header("etag").filter(|_| usable) else {
            return None;
        };
        let inner = tag.strip_prefix("W/").unwrap_or(tag).strip_prefix('"')?.strip_suffix('"')?;
        let plain = inner.bytes().all(|b| b == b'!' || (b'#'..=b'~').contains(&b));
        (plain && tag.len() <= limits::VALUE_BYTES_MAX).then(|| tag.into())
    }
}

impl Found<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Found::Text(_) => "text",
            Found::Repeated(_) => "repeated",
            Found::Json(node) => match node.kind() {
                Kind::Null => "null",
                Kind::Bool => "bool",
                Kind::Number => "number",
                Kind::Text => "text",
                Kind::Array => "array",
                Kind::Object => "object",
            },
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Found::Json(node) if node.is_null())
    }

    fn is_empty(&self) -> bool {
        match self {
            Found::Text(text) => text.is_empty(),
            Found::Repeated(_) => false,
            Found::Json(node) => node.len() == Some(0) || node.raw() == "\"\"",
        }
    }

    /// A text as it is, anything else as its JSON.
    fn text(&self) -> String {
        match self {
            Found::Text(text) => (*text).into(),
            Found::Repeated(lines) => lines.join("\n"),
            Found::Json(node) => node.text().unwrap_or_else(|| node.raw().into()),
        }
    }

    fn single_text(&self) -> Option<String> {
        match self {
            Found::Text(text) => Some((*text).into()),
            Found::Repeated(_) => None,
            Found::Json(node) => node.text(),
        }
    }

    /// The text itself, or the texts that stand directly in an array.
    fn texts(&self) -> Vec<String> {
        match self {
            Found::Json(node) if node.kind() == Kind::Array => {
                node.items(limits::BODY_BYTES_MAX).unwrap_or_default().iter().filter_map(Node::text).collect()
            }
            found => found.single_text().into_iter().collect(),
        }
    }

    fn seen(&self) -> Seen {
        match self {
            Found::Text(text) => bounded(text),
            Found::Repeated(lines) => Seen::Repeated(
                lines
                    .iter()
                    .take(limits::REPEATED_MAX)
                    .map(|line| provider_text::clean(line, limits::VALUE_BYTES_MAX))
                    .collect(),
            ),
            Found::Json(node) => json(node),
        }
    }
}

fn json(node: &Node<'_>) -> Seen {
    let len = node.len().unwrap_or(0);
    match node.kind() {
        Kind::Null => Seen::Null,
        Kind::Bool => Seen::Bool(node.boolean() == Some(true)),
        Kind::Number if node.raw().len() > limits::NUMBER_BYTES_MAX => long(node.raw(), true),
        Kind::Number => Seen::Number(node.raw().into()),
        // A text that is no Unicode (half of a surrogate pair) equals nothing that a contract can say.
        Kind::Text => node.text().map_or_else(|| long(node.raw(), false), |text| bounded(&text)),
        Kind::Array => Seen::Array(len),
        Kind::Object => Seen::Object(len),
    }
}

fn bounded(text: &str) -> Seen {
    if text.len() > limits::VALUE_BYTES_MAX { long(text, false) } else { Seen::Text(text.into()) }
}

fn long(text: &str, number: bool) -> Seen {
    Seen::Long { bytes: size(text), sha256: digest::sha256_hex(text.as_bytes()), number }
}

fn size(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// D14: what there is to read. Nothing of an exchange that did not complete; a body that can't be parsed is recorded as
/// such, whatever the status, and judged only where the status is 2xx.
fn read_body(reads: Reads, answer: &Answer) -> (Source<'_>, BodyFact) {
    let text = match &answer.body {
        Body::None => return (Source::Nothing, BodyFact { kind: BodyKind::None, why: None, bytes: 0, sha256: None }),
        Body::Unreadable(body) => {
            let fact = BodyFact {
                kind: BodyKind::None,
                why: None,
                bytes: body.bytes,
                sha256: Some(provider_text::clean(&body.sha256, limits::NAME_BYTES_MAX)),
            };
            let why = provider_text::clean(&body.why, limits::NAME_BYTES_MAX);
            let cut = answer.incomplete.is_some();
            return (Source::Nothing, if cut { fact } else { unreadable(fact, &why) });
        }
        Body::Text(text) => text,
    };
    let fact =
        |kind| BodyFact { kind, why: None, bytes: size(text), sha256: Some(digest::sha256_hex(text.as_bytes())) };
    let trimmed = text.strip_prefix('\u{feff}').unwrap_or(text).trim_matches([' ', '\t', '\r', '\n']);
    if answer.incomplete.is_some() || trimmed.is_empty() {
        return (Source::Nothing, fact(BodyKind::None));
    }
    if text.len() > limits::BODY_BYTES_MAX {
        return (Source::Nothing, unreadable(fact(BodyKind::None), "too_large"));
    }
    match reads {
        Reads::Text => (Source::Text(trimmed), fact(BodyKind::Text)),
        Reads::Json => match Doc::parse(text) {
            Ok(doc) => (Source::Json(doc), fact(BodyKind::Json)),
            Err(Unfit::NotJson) => (Source::Nothing, unreadable(fact(BodyKind::None), "not_json")),
            Err(Unfit::TooDeep) => (Source::Nothing, unreadable(fact(BodyKind::None), "too_deep")),
        },
    }
}

fn unreadable(fact: BodyFact, why: &str) -> BodyFact {
    BodyFact { kind: BodyKind::Unreadable, why: Some(why.into()), ..fact }
}

#[cfg(test)]
mod tests;
