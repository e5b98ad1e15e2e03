//! Digests, and the one text of a value that they are taken of: JSON canonicalization (RFC 8785) for values whose numbers
//! are integers (D47).

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::{cmp::Ordering, fmt, ops::Range};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{limits::FENCE_MAX, reader::Doc};

/// Nesting that is still read; more than anything of ours has.
const DEPTH_MAX: usize = 128;

/// Why a value has no canonical text here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCanonical {
    /// It can't be written as JSON at all.
    NotJson,
    /// A number that is not an integer, or has more than 53 bits, so that not every language reads it alike.
    Number,
    /// Two equal keys in an object.
    DuplicateKey,
    /// Nested too deep.
    TooDeep,
}

impl fmt::Display for NotCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotCanonical::NotJson => "not JSON",
            NotCanonical::Number => "a number is not an integer of at most 53 bits",
            NotCanonical::DuplicateKey => "a key stands twice in an object",
            NotCanonical::TooDeep => "nested too deep",
        })
    }
}

impl core::error::Error for NotCanonical {}

/// The SHA-256 of `bytes`, in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        for half in [byte >> 4, byte & 0x0f] {
            out.extend(char::from_digit(u32::from(half), 16));
        }
    }
    out
}

/// The canonical text of anything that can be written as JSON.
///
/// # Errors
/// [`NotCanonical`], for one where a number is not an integer.
pub fn canonical_of<T: Serialize + ?Sized>(value: &T) -> Result<String, NotCanonical> {
    // serde_json escapes as the RFC does, so that mostly only the order of keys is left to do.
    let text = serde_json::to_string(value).map_err(|_| NotCanonical::NotJson)?;
    canonical_text(&text)
}

/// The same, with numbers of any size.
///
/// # Errors
/// [`NotCanonical`].
pub(crate) fn canonical_of_any<T: Serialize + ?Sized>(value: &T) -> Result<String, NotCanonical> {
    let text = serde_json::to_string(value).map_err(|_| NotCanonical::NotJson)?;
    written(&text, false)
}

/// A text as a JSON string, its quotes included.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    write_text(&mut out, text);
    out
}

/// A canonical object with one more member, in its place; names of plain ASCII throughout.
///
/// # Errors
/// [`NotCanonical`], for what is no object.
pub(crate) fn with_member(object: &str, name: &str, value: &str) -> Result<String, NotCanonical> {
    let doc = Doc::parse(object).map_err(|_| NotCanonical::NotJson)?;
    let (name, value) = (quoted(name), quoted(value));
    let members = doc.root().entries().ok_or(NotCanonical::NotJson)?.map(|(key, value)| (key, value.raw()));
    let mut new = Some((name.as_str(), value.as_str()));
    let mut out = String::with_capacity(object.len().saturating_add(name.len()).saturating_add(value.len()));
    let mut put = |(name, value): (&str, &str)| {
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(name);
        out.push(':');
        out.push_str(value);
    };
    for member in members {
        if let Some(new) = new.take_if(|new| new.0 < member.0) {
            put(new);
        }
        put(member);
    }
    if let Some(new) = new {
        put(new);
    }
    out.push('}');
    Ok(out)
}

/// Whether `text` is exactly the canonical text of the value that it writes.
pub fn is_canonical(text: &str) -> bool {
    canonical_text(text).is_ok_and(|canonical| canonical == text)
}

/// RFC 8785 section 3.2.2.2: two-character escapes where JSON has them, lower-case `\u00xx` for other control characters.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.as_bytes().iter().position(needs_escape) {
        let (plain, tail) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\t') => out.push_str("\\t"),
            Some('\n') => out.push_str("\\n"),
            Some('\u{c}') => out.push_str("\\f"),
            Some('\r') => out.push_str("\\r"),
            Some(control) => drop(fmt::write(out, format_args!("\\u{:04x}", u32::from(control)))),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Every byte that ends the plain part of a JSON text.
fn needs_escape(byte: &u8) -> bool {
    *byte < 0x20 || *byte == b'"' || *byte == b'\\'
}

/// RFC 8785 section 3.2.3. The order of bytes is that of code points, which differs only beyond the basic plane.
fn by_utf16(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

fn canonical_text(text: &str) -> Result<String, NotCanonical> {
    written(text, true)
}

fn written(text: &str, exact: bool) -> Result<String, NotCanonical> {
    let mut writer = Writer { text, at: 0, out: String::with_capacity(text.len()), exact };
    writer.value(0)?;
    writer.blanks();
    if writer.at < text.len() { Err(NotCanonical::NotJson) } else { Ok(writer.out) }
}

/// Reads JSON and writes it canonically in one pass; an object whose keys are out of order is put in order afterwards.
struct Writer<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// Refuses numbers that not every language reads alike.
    exact: bool,
}

/// Where a member stands in the output: its key without quotes, and the whole.
struct Member {
    key: Range<usize>,
    whole: Range<usize>,
}

