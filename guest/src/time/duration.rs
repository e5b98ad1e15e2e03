//! Durations as people write them in contracts and openings: `1h30m`.

use alloc::string::String;
use core::fmt::Write;

use super::scan::Scan;
use crate::limits::DURATION_MAX;

/// Units and their milliseconds, longest first: the order in which they are written.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads `1500ms`, `5s`, `40m`, `1h30m`, `30d`; gives milliseconds, at most [`DURATION_MAX`].
///
/// Whole numbers without leading zeros, each with a unit of `d h m s ms`, from the longest to the shortest, each at most
/// once; no sign, no fraction, no space. `0s` is a duration.
///
/// # Errors
/// What is wrong with it.
pub fn parse_duration(text: &str) -> Result<u64, &'static str> {
    const SHAPE: &str = "a duration is written like `90s`, `1h30m` or `30d`";
    let mut scan = Scan::new(text);
    let mut units = UNITS.iter();
    let mut total = 0u64;
    if scan.is_empty() {
        return Err(SHAPE);
    }
    while !scan.is_empty() {
        let digits = scan.run(u8::is_ascii_digit);
        let unit = scan.run(u8::is_ascii_alphabetic);
        if digits.is_empty() || unit.is_empty() {
            return Err(SHAPE);
        }
        if digits.len() > 1 && digits.starts_with(b"0") {
            return Err("a number in a duration has no leading zero");
        }
        if !UNITS.iter().any(|(name, _)| name.as_bytes() == unit) {
            return Err("the units of a duration are `d`, `h`, `m`, `s` and `ms`");
        }
        let Some((_, size)) = units.find(|(name, _)| name.as_bytes() == unit) else {
            return Err("the units of a duration go from the longest to the shortest, each once");
        };
        total = digits
            .iter()
            .try_fold(0u64, |value, byte| value.checked_mul(10)?.checked_add(u64::from(byte & 0x0f)))
            .and_then(|count| count.checked_mul(*size)?.checked_add(total))
            .filter(|ms| *ms <= DURATION_MAX)
            .ok_or("a duration is at most 36600d")?;
    }
    Ok(total)
}

/// Writes milliseconds in the form that [`parse_duration`] reads, in as few units as are needed: `1h30m`, `0s`.
pub fn format_duration(ms: u64) -> String {
    let mut out = String::new();
    let mut rest = ms;
    for (name, size) in UNITS {
        let count = rest.checked_div(size).unwrap_or(0);
        rest = rest.checked_rem(size).unwrap_or(0);
        if count > 0 {
            // INVARIANT: writing to a String does not fail.
            let _ = write!(out, "{count}{name}");
        }
    }
    if out.is_empty() {
        out.push_str("0s");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, ms) in [
            ("0s", 0),
            ("0d", 0),
            ("1500ms", 1_500),
            ("5s", 5_000),
            ("40m", 2_400_000),
            ("2h", 7_200_000),
            ("1h30m", 5_400_000),
            ("30d", 2_592_000_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("1m1ms", 60_001),
            ("90m", 5_400_000),
            ("36600d", DURATION_MAX),
        ] {
            assert_eq!(parse_duration(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn near_misses_are_not_durations() {
        for text in [
            "",
            "5",
            "s",
            "-5s",
            "+5s",
            "5 s",
            " 5s",
            "5s ",
            "1.5h",
            "5S",
            "5sec",
            "5m5m",
            "5s5m",
            "5ms5s",
            "1h 30m",
            "05s",
            "00s",
            "1w",
            "1us",
            "1m1",
            "PT5S",
            "5µs",
            "٥s",
            "36601d",
            "36600d1ms",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut ms = 1u64;
        while ms <= DURATION_MAX {
            for near in [ms - 1, ms, ms + 1] {
                assert_eq!(parse_duration(&format_duration(near)), Ok(near));
            }
            ms = ms * 17 / 13 + 1;
        }
        assert_eq!(format_duration(DURATION_MAX), "36600d");
        assert_eq!(format_duration(5_400_000), "1h30m");
        assert_eq!(format_duration(0), "0s");
        assert_eq!(format_duration(61_001), "1m1s1ms");
    }
}
