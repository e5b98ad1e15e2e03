//! What is to be sent, and everything that can be refused before a connection is made.

use std::fmt;
use std::net::IpAddr;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Request, Url};
use zeroize::Zeroizing;

use super::decode::ACCEPTED;
use crate::address;
use crate::credential::Secret;

/// Header names that belong to the connection or to this transport: a plan that carries one is refused.
pub const OWN_HEADERS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// One request, complete but for the credential's value.
///
/// `Debug` shows neither query, header values nor body: any of them may be secret (D31, I18).
#[derive(Clone)]
pub struct Plan {
    /// An HTTP method, upper case.
    pub method: String,
    /// The absolute address, query included.
    pub url: String,
    /// Every header but the credential's and those of [`OWN_HEADERS`]; nothing is added to them but `user-agent`, `accept`
    /// and `accept-encoding`, and the first two only where the plan has none.
    pub headers: Vec<(String, String)>,
    /// The body; `None` sends none.
    pub body: Option<String>,
    /// Where the contract lets requests go (I17).
    pub origins: Vec<AllowedOrigin>,
    /// How the credential is attached; `None` sends none.
    pub credential: Option<AttachCredential>,
    /// Most bytes of body, after content decoding, that are read and kept.
    pub max_body_bytes: u64,
    /// Response headers that may carry the provider's request id, the preferred first.
    pub request_id_headers: Vec<String>,
}

/// An origin of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin {
    /// Scheme, host and, if not the scheme's own, port: `https://api.example.com`.
    pub origin: String,
    /// Whether this origin may be at a non-public address, and may be plain `http`.
    pub allow_private: bool,
}

/// The header that carries the credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachCredential {
    /// The header's name.
    pub header: String,
    /// What stands before the value, its space included: `"Bearer "`.
    pub prefix: String,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Plan")
            .field("method", &self.method)
            .field("url", &without_query(&self.url))
            .field("headers", &headers)
            .field("body_bytes", &self.body.as_ref().map(String::len))
            .field("origins", &self.origins)
            .field("credential", &self.credential)
            .field("max_body_bytes", &self.max_body_bytes)
            .field("request_id_headers", &self.request_id_headers)
            .finish()
    }
}

/// Origin and path, which records show of an address too (D31); an address that can't be read shows nothing.
fn without_query(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| "(unreadable)".to_owned(),
        |url| format!("{}{}", url.origin().ascii_serialization(), url.path()),
    )
}

/// Why a request was refused before any byte of it left. Names no query, header value or credential.
///
/// For the operation it is `unanswered(not_sent)`; the text is for its owner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The address doesn't parse, or not to what it seems to say.
    #[error("the address can't be used: {0}")]
    Address(String),
    /// The address has a user name or password in it (D28).
    #[error("the address carries user information")]
    UserInformation,
    /// The address has a fragment.
    #[error("the address carries a fragment")]
    Fragment,
    /// The address lies elsewhere than the contract allows (I17).
    #[error("origin `{origin}` is not among the contract's origins")]
    Origin {
        /// The address's origin.
        origin: String,
    },
    /// Plain `http` to an origin without `allow_private`.
    #[error("`{origin}` is not encrypted, and the contract does not say `allow_private` for it")]
    PlainHttp {
        /// The address's origin.
        origin: String,
    },
    /// The host is at an address that isn't public, and its origin has no `allow_private` (I17).
    #[error("host `{host}` is at {ip}, which is {what}, and the contract does not say `allow_private` for it")]
    PrivateAddress {
        /// The host as the address names it.
        host: String,
        /// The first of its IP addresses that isn't public.
        ip: IpAddr,
        /// What that is.
        what: &'static str,
    },
    /// Not a method that asks for anything.
    #[error("method `{0}` can't be used")]
    Method(String),
    /// A header that can't be sent, or that is not the plan's to give.
    #[error("header `{name}` {why}")]
    Header {
        /// The header's name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The plan wants a credential and none was given.
    #[error("a credential is needed for header `{header}`, and there is none")]
    NoCredential {
        /// The header that would carry it.
        header: String,
    },
    /// The time for this request is over already (D17).
    #[error("no time is left for this request")]
    NoTime,
}

impl Refusal {
    /// A short name, for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Address(_) => "address",
            Self::UserInformation => "user_information",
            Self::Fragment => "fragment",
            Self::Origin { .. } => "origin",
            Self::PlainHttp { .. } => "plain_http",
            Self::PrivateAddress { .. } => "private_address",
            Self::Method(_) => "method",
            Self::Header { .. } => "header",
            Self::NoCredential { .. } => "no_credential",
            Self::NoTime => "no_time",
        }
    }
}

