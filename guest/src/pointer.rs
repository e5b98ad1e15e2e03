//! JSON Pointer (RFC 6901), parsed once.

use alloc::{string::String, vec::Vec};
use core::fmt;

/// A checked pointer: the text as given and its unescaped reference tokens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pointer {
    text: String,
    tokens: Vec<String>,
}

impl Pointer {
    /// Reads `""` (the whole document) or `/a/b~1c/0`.
    ///
    /// # Errors
    /// What is wrong with it: no leading `/`, or `~` not followed by `0` or `1` (RFC 6901 section 3).
    pub fn parse(text: &str) -> Result<Pointer, &'static str> {
        let mut tokens = Vec::new();
        if !text.is_empty() {
            let Some(rest) = text.strip_prefix('/') else {
                return Err("a JSON Pointer is empty or starts with `/`");
            };
            for raw in rest.split('/') {
                tokens.push(unescape(raw)?);
            }
        }
        Ok(Pointer { text: text.into(), tokens })
    }

    /// The pointer as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Unescaped reference tokens, outermost first; none for the whole document.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }
}

fn unescape(raw: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '~' => match chars.next() {
                Some('0') => out.push('~'),
                Some('1') => out.push('/'),
                _ => return Err("`~` in a JSON Pointer is followed by `0` or `1`"),
            },
            other => out.push(other),
        }
    }
    Ok(out)
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_6901_escapes_are_read_once_and_bad_ones_refused() {
        let pointer = Pointer::parse("/a~1b/m~0n//0").unwrap();
        assert_eq!(pointer.tokens(), ["a/b", "m~n", "", "0"]);
        assert!(Pointer::parse("").unwrap().tokens().is_empty());
        for bad in ["a", "/~", "/~2", "/a~"] {
            assert!(Pointer::parse(bad).is_err(), "{bad}");
        }
    }
}
