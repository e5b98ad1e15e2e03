//! The grammar: what `Url::parse` accepts, and how references are resolved.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::net::{Ipv4Addr, Ipv6Addr};

use super::UrlError;
use crate::limits::URL_BYTES_MAX;

/// Bytes of a host name, and of one label (RFC 1035 section 2.3.4).
const HOST_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// The normalized origin, and path with query.
pub(super) fn split(text: &str) -> Result<(String, String), UrlError> {
    if text.len() > URL_BYTES_MAX {
        return Err(UrlError::TooLong);
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(UrlError::Character);
    }
    let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
    let scheme = scheme.to_ascii_lowercase();
    let default_port = match scheme.as_str() {
        "https" => 443,
        "http" => 80,
        _ => return Err(UrlError::Scheme),
    };
    if rest.contains('#') {
        return Err(UrlError::Fragment);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if authority.contains('@') {
        return Err(UrlError::UserInfo);
    }
    let (host, port) = host_and_port(authority)?;
    let origin = match port.filter(|port| *port != default_port) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    };
    check_target(target)?;
    let slash = if target.starts_with('/') { "" } else { "/" };
    Ok((origin, format!("{slash}{target}")))
}

fn check_target(target: &str) -> Result<(), UrlError> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, query),
        None => (target, ""),
    };
    if !is_encoded(path, b"/") {
        return Err(UrlError::Path);
    }
    if path.split('/').any(is_dot_segment) {
        return Err(UrlError::DotSegment);
    }
    if !is_encoded(query, b"/?") {
        return Err(UrlError::Query);
    }
    Ok(())
}

fn host_and_port(authority: &str) -> Result<(String, Option<u16>), UrlError> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, after) = rest.split_once(']').ok_or(UrlError::Host)?;
        let address: Ipv6Addr = address.parse().map_err(|_| UrlError::Host)?;
        let port = match after.strip_prefix(':') {
            Some(port) => Some(read_port(port)?),
            None if after.is_empty() => None,
            None => return Err(UrlError::Host),
        };
        return Ok((format!("[{address}]"), port));
    }
    let (name, port) = match authority.split_once(':') {
        Some((name, port)) => (name, Some(read_port(port)?)),
        None => (authority, None),
    };
    Ok((read_name(name)?, port))
}

fn read_port(text: &str) -> Result<u16, UrlError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if !digits {
        return Err(UrlError::Port);
    }
    text.parse().map_err(|_| UrlError::Port)
}

/// A host name, or IPv4 in its one form.
fn read_name(text: &str) -> Result<String, UrlError> {
    let name = text.to_ascii_lowercase();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let label_fits = |label: &str| !label.is_empty() && label.len() <= LABEL_BYTES_MAX;
    if name.len() > HOST_BYTES_MAX || !name.bytes().all(allowed) || !name.split('.').all(label_fits) {
        return Err(UrlError::Host);
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    // Where the last label is a number, clients read an IPv4 address, some of them in octal, hexadecimal or fewer parts.
    let numeric = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
    if numeric {
        let address: Ipv4Addr = name.parse().map_err(|_| UrlError::Host)?;
        if address.to_string() != name {
            return Err(UrlError::Host);
        }
    }
    Ok(name)
}

/// Only RFC 3986 `pchar`, whole percent-encodings, and `more`.
fn is_encoded(text: &str, more: &[u8]) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let fits = match byte {
            b'%' => hex_pair(bytes.next(), bytes.next()).is_some(),
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' => true,
            other => is_unreserved(other) || more.contains(&other),
        };
        if !fits {
            return false;
        }
    }
    true
}

pub(super) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

pub(super) fn hex_pair(high: Option<u8>, low: Option<u8>) -> Option<u8> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    let value = digit(high)?.checked_mul(16)?.checked_add(digit(low)?)?;
    u8::try_from(value).ok()
}

/// `.` and `..`, also where clients decode `%2e` before they look.
pub(super) fn is_dot_segment(segment: &str) -> bool {
    // Two dots take at most six bytes.
    segment.len() <= 6 && matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

/// Whether a reference begins with a scheme (RFC 3986 section 3.1), so that it is not relative.
pub(super) fn has_scheme(reference: &str) -> bool {
    // A colon later than that belongs to a path or query. What stands before it is judged with the whole.
    reference.find([':', '/', '?']).is_some_and(|at| reference.as_bytes().get(at) == Some(&b':'))
}

/// RFC 3986 section 5.2.4 for a path that is empty or begins with `/`.
pub(super) fn without_dots(path: &str) -> String {
    let Some(relative) = path.strip_prefix('/') else {
        return path.into();
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = relative.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}", kept.join("/"))
}