/// A request that may be sent, and how far it may reach.
pub(super) struct Checked {
    pub(super) request: Request,
    pub(super) reach: Reach,
}

/// What a request may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Encrypted, at public addresses.
    Public,
    /// Encrypted, at any address.
    Private,
    /// Not encrypted, at any address.
    Plain,
}

/// Checks a plan and makes the request of it. The credential is attached last, to an address that has passed every check
/// that can be made without a look-up; the look-up's are made before there is a connection to write it to.
pub(super) fn check(plan: &Plan, secret: Option<&Secret>) -> Result<Checked, Refusal> {
    let url = address_of(&plan.url)?;
    let reach = allowed(&url, &plan.origins)?;
    let method = method(&plan.method)?;
    let mut headers = HeaderMap::new();
    for (name, value) in &plan.headers {
        headers.append(header_name(name)?, header_value(name, value)?);
    }
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
    let mut request = Request::new(method, url);
    *request.headers_mut() = headers;
    *request.body_mut() = plan.body.clone().map(Into::into);
    if let Some(how) = &plan.credential {
        attach(&mut request, how, secret)?;
    }
    Ok(Checked { request, reach })
}

/// Parses with the client's own parser, so that what is judged is what is contacted.
fn address_of(text: &str) -> Result<Url, Refusal> {
    // The parser drops tabs and line breaks and reads a backslash as a slash; an address that needs that is no honest one.
    if text.contains(|c: char| c == '\\' || c.is_control() || c.is_whitespace()) {
        return Err(Refusal::Address("it has a backslash, white space or control character in it".to_owned()));
    }
    let url = Url::parse(text).map_err(|error| Refusal::Address(error.to_string()))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(Refusal::Address(format!("scheme `{}` is neither https nor http", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::UserInformation);
    }
    if url.fragment().is_some() {
        return Err(Refusal::Fragment);
    }
    Ok(url)
}

/// How far a request to this address may reach, if the contract lets it go there at all (I17).
fn allowed(url: &Url, origins: &[AllowedOrigin]) -> Result<Reach, Refusal> {
    let origin = || url.origin().ascii_serialization();
    let Some(entry) = origins.iter().find(|entry| is_origin(&entry.origin, url)) else {
        return Err(Refusal::Origin { origin: origin() });
    };
    match (url.scheme(), entry.allow_private) {
        ("https", true) => return Ok(Reach::Private),
        ("https", false) => {}
        (_, true) => return Ok(Reach::Plain),
        (_, false) => return Err(Refusal::PlainHttp { origin: origin() }),
    }
    // The resolver is never asked for a literal.
    let literal = url.host_str().and_then(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().ok()
    });
    match literal.map(|ip| (ip, address::why_not_public(ip))) {
        Some((ip, Some(what))) => {
            Err(Refusal::PrivateAddress { host: url.host_str().unwrap_or_default().to_owned(), ip, what })
        }
        _ => Ok(Reach::Public),
    }
}

/// Whether `text` is an origin and nothing more, and the address's own.
fn is_origin(text: &str, url: &Url) -> bool {
    Url::parse(text).is_ok_and(|entry| {
        let bare = entry.path() == "/"
            && entry.query().is_none()
            && entry.fragment().is_none()
            && entry.username().is_empty()
            && entry.password().is_none();
        bare && entry.origin() == url.origin()
    })
}

/// `CONNECT` and `TRACE` ask an intermediary, not a provider.
fn method(text: &str) -> Result<Method, Refusal> {
    Method::from_bytes(text.as_bytes())
        .ok()
        .filter(|method| *method != Method::CONNECT && *method != Method::TRACE)
        .filter(|_| text.bytes().all(|byte| byte.is_ascii_uppercase()))
        .ok_or_else(|| Refusal::Method(text.chars().take(32).collect()))
}

fn header_name(name: &str) -> Result<HeaderName, Refusal> {
    let refused = |why| Refusal::Header { name: name.chars().take(64).collect(), why };
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| refused("has a character in its name that no header may have"))?;
    if OWN_HEADERS.contains(&parsed.as_str()) {
        return Err(refused("is set by the transport alone"));
    }
    Ok(parsed)
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, Refusal> {
    HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_| Refusal::Header { name: name.to_owned(), why: "has a control character in its value" })
}

