//! Addresses with `{name}` in their path or query (D28): ids become whole, encoded segments, never structure.

use alloc::{borrow::ToOwned, collections::BTreeMap, string::String, vec::Vec};

use super::{
    Url, UrlError,
    parse::{is_dot_segment, is_unreserved},
};

/// A piece of a template.
enum Piece<'a> {
    Literal(&'a str),
    Name(&'a str),
}

/// Percent-encodes everything but unreserved characters (RFC 3986 section 2.3), so that `id` stays one path segment.
///
/// # Errors
/// [`UrlError::Segment`] for an empty id, `.`, `..`, and one with a control character.
pub fn encode_segment(id: &str) -> Result<String, UrlError> {
    if id.is_empty() || is_dot_segment(id) || id.chars().any(char::is_control) {
        return Err(UrlError::Segment);
    }
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        if is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for half in [byte >> 4, byte & 0x0f] {
                out.extend(char::from_digit(u32::from(half), 16).map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    Ok(out)
}

/// The URL of `template` with each `{name}` replaced by its part, encoded by [`encode_segment`].
///
/// # Errors
/// [`UrlError`]: a name without a part, a part that can't be a segment, a placeholder before the path, or a result that is
/// no URL.
pub fn fill(template: &str, parts: &BTreeMap<String, String>) -> Result<Url, UrlError> {
    fill_with(template, |name| parts.get(name).map(String::as_str))
}

/// The names in `template`, each once, in the order in which they first appear. A template that could never be filled is
/// refused here already.
///
/// # Errors
/// [`UrlError`].
pub fn placeholders(template: &str) -> Result<Vec<String>, UrlError> {
    fill_with(template, |_| Some("x"))?;
    let mut names: Vec<String> = Vec::new();
    for piece in pieces(template)? {
        if let Piece::Name(name) = piece
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn fill_with<'p>(template: &str, part: impl Fn(&str) -> Option<&'p str>) -> Result<Url, UrlError> {
    let after_scheme = template.split_once("://").ok_or(UrlError::Scheme)?.1;
    let authority = after_scheme.split(['/', '?']).next().unwrap_or_default();
    let scheme = template.split(':').next().unwrap_or_default();
    if authority.contains(['{', '}']) || scheme.contains(['{', '}']) {
        return Err(UrlError::PlaceholderInOrigin);
    }
    let mut text = String::with_capacity(template.len());
    for piece in pieces(template)? {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Name(name) => {
                let value = part(name).ok_or_else(|| UrlError::UnknownName(name.to_owned()))?;
                text.push_str(&encode_segment(value)?);
            }
        }
    }
    Url::parse(&text)
}

fn pieces(template: &str) -> Result<Vec<Piece<'_>>, UrlError> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((literal, tail)) = rest.split_once('{') {
        let (name, after) = tail.split_once('}').ok_or(UrlError::Braces)?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if literal.contains('}') || name.is_empty() || !name.bytes().all(allowed) {
            return Err(UrlError::Braces);
        }
        pieces.push(Piece::Literal(literal));
        pieces.push(Piece::Name(name));
        rest = after;
    }
    if rest.contains('}') {
        return Err(UrlError::Braces);
    }
    pieces.push(Piece::Literal(rest));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::ToString};

    use super::*;

    fn parts(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn filled(template: &str, id: &str) -> Result<String, UrlError> {
        fill(template, &parts(&[("id", id)])).map(|url| url.to_string())
    }

    #[test]
    fn d28_an_id_is_one_encoded_segment() {
        for (id, expected) in [
            ("batch_1-2.3~", "batch_1-2.3~"),
            ("a/b", "a%2Fb"),
            ("../../admin", "..%2F..%2Fadmin"),
            ("a?b=c&d#e", "a%3Fb%3Dc%26d%23e"),
            ("100%", "100%25"),
            ("%2e%2e/", "%252e%252e%2F"),
            ("é \\", "%C3%A9%20%5C"),
            ("a:b@c", "a%3Ab%40c"),
            ("...", "..."),
            ("{id}", "%7Bid%7D"),
        ] {
            assert_eq!(filled("https://h/v1/{id}", id), Ok(format!("https://h/v1/{expected}")), "{id}");
            assert_eq!(filled("https://h/v1?id={id}", id), Ok(format!("https://h/v1?id={expected}")), "{id}");
        }
        for id in ["", ".", "..", "%2e", "%2E.", "a\nb", "\0", "a\u{7f}", "a\u{85}b"] {
            assert_eq!(filled("https://h/v1/{id}", id), Err(UrlError::Segment), "{id:?}");
        }
    }

    #[test]
    fn d28_parts_never_join_to_a_dot_segment() {
        let template = "https://h/{id}{id}/x";
        assert_eq!(filled(template, "a").unwrap(), "https://h/aa/x");
        assert_eq!(filled(template, "."), Err(UrlError::Segment));
        assert_eq!(filled("https://h/.{id}/x", "a").unwrap(), "https://h/.a/x");
        assert!(filled("https://h/../{id}", "a").is_err());
    }

    #[test]
    fn placeholders_are_named_in_order_and_only_after_the_origin() {
        let names = placeholders("https://h/{region}/jobs/{job-id}:wait?r={region}&v={v_2}").unwrap();
        assert_eq!(names, ["region", "job-id", "v_2"]);
        assert_eq!(placeholders("https://h/").unwrap(), [""; 0]);
        for template in
            ["https://{id}/", "https://{id}", "https://h{id}:8/x", "https://h:{id}/x", "{id}://h/x", "https://{id}.h?x"]
        {
            assert_eq!(placeholders(template), Err(UrlError::PlaceholderInOrigin), "{template}");
        }
        for template in
            ["https://h/{}", "https://h/{id", "https://h/id}", "https://h/{{id}}", "https://h/{a b}", "https://h/{a/b}"]
        {
            assert_eq!(placeholders(template), Err(UrlError::Braces), "{template}");
        }
        assert_eq!(placeholders("{id}"), Err(UrlError::Scheme));
        assert_eq!(placeholders("https://h/a b/{id}"), Err(UrlError::Character));
        assert_eq!(placeholders("https://u@h/{id}"), Err(UrlError::UserInfo));
    }

    #[test]
    fn a_name_without_a_part_is_refused_by_name() {
        assert_eq!(fill("https://h/{job}", &parts(&[("id", "1")])), Err(UrlError::UnknownName("job".into())));
        assert_eq!(fill("https://h/j", &parts(&[("id", "1")])).unwrap().as_str(), "https://h/j");
        assert!(matches!(filled("https://h/{id}", &"a".repeat(3_000)), Err(UrlError::TooLong)));
    }
}
