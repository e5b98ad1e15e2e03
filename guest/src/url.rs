//! Addresses that requests may go to (D28): a strict subset of RFC 3986, chosen so that every client reads them alike.
//! What one client would repair and another not (backslashes, blanks, dot segments, `127.1`) is refused.

mod parse;
mod template;

use alloc::{format, string::String, vec::Vec};
use core::fmt;

pub use template::{encode_segment, fill, placeholders};

/// Why a text is no address here. Says nothing of the address itself, which may be a secret (D31).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlError {
    /// More than [`crate::limits::URL_BYTES_MAX`] bytes.
    TooLong,
    /// A byte that is no visible ASCII character: blanks, control characters, anything beyond ASCII.
    Character,
    /// Not `http://` or `https://`.
    Scheme,
    /// User information before the host.
    UserInfo,
    /// No host, or one that clients could read in different ways.
    Host,
    /// Not 1 to 65535, or written with leading zeros, or empty.
    Port,
    /// A character in the path that must be percent-encoded, or a bad percent-encoding.
    Path,
    /// The same in the query.
    Query,
    /// A fragment, which is never sent.
    Fragment,
    /// A segment `.` or `..`, percent-encoded or not.
    DotSegment,
    /// More than an origin where an origin was expected.
    NotOrigin,
    /// An id that can't be one path segment: empty, `.`, `..`, or with a control character.
    Segment,
    /// Braces that are not a placeholder `{name}`.
    Braces,
    /// A placeholder in the scheme, host or port.
    PlaceholderInOrigin,
    /// A placeholder that nothing is given for.
    UnknownName(String),
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UrlError::TooLong => "a URL is at most 2048 bytes long",
            UrlError::Character => "a URL is visible ASCII; anything else must be percent-encoded",
            UrlError::Scheme => "a URL starts with `https://` or `http://`",
            UrlError::UserInfo => "a URL must not hold user information",
            UrlError::Host => "the host must be a plain ASCII name, four decimal octets, or IPv6 in brackets",
            UrlError::Port => "the port must be a number from 1 to 65535",
            UrlError::Path => "the path holds something that must be percent-encoded",
            UrlError::Query => "the query holds something that must be percent-encoded",
            UrlError::Fragment => "a URL that is requested has no fragment",
            UrlError::DotSegment => "the path must not hold a segment `.` or `..`",
            UrlError::NotOrigin => "an origin is `https://host` or `https://host:port`, and nothing more",
            UrlError::Segment => "an id in an address must not be empty, `.` or `..`, or hold control characters",
            UrlError::Braces => "braces in an address must enclose a name of letters, digits, `_` and `-`",
            UrlError::PlaceholderInOrigin => "scheme, host and port of an address must be written out",
            UrlError::UnknownName(name) => return write!(f, "nothing is given for `{{{name}}}`"),
        })
    }
}

impl core::error::Error for UrlError {}

/// A checked absolute http(s) URL without user information and fragment.
///
/// Scheme and host are in lower case, a default port is left out, an empty path is `/`; all else is as it was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Url {
    origin: String,
    /// Path and query.
    target: String,
    text: String,
}

impl Url {
    /// Reads an absolute URL.
    ///
    /// # Errors
    /// [`UrlError`], also for what RFC 3986 allows but clients read in different ways: dot segments (`%2e` included),
    /// a host whose last label is a number, unless it is IPv4 in four decimal octets without leading zeros.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        let (origin, target) = parse::split(text)?;
        let text = format!("{origin}{target}");
        if text.len() > crate::limits::URL_BYTES_MAX {
            return Err(UrlError::TooLong);
        }
        Ok(Url { origin, target, text })
    }

    /// The URL that `reference` means here (RFC 3986 section 5.2), checked like any other. Dot segments of a relative
    /// reference are resolved; an absolute one is read by [`Url::parse`], which refuses them.
    ///
    /// # Errors
    /// [`UrlError`] where the result, or the reference, is no such URL.
    pub fn resolve(&self, reference: &str) -> Result<Url, UrlError> {
        if reference.contains('#') {
            return Err(UrlError::Fragment);
        }
        if reference.len() > crate::limits::URL_BYTES_MAX {
            return Err(UrlError::TooLong);
        }
        if parse::has_scheme(reference) {
            return Url::parse(reference);
        }
        let (before_query, query) = match reference.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (reference, None),
        };
        let (origin, path) = match before_query.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) =
                    rest.split_at_checked(rest.find('/').unwrap_or(rest.len())).unwrap_or((rest, ""));
                (format!("{}://{authority}", self.scheme()), parse::without_dots(path))
            }
            None => (self.origin.clone(), self.path_of(before_query)),
        };
        let query = match query {
            Some(query) => Some(query),
            None if reference.is_empty() => self.query(),
            None => None,
        };
        Url::parse(&match query {
            Some(query) => format!("{origin}{path}?{query}"),
            None => format!("{origin}{path}"),
        })
    }

    /// The path that a reference without authority means here.
    fn path_of(&self, reference: &str) -> String {
        if reference.is_empty() {
            return self.path().into();
        }
        if reference.starts_with('/') {
            return parse::without_dots(reference);
        }
        let folder = self.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        parse::without_dots(&format!("{folder}/{reference}"))
    }

    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `scheme://host[:port]`, lower case, default port left out.
    pub fn origin(&self) -> String {
        self.origin.clone()
    }

    /// `http` or `https`.
    fn scheme(&self) -> &str {
        self.origin.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// The path as written; at least `/`.
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(&self.target, |(path, _)| path)
    }

    /// The query without its `?`; may be empty.
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    /// Origin and path: what may be shown of a secret address (D31).
    pub fn without_query(&self) -> String {
        format!("{}{}", self.origin, self.path())
    }

    /// The names of the query's parameters, percent-decoded, in order, repeated ones repeated. A name that decodes to no
    /// UTF-8 is given as it was written. A query without `=` is one name.
    pub fn query_names(&self) -> Vec<String> {
        let query = self.query().unwrap_or_default();
        let names = query.split('&').filter(|parameter| !parameter.is_empty());
        names.map(|parameter| decode(parameter.split_once('=').map_or(parameter, |(name, _)| name))).collect()
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads `scheme://host[:port]` and nothing after it; gives it in lower case, without a default port.
///
/// # Errors
/// [`UrlError`].
pub fn parse_origin(text: &str) -> Result<String, UrlError> {
    let after_scheme = text.split_once("://").map_or("", |(_, rest)| rest);
    if after_scheme.contains(['/', '?']) {
        return Err(UrlError::NotOrigin);
    }
    Url::parse(text).map(|url| url.origin)
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let decoded = if byte == b'%' { parse::hex_pair(rest.next(), rest.next()) } else { Some(byte) };
        // INVARIANT (checked-url): no bad percent-encoding gets here.
        bytes.extend(decoded);
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests;
