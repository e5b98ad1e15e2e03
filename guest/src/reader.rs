//! Strict, lazy reading of JSON texts from outside (D14).
//!
//! A whole text is checked once, by `serde_json` as a [`RawValue`]: without recursion, without building anything, and
//! without turning numbers into doubles, so that `1e999` and 23 digits stay what they are. After that, places are found by
//! walking over the checked text. What serde_json's own values would hide is an error here: equal keys.

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use serde_json::value::RawValue;

use crate::{contract::Kind, limits::JSON_DEPTH_MAX, pointer::Pointer};

/// Why a text can't be read as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// Not RFC 8259: bad syntax, nothing at all, or something after the value.
    NotJson,
    /// Arrays and objects nested more than [`JSON_DEPTH_MAX`] deep.
    TooDeep,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::NotJson => "not JSON",
            Unfit::TooDeep => "nested too deep",
        })
    }
}

impl core::error::Error for Unfit {}

/// A key that a pointer names stands more than once in its object: there is no telling which one is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicate;

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key stands twice in an object")
    }
}

impl core::error::Error for Duplicate {}

/// An array has more elements than may be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array has too many elements")
    }
}

impl core::error::Error for TooLong {}

/// A checked JSON text.
#[derive(Debug, Clone, Copy)]
pub struct Doc<'a> {
    root: Node<'a>,
}

impl<'a> Doc<'a> {
    /// Checks the whole text. One byte order mark before it is tolerated (D14).
    ///
    /// # Errors
    /// [`Unfit`]; a text that is both too deep and no JSON counts as too deep.
    pub fn parse(text: &'a str) -> Result<Doc<'a>, Unfit> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if is_deeper_than(text.as_bytes(), JSON_DEPTH_MAX) {
            return Err(Unfit::TooDeep);
        }
        let raw: &RawValue = serde_json::from_str(text).map_err(|_| Unfit::NotJson)?;
        Ok(Doc { root: Node { raw: raw.get() } })
    }

    /// The whole document.
    pub fn root(&self) -> Node<'a> {
        self.root
    }

    /// The value at `pointer`, see [`Node::at`].
    ///
    /// # Errors
    /// [`Duplicate`] where a key that the pointer names stands twice in its object.
    pub fn at(&self, pointer: &Pointer) -> Result<Option<Node<'a>>, Duplicate> {
        self.root.at(pointer)
    }
}

/// One value in a checked text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node<'a> {
    /// INVARIANT (checked-text): one JSON value without blanks around it, cut out of a text that passed `Doc::parse`. Every
    /// walk below leans on it; on any other text they would be wrong, but would still end.
    raw: &'a str,
}

impl<'a> Node<'a> {
    /// A value of a text that serde_json has read as a whole.
    pub fn of(checked: &'a RawValue) -> Node<'a> {
        Node { raw: checked.get() }
    }

    /// The value's own text, without blanks around it.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// Its type.
    pub fn kind(&self) -> Kind {
        match self.raw.as_bytes().first() {
            Some(b'"') => Kind::Text,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// A text, unescaped. `None` for another type, and for a text with half of a surrogate pair in its escapes: that is no
    /// Unicode, so it equals nothing that a contract can say; its kind is still [`Kind::Text`].
    pub fn text(&self) -> Option<String> {
        unescape(self.raw)
    }

    /// A number's decimal text, as it was written.
    pub fn number(&self) -> Option<&'a str> {
        (self.kind() == Kind::Number).then_some(self.raw)
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.raw.starts_with('t'))
    }

    /// How many elements an array or members an object has, equal keys counted each; `None` for other types.
    #[allow(clippy::len_without_is_empty, reason = "most values have no length to be empty by")]
    pub fn len(&self) -> Option<u64> {
        let entries = self.entries()?;
        u64::try_from(entries.count()).ok()
    }

    /// The elements of an array; none for another type.
    ///
    /// # Errors
    /// [`TooLong`] where there are more than `max`.
    pub fn items(&self, max: usize) -> Result<Vec<Node<'a>>, TooLong> {
        let mut items = Vec::new();
        if self.kind() == Kind::Array {
            for (_, item) in self.entries().into_iter().flatten() {
                if items.len() >= max {
                    return Err(TooLong);
                }
                items.push(item);
            }
        }
        Ok(items)
    }

    /// The members of an object as they stand, equal keys each. `None` for another type, and where a key has half of a
    /// surrogate pair in its escapes.
    pub fn members(&self) -> Option<Vec<(String, Node<'a>)>> {
        if self.kind() != Kind::Object {
            return None;
        }
        let mut members = Vec::new();
        for (key, value) in self.entries()? {
            members.push((unescape(key)?, value));
        }
        Some(members)
    }

