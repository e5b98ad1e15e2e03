//! Digests, and the one text of a value that they are taken of: JSON canonicalization (RFC 8785) for values whose numbers
//! are integers (D47).

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::{cmp::Ordering, fmt, ops::Range};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::limits::FENCE_MAX;

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

/// The canonical text of `value` (RFC 8785): keys by UTF-16 code units, whatever order the map has, no blanks, the fewest
/// escapes. Integers are as the RFC has them; other numbers are left as `serde_json` writes them.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
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

/// Whether `text` is exactly the canonical text of the value that it writes.
pub fn is_canonical(text: &str) -> bool {
    canonical_text(text).is_ok_and(|canonical| canonical == text)
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        // INVARIANT: writing to a String does not fail.
        Value::Number(number) => drop(fmt::write(out, format_args!("{number}"))),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut members: Vec<(&String, &Value)> = map.iter().collect();
            members.sort_unstable_by(|(a, _), (b, _)| by_utf16(a, b));
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_value(out, member);
            }
            out.push('}');
        }
    }
}

/// RFC 8785 section 3.2.2.2: two-character escapes where JSON has them, lower-case `\u00xx` for other control characters.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
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

/// RFC 8785 section 3.2.3. The order of bytes is that of code points, which differs only beyond the basic plane.
fn by_utf16(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

fn canonical_text(text: &str) -> Result<String, NotCanonical> {
    let mut writer = Writer { text, at: 0, out: String::with_capacity(text.len()) };
    writer.value(0)?;
    writer.blanks();
    if writer.at < text.len() { Err(NotCanonical::NotJson) } else { Ok(writer.out) }
}

/// Reads JSON and writes it canonically in one pass; an object whose keys are out of order is put in order afterwards.
struct Writer<'a> {
    text: &'a str,
    at: usize,
    out: String,
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
        if a.contains('\\') || b.contains('\\') {
            return by_utf16(&unescaped(a), &unescaped(b));
        }
        by_utf16(a, b)
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
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end = end.saturating_add(2);
                }
                Some(0..=0x1f) | None => return Err(NotCanonical::NotJson),
                Some(_) => end = end.saturating_add(1),
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
        if !plain || !exact {
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
mod tests {
    use alloc::{collections::BTreeMap, format, string::ToString};

    use serde_json::json;

    use super::*;

    #[test]
    fn sha_256_of_the_empty_and_of_abc() {
        assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    /// RFC 8785 section 3.2.3, the RFC's own example.
    #[test]
    fn rfc_8785_keys_are_ordered_by_utf_16_units() {
        let value = json!({
            "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin Small Letter O With Diaeresis"
        });
        let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin Small Letter O With \
                        Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter \
                        Dalet With Dagesh\"}";
        assert_eq!(canonical(&value), expected);
        assert_eq!(canonical_of(&value).unwrap(), expected);
        assert!(is_canonical(expected));
    }

    /// RFC 8785 section 3.2.2.2.
    #[test]
    fn rfc_8785_texts_have_the_fewest_escapes() {
        let value = json!("\u{20ac}$\u{f}\nA'B\"\\\\\"/\u{7f}\u{2028}\u{8}\u{c}\r\t\u{0}\u{1f}");
        let expected = "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u{7f}\u{2028}\\b\\f\\r\\t\\u0000\\u001f\"";
        assert_eq!(canonical(&value), expected);
        assert_eq!(canonical_of(&value).unwrap(), expected);
        assert!(is_canonical(expected));
    }

    #[test]
    fn every_character_is_written_alike_by_both_ways() {
        for code in (0..0x300u32).chain([0xd7ff, 0xe000, 0xfeff, 0xffff, 0x1_0000, 0x10_ffff]) {
            let text = format!("a{}b", char::from_u32(code).unwrap());
            let value = json!({ &text: text });
            assert_eq!(canonical_of(&value).unwrap(), canonical(&value), "{code:x}");
        }
    }

    #[test]
    fn fields_of_a_struct_are_put_in_order_at_every_depth() {
        #[derive(Serialize)]
        struct Outer {
            zeta: u64,
            #[serde(rename = "a\"")]
            quoted: Vec<Inner>,
            #[serde(rename = "a#")]
            hash: Option<bool>,
            map: BTreeMap<&'static str, i64>,
        }
        #[derive(Serialize)]
        struct Inner {
            y: &'static str,
            x: (),
        }
        let value = Outer {
            zeta: 9_007_199_254_740_991,
            quoted: Vec::from([Inner { y: "}", x: () }, Inner { y: "", x: () }]),
            hash: Some(true),
            map: BTreeMap::from([("b", -1), ("a", 0)]),
        };
        let text = canonical_of(&value).unwrap();
        // `"` sorts before `#`, though its escape would not.
        let expected = r#"{"a\"":[{"x":null,"y":"}"},{"x":null,"y":""}],"a#":true,"map":{"a":0,"b":-1},"zeta":9007199254740991}"#;
        assert_eq!(text, expected);
        assert_eq!(canonical(&serde_json::to_value(&value).unwrap()), expected);
        assert!(is_canonical(&text));
    }

    #[test]
    fn blanks_order_escapes_and_numbers_that_differ_are_not_canonical() {
        for text in [
            "{}", "[]", "0", "-1", "\"\"", "null", "true", "false", "9007199254740991", "-9007199254740991", "[[],{}]",
            "{\"a\":1,\"b\":[1,2]}", "\"/\"", "{\"\":0,\"a\":0}", "\"\u{7f}é\"", "{\"\u{1f600}\":1,\"\u{fb33}\":2}",
        ] {
            assert!(is_canonical(text), "{text}");
        }
        for text in [
            "", " ", "{} ", " {}", "[1, 2]", "{\"a\" :1}", "{\"b\":1,\"a\":2}", "{\"a\":1,\"a\":1}", "{\"a\":1,\"a\":2}",
            "\"\\/\"", "\"\\u0041\"", "\"\\u000F\"", "\"\\u000a\"", "\"\\u00e9\"", "\"\\ud800\"", "\"\n\"", "\"a", "\"\\\"", "\"\\", "-0", "01", "-01",
            "1.0", "1e2", "1E2", "0.5", "+1", "-", "1-", "1a", "9007199254740992", "18446744073709551616", "1e999", "nul", "nulll",
            "true false", "[1,]", "[,]", "{,}", "{\"a\":1,}", "{a:1}", "{\"a\"}", "[", "]", "{", "[1", "[1}", "\u{feff}{}", "0x1", "NaN",
            "{\"\u{fb33}\":2,\"\u{1f600}\":1}", "{\"a\":1}{\"a\":1}", "٣",
        ] {
            assert!(!is_canonical(text), "{text:?}");
        }
    }

    #[test]
    fn what_has_no_canonical_text_says_why() {
        assert_eq!(canonical_of(&0.5), Err(NotCanonical::Number));
        assert_eq!(canonical_of(&u64::MAX), Err(NotCanonical::Number));
        assert_eq!(canonical_text("{\"b\":1,\"a\":1,\"\\u0062\":1}"), Err(NotCanonical::DuplicateKey));
        assert_eq!(canonical_text("{\"a\":1,\"a\":1}"), Err(NotCanonical::DuplicateKey));
        assert_eq!(canonical_of(&BTreeMap::from([((1, 2), 3)])), Err(NotCanonical::NotJson));
        assert_eq!(canonical_text(&"[".repeat(100_000)), Err(NotCanonical::TooDeep));
    }

    /// Whatever order the keys come in, the text is one.
    #[test]
    fn the_order_of_the_input_does_not_matter() {
        let keys = ["b", "a\"", "a#", "a", "é", "\u{1f600}", "\u{fb33}", "", "\n", "aa", "B"];
        let mut texts = Vec::new();
        for shift in 0..keys.len() {
            let members: Vec<String> = (0..keys.len())
                .map(|index| keys[(index * 7 + shift) % keys.len()])
                .map(|key| format!(" {} : [ {{\"z\":1,\"y\":2}} ] ", json!(key)))
                .collect();
            texts.push(canonical_text(&format!("{{{}}}", members.join(","))).unwrap());
        }
        texts.dedup();
        assert_eq!(texts.len(), 1);
        assert_eq!(texts[0], canonical(&serde_json::from_str(&texts[0]).unwrap()).to_string());
    }
}
