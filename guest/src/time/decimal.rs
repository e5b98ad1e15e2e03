//! Amounts by their decimal text: what a double would round is kept (D25).

/// A decimal text in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Rounded up to a whole millisecond; `u64::MAX` stands for everything from there on.
    Ms(u64),
    /// Below zero (minus zero is zero).
    Negative,
    NotANumber,
}

/// Reads digits, then perhaps a fraction, then perhaps an exponent: a JSON number (RFC 8259 section 6), or a text of
/// digits, which may begin with zeros. `decimals` is 3 where the text counts seconds, 0 where it counts milliseconds.
///
/// The work is linear in the length of the text, whatever the exponent.
pub(crate) fn amount(text: &str, decimals: i64) -> Amount {
    match parts(text) {
        None => Amount::NotANumber,
        Some(parts) => {
            let ms = parts.scaled(decimals);
            if parts.negative && ms > 0 { Amount::Negative } else { Amount::Ms(ms) }
        }
    }
}

struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

fn parts(text: &str) -> Option<Parts<'_>> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
        Some(_) => return None,
        None => (mantissa, ""),
    };
    is_digits(whole).then_some(Parts { negative, whole, fraction, exponent })
}

fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    if !is_digits(digits) {
        return None;
    }
    // Far beyond any text's length, so saturation changes no result.
    let size = digits.bytes().fold(0i64, |value, byte| value.saturating_mul(10).saturating_add(digit(byte)));
    Some(if negative { size.saturating_neg() } else { size })
}

impl Parts<'_> {
    /// The amount times ten to the power of `decimals`, rounded up, without its sign.
    fn scaled(&self, decimals: i64) -> u64 {
        let digits = self.whole.bytes().chain(self.fraction.bytes());
        let leading = digits.clone().take_while(|byte| *byte == b'0').count();
        let mut digits = digits.skip(leading).peekable();
        if digits.peek().is_none() {
            return 0;
        }
        // How many of the remaining digits stand before the point once it has moved.
        let before = length(self.whole)
            .saturating_sub(i64::try_from(leading).unwrap_or(i64::MAX))
            .saturating_add(self.exponent)
            .saturating_add(decimals);
        if before > 20 {
            return u64::MAX;
        }
        let mut value = 0u64;
        for _ in 0..before {
            let next = digits.next().map_or(0, digit);
            value = value.saturating_mul(10).saturating_add(next.unsigned_abs());
        }
        if digits.any(|byte| byte != b'0') { value.saturating_add(1) } else { value }
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn digit(byte: u8) -> i64 {
    i64::from(byte & 0x0f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d25_amounts_are_read_exactly_and_rounded_up() {
        for (text, decimals, ms) in [
            ("0", 3, 0),
            ("-0", 3, 0),
            ("-0.000e5", 3, 0),
            ("007", 3, 7_000),
            ("1712.5", 3, 1_712_500),
            ("1.7e9", 3, 1_700_000_000_000),
            ("1.7E+9", 3, 1_700_000_000_000),
            ("17000e-4", 3, 1_700),
            ("0.0001", 3, 1),
            ("0.001", 3, 1),
            ("0.0010000000000000000000001", 3, 2),
            ("1e-999999999999999999999999", 3, 1),
            ("0e999999999999999999999999", 3, 0),
            ("1e999999999999999999999999", 3, u64::MAX),
            ("0.000000000000000000000000000012e31", 0, 120),
            ("1.2", 0, 2),
            ("9007199254740993", 0, 9_007_199_254_740_993),
            ("18446744073709551614", 0, u64::MAX - 1),
            ("18446744073709551616", 0, u64::MAX),
            ("99999999999999999999999", 3, u64::MAX),
        ] {
            assert_eq!(amount(text, decimals), Amount::Ms(ms), "{text}");
        }
    }

    #[test]
    fn d25_nothing_lenient_is_a_number() {
        for text in [
            "",
            " 1",
            "1 ",
            "+1",
            "-",
            "--1",
            ".5",
            "5.",
            "1.e3",
            "e3",
            "1e",
            "1e+",
            "1e+-3",
            "1e3.5",
            "0x10",
            "1_000",
            "1,000",
            "NaN",
            "Infinity",
            "-Infinity",
            "inf",
            "١٢",
            "1s",
            "1.2.3",
        ] {
            assert_eq!(amount(text, 3), Amount::NotANumber, "{text}");
        }
        for text in ["-1", "-0.0001", "-1e-99999"] {
            assert_eq!(amount(text, 3), Amount::Negative, "{text}");
        }
    }
}