    /// The element or member that is `inner` or holds it, with its index or key; `None` where there is none.
    pub(crate) fn towards(&self, inner: Node<'a>) -> Option<(String, Node<'a>)> {
        let wanted = inner.raw.as_bytes().as_ptr_range();
        let holds = |outer: &Node<'_>| {
            let outer = outer.raw.as_bytes().as_ptr_range();
            outer.start <= wanted.start && wanted.end <= outer.end
        };
        let (index, (key, found)) = self.entries()?.enumerate().find(|(_, (_, entry))| holds(entry))?;
        let token = if self.kind() == Kind::Array { index.to_string() } else { unescape(key)? };
        Some((token, found))
    }

    /// The value at `pointer` (RFC 6901) below this one; `None` where there is none. An array's index is written without
    /// leading zeros; `-` names no element.
    ///
    /// # Errors
    /// [`Duplicate`] where a key that the pointer names stands twice in its object, even with equal values. Other keys may.
    pub fn at(&self, pointer: &Pointer) -> Result<Option<Node<'a>>, Duplicate> {
        let mut node = *self;
        for token in pointer.tokens() {
            match node.child(token)? {
                Some(child) => node = child,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    fn child(&self, token: &str) -> Result<Option<Node<'a>>, Duplicate> {
        let Some(mut entries) = self.entries() else {
            return Ok(None);
        };
        if self.kind() == Kind::Array {
            return Ok(index(token).and_then(|index| entries.nth(index)).map(|(_, item)| item));
        }
        let mut found = None;
        for (key, value) in entries {
            if is_key(key, token) && found.replace(value).is_some() {
                return Err(Duplicate);
            }
        }
        Ok(found)
    }

    /// The entries of an array (with empty keys) or an object (with keys as written, in quotes).
    pub(crate) fn entries(&self) -> Option<Entries<'a>> {
        let object = match self.kind() {
            Kind::Object => true,
            Kind::Array => false,
            _ => return None,
        };
        Some(Entries { text: self.raw, at: 1, object })
    }
}

/// See [`Node::entries`].
pub(crate) struct Entries<'a> {
    text: &'a str,
    at: usize,
    object: bool,
}

impl<'a> Entries<'a> {
    /// Steps over blanks and this separator.
    fn skip(&mut self, separator: u8) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r') || *byte == separator;
        let count = rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len());
        self.at = self.at.saturating_add(count);
    }

    /// The value that begins here, or nothing at the end.
    fn take(&mut self) -> Option<&'a str> {
        let end = value_end(self.text.as_bytes(), self.at);
        let value = self.text.get(self.at..end).filter(|value| !value.is_empty())?;
        self.at = end;
        Some(value)
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a str, Node<'a>);

    fn next(&mut self) -> Option<(&'a str, Node<'a>)> {
        self.skip(b',');
        let key = if self.object { self.take()? } else { "" };
        if self.object {
            self.skip(b':');
        }
        Some((key, Node { raw: self.take()? }))
    }
}

/// Where the value that starts at `at` ends; `at` itself where none starts.
fn value_end(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'"') => string_end(bytes, at),
        Some(b'{' | b'[') => container_end(bytes, at),
        _ => {
            let rest = bytes.get(at..).unwrap_or_default();
            let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
            at.saturating_add(rest.iter().position(ends).unwrap_or(rest.len()))
        }
    }
}

fn container_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at = at.saturating_add(1);
        if depth == 0 {
            break;
        }
    }
    at
}

/// Where the text that starts with the quote at `start` ends, its closing quote included.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start.saturating_add(1);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        match rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
            None => return bytes.len(),
            Some(count) if rest.get(count) == Some(&b'"') => {
                return at.saturating_add(count).saturating_add(1);
            }
            Some(count) => at = at.saturating_add(count).saturating_add(2),
        }
    }
}

/// Works on any text, checked or not: what is too deep must be known before anything might recurse.
fn is_deeper_than(bytes: &[u8], max: usize) -> bool {
    let mut depth = 0usize;
    let mut at = 0usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > max {
            return true;
        }
        at = at.saturating_add(1);
    }
    false
}

/// The text of a JSON string in its quotes.
fn unescape(raw: &str) -> Option<String> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw).ok() } else { Some(inner.to_owned()) }
}

fn is_key(raw: &str, token: &str) -> bool {
    if raw.contains('\\') {
        return unescape(raw).is_some_and(|key| key == token);
    }
    raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) == Some(token)
}

fn index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || (token.len() > 1 && token.starts_with('0')) {
        return None;
    }
    token.parse().ok()
}

#[cfg(test)]
mod tests;
