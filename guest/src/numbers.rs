//! JSON numbers compared by their decimal text: exact, without floating point (D14, D25).

use alloc::{string::String, vec::Vec};
use core::cmp::Ordering;

/// Exponents beyond this are taken as this: far past what any text that is kept can make up for.
const EXPONENT_MAX: i64 = 1_000_000_000_000;

/// `0.d1d2d3... * 10^point`, without leading or trailing zeros; no digits at all is zero.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

/// Compares two JSON numbers by value: `2`, `2.0` and `20e-1` are equal. `None` where one isn't a JSON number's text.
pub(crate) fn compare(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (Decimal::parse(a)?, Decimal::parse(b)?);
    Some(match (a.sign(), b.sign()) {
        (1, 1) => a.magnitude(&b),
        (-1, -1) => b.magnitude(&a),
        (a, b) => a.cmp(&b),
    })
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        if !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let digits = [whole, fraction].concat();
        let significant = digits.trim_start_matches('0');
        let leading = i64::try_from(digits.len().checked_sub(significant.len())?).ok()?;
        let point = i64::try_from(whole.len()).ok()?.checked_sub(leading)?.checked_add(exponent)?;
        let digits = String::from(significant.trim_end_matches('0')).into_bytes();
        Some(if digits.is_empty() {
            Decimal { negative: false, digits, point: 0 }
        } else {
            Decimal { negative, digits, point }
        })
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn magnitude(&self, other: &Decimal) -> Ordering {
        self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits))
    }
}

fn exponent_of(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !all_digits(digits) {
        return None;
    }
    // Only too many digits can fail here.
    let size = digits.parse::<i64>().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    if negative { size.checked_neg() } else { Some(size) }
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d14_numbers_compare_by_value_without_a_double() {
        let ascending = [
            "-1e400",
            "-9007199254740993",
            "-9007199254740992.5",
            "-2",
            "-0.1",
            "0",
            "1e-400",
            "0.5",
            "1",
            "1.0001",
            "9",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "1e99999999999999999999",
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(a, b), Some(i.cmp(&j)), "{a} {b}");
            }
        }
        for (a, b) in [("20", "20.0"), ("2e1", "20"), ("-0", "0"), ("0e5", "0.000"), ("0.05e2", "5")] {
            assert_eq!(compare(a, b), Some(Ordering::Equal), "{a} {b}");
        }
    }

    #[test]
    fn d25_what_is_no_number_compares_with_nothing() {
        for bad in ["", "-", "+1", "1.", ".5", "1e", "NaN", "Infinity", "0x1", " 1", "1 "] {
            assert_eq!(compare(bad, "1"), None, "{bad}");
        }
    }
}
