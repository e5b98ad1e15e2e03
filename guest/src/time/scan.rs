//! A cursor over the bytes of a text, for grammars of fixed shape.

/// What is left to read. Every method either takes what it names or takes nothing.
pub(super) struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Scan<'a> {
        Scan { rest: text.as_bytes() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes exactly this text.
    pub(super) fn eat(&mut self, literal: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal.as_bytes())?;
        Some(())
    }

    /// Takes one byte, if it is one of these.
    pub(super) fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, tail) = self.rest.split_first()?;
        if !bytes.contains(first) {
            return None;
        }
        self.rest = tail;
        Some(*first)
    }

    /// Takes exactly `count` digits.
    pub(super) fn digits(&mut self, count: usize) -> Option<u32> {
        let (head, tail) = self.rest.split_at_checked(count)?;
        let value = number(head)?;
        self.rest = tail;
        Some(value)
    }

    /// Takes all bytes up to the first that `wanted` refuses.
    pub(super) fn run(&mut self, wanted: impl Fn(&u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !wanted(byte)).unwrap_or(self.rest.len());
        let (head, tail) = self.rest.split_at_checked(end).unwrap_or((self.rest, &[]));
        self.rest = tail;
        head
    }

    /// Takes one of these words and gives its place in the list, counted from one.
    pub(super) fn word(&mut self, words: &[&str]) -> Option<u32> {
        for (number, word) in (1u32..).zip(words) {
            if self.eat(word).is_some() {
                return Some(number);
            }
        }
        None
    }
}

/// The number that these ASCII digits write; `None` for no digit, another byte, or more than 32 bits.
pub(super) fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0u32;
    for byte in digits {
        let digit = char::from(*byte).to_digit(10)?;
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    Some(value)
}