impl Writer<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at = self.at.saturating_add(1);
        }
    }

    /// Takes this byte, after blanks, if it is next.
    fn eat(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<(), NotCanonical> {
        if depth > DEPTH_MAX {
            return Err(NotCanonical::TooDeep);
        }
        self.blanks();
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), NotCanonical> {
        self.at = self.at.saturating_add(1);
        self.out.push('[');
        if !self.eat(b']') {
            loop {
                self.value(depth.saturating_add(1))?;
                if self.eat(b']') {
                    break;
                }
                if !self.eat(b',') {
                    return Err(NotCanonical::NotJson);
                }
                self.out.push(',');
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), NotCanonical> {
        self.at = self.at.saturating_add(1);
        self.out.push('{');
        let mut members: Vec<Member> = Vec::new();
        let mut in_order = true;
        if !self.eat(b'}') {
            loop {
                let member = self.member(depth)?;
                if let Some(last) = members.last() {
                    in_order = in_order && self.compare(last, &member).is_lt();
                }
                members.push(member);
                if self.eat(b'}') {
                    break;
                }
                if !self.eat(b',') {
                    return Err(NotCanonical::NotJson);
                }
                self.out.push(',');
            }
        }
        if !in_order {
            self.reorder(members)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn member(&mut self, depth: usize) -> Result<Member, NotCanonical> {
        self.blanks();
        let start = self.out.len();
        if self.peek() != Some(b'"') {
            return Err(NotCanonical::NotJson);
        }
        self.string()?;
        let key = start.saturating_add(1)..self.out.len().saturating_sub(1);
        if !self.eat(b':') {
            return Err(NotCanonical::NotJson);
        }
        self.out.push(':');
        self.value(depth.saturating_add(1))?;
        Ok(Member { key, whole: start..self.out.len() })
    }

    fn compare(&self, a: &Member, b: &Member) -> Ordering {
        let key = |member: &Member| self.out.get(member.key.clone()).unwrap_or_default();
        let (a, b) = (key(a), key(b));
        // Up to the first byte that differs both are the same text; an escape, or what is not ASCII, needs a closer look.
        let plain = |byte: &u8| byte.is_ascii() && *byte != b'\\';
        let differs = a.bytes().zip(b.bytes()).position(|(x, y)| x != y || x == b'\\');
        let at = differs.unwrap_or(a.len().min(b.len()));
        match (a.as_bytes().get(at), b.as_bytes().get(at)) {
            (Some(x), Some(y)) if plain(x) && plain(y) => x.cmp(y),
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            _ => by_utf16(&unescaped(a), &unescaped(b)),
        }
    }

    fn reorder(&mut self, mut members: Vec<Member>) -> Result<(), NotCanonical> {
        let start = members.first().map_or(self.out.len(), |first| first.whole.start);
        members.sort_unstable_by(|a, b| self.compare(a, b));
        let mut previous: Option<&Member> = None;
        let mut ordered = String::with_capacity(self.out.len().saturating_sub(start));
        for member in &members {
            if let Some(previous) = previous {
                if self.compare(previous, member).is_eq() {
                    return Err(NotCanonical::DuplicateKey);
                }
                ordered.push(',');
            }
            ordered.push_str(self.out.get(member.whole.clone()).unwrap_or_default());
            previous = Some(member);
        }
        self.out.truncate(start);
        self.out.push_str(&ordered);
        Ok(())
    }

    fn string(&mut self) -> Result<(), NotCanonical> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut end = start.saturating_add(1);
        let mut escaped = false;
        loop {
            let rest = bytes.get(end..).unwrap_or_default();
            let plain = rest.iter().position(needs_escape);
            let plain = plain.ok_or(NotCanonical::NotJson)?;
            end = end.saturating_add(plain);
            match rest.get(plain) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end = end.saturating_add(2);
                }
                _ => return Err(NotCanonical::NotJson),
            }
        }
        self.at = end.saturating_add(1);
        let raw = self.text.get(start..self.at).ok_or(NotCanonical::NotJson)?;
        if escaped {
            let text: String = serde_json::from_str(raw).map_err(|_| NotCanonical::NotJson)?;
            write_text(&mut self.out, &text);
        } else {
            self.out.push_str(raw);
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotCanonical> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let ends = |c: char| matches!(c, ',' | ']' | '}' | ' ' | '\t' | '\n' | '\r');
        let token = rest.split(ends).next().unwrap_or_default();
        let digits = token.strip_prefix('-').unwrap_or(token);
        let plain = token == "0" || !digits.starts_with('0');
        let exact = digits.bytes().all(|byte| byte.is_ascii_digit())
            && digits.parse::<u64>().is_ok_and(|number| number <= FENCE_MAX);
        if self.exact && (!plain || !exact) {
            return Err(NotCanonical::Number);
        }
        self.out.push_str(token);
        self.at = self.at.saturating_add(token.len());
        Ok(())
    }

    fn word(&mut self) -> Result<(), NotCanonical> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let word = ["null", "true", "false"].into_iter().find(|word| rest.starts_with(word));
        let word = word.ok_or(NotCanonical::NotJson)?;
        self.out.push_str(word);
        self.at = self.at.saturating_add(word.len());
        Ok(())
    }
}

/// The text between the quotes of a JSON string.
fn unescaped(inner: &str) -> String {
    serde_json::from_str(&alloc::format!("\"{inner}\"")).unwrap_or_else(|_| inner.to_owned())
}

#[cfg(test)]
mod tests;