/// Puts the credential into its header, in place of whatever the plan had there.
///
/// The client keeps a copy until the request is done, which is not zeroized: it has no way to hold one that is.
fn attach(request: &mut Request, how: &AttachCredential, secret: Option<&Secret>) -> Result<(), Refusal> {
    let name = header_name(&how.header)?;
    let secret = secret.ok_or_else(|| Refusal::NoCredential { header: how.header.clone() })?;
    let parts = [how.prefix.as_str(), secret.expose()];
    let mut text = Zeroizing::new(String::with_capacity(parts.iter().map(|p| p.len()).sum()));
    text.extend(parts);
    let mut value = header_value(&how.header, &text)?;
    value.set_sensitive(true);
    request.headers_mut().insert(name, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str, origins: &[(&str, bool)]) -> Result<Reach, &'static str> {
        let origins: Vec<AllowedOrigin> = origins
            .iter()
            .map(|(origin, allow_private)| AllowedOrigin {
                origin: (*origin).to_owned(),
                allow_private: *allow_private,
            })
            .collect();
        address_of(url).and_then(|url| allowed(&url, &origins)).map_err(|refusal| refusal.name())
    }

    #[test]
    fn i17_an_address_is_allowed_by_its_whole_origin() {
        let api = [("https://api.example.com", false)];
        assert_eq!(refused("https://api.example.com/jobs/1?a=b", &api), Ok(Reach::Public));
        assert_eq!(refused("https://api.example.com:443/", &api), Ok(Reach::Public));
        assert_eq!(refused("https://API.EXAMPLE.com/", &api), Ok(Reach::Public));
        for elsewhere in [
            "https://api.example.com:8443/",
            "http://api.example.com/",
            "https://example.com/",
            "https://api.example.com.evil.test/",
            "https://evil.test/https://api.example.com",
            "https://xapi.example.com/",
        ] {
            assert_eq!(refused(elsewhere, &api), Err("origin"), "{elsewhere}");
        }
        assert_eq!(refused("https://api.example.com/", &[]), Err("origin"));
    }

    #[test]
    fn i17_an_entry_that_is_more_than_an_origin_allows_nothing() {
        for entry in [
            "https://api.example.com/v1",
            "https://api.example.com?x",
            "https://user@api.example.com",
            "https://*.example.com",
            "api.example.com",
            "",
        ] {
            let got = refused("https://api.example.com/v1", &[(entry, true)]);
            assert_eq!(got, Err("origin"), "{entry}");
        }
    }

    #[test]
    fn i17_plain_http_and_private_literals_need_allow_private() {
        for (url, name) in [
            ("http://api.example.com", "plain_http"),
            ("https://127.0.0.1", "private_address"),
            ("https://127.1", "private_address"),
            ("https://0x7f.0.0.1", "private_address"),
            ("https://2130706433", "private_address"),
            ("https://[::1]", "private_address"),
            ("https://[::ffff:10.0.0.1]", "private_address"),
            ("https://169.254.169.254", "private_address"),
        ] {
            assert_eq!(refused(url, &[(url, false)]), Err(name), "{url}");
            let reach = if name == "plain_http" { Reach::Plain } else { Reach::Private };
            assert_eq!(refused(url, &[(url, true)]), Ok(reach), "{url}");
        }
        assert_eq!(refused("https://8.8.8.8", &[("https://8.8.8.8", false)]), Ok(Reach::Public));
    }

    #[test]
    fn d28_user_information_fragments_and_odd_text_are_refused() {
        let api = [("https://api.example.com", false)];
        for (url, name) in [
            ("https://u@api.example.com/", "user_information"),
            ("https://:p@api.example.com/", "user_information"),
            ("https://api.example.com/#x", "fragment"),
            ("https://api.example.com/#", "fragment"),
            ("https:\\\\api.example.com/", "address"),
            ("https://api.example.com\\@evil.test/", "address"),
            ("https://api.exam\tple.com/", "address"),
            (" https://api.example.com/", "address"),
            ("ftp://api.example.com/", "address"),
            ("file:///etc/passwd", "address"),
            ("/jobs/1", "address"),
            ("", "address"),
        ] {
            assert_eq!(refused(url, &api), Err(name), "{url}");
        }
    }

    #[test]
    fn a_plan_can_not_give_the_connections_own_headers() {
        for name in ["Host", "content-length", "Transfer-Encoding", "Connection"] {
            assert!(header_name(name).is_err(), "{name}");
        }
        assert!(header_name("bad name").is_err());
        assert!(header_value("x", "a\r\nb: c").is_err());
        assert!(header_name("X-Api-Version").is_ok());
    }

    #[test]
    fn methods_that_ask_an_intermediary_are_refused() {
        for bad in ["CONNECT", "TRACE", "get", "G E T", ""] {
            assert!(method(bad).is_err(), "{bad}");
        }
        assert_eq!(method("POST").ok(), Some(Method::POST));
    }
}
