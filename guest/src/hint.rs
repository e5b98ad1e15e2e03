//! Reading one piece of guidance (D24, D25): by its grammar on the whole value, nothing lenient, no floats.

use crate::{
    contract::{Hint, HintUnit, Place, TimeFormat},
    observation::Seen,
    time::{Amount, Instant, Moment, NOT_HTTP_DATE, amount},
};

/// What one guidance value says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Not before this instant. An amount beyond all measure is the last instant there is, which every `max_hint` finds
    /// absurd.
    At(Instant),
    /// Zero, past, or null: no guidance.
    None,
    /// Not by the grammar, and why; the backoff is used.
    Rejected(&'static str),
}

/// Reads a `Retry-After` (RFC 9110 section 10.2.3): digits count seconds from `received`; else it is an HTTP-date, in any of
/// the three forms. Blanks around the value are not part of it (section 5.5).
pub fn retry_after(value: &str, received: Instant) -> Reading {
    let value = trim(value);
    // Only digits count here: a fraction or an exponent is no delta, though it may be a number elsewhere.
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return delay(value, 3, received);
    }
    if value.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())) {
        return Reading::Rejected("negative");
    }
    moment(Moment::http_date(value, received).map_err(|why| if why == NOT_HTTP_DATE { NEITHER } else { why }), received)
}

const NEITHER: &str = "neither digits nor an HTTP date";

/// Reads what a contract's hint found. A delay counts from `received`; fractions of a millisecond are rounded up (D24:
/// rounding only ever adds). A number may stand as a JSON number or as a text; a time in words only as a text.
pub fn hint(hint: &Hint, seen: &Seen, received: Instant) -> Reading {
    let (text, is_text) = match seen {
        Seen::Null => return Reading::None,
        Seen::Repeated(_) => return Reading::Rejected("stands twice"),
        Seen::Long { .. } => return Reading::Rejected("too long"),
        Seen::Number(text) => (text.as_str(), false),
        // A header's blanks are not part of its value; a JSON text is whole.
        Seen::Text(text) if matches!(hint.place, Place::Header(_)) => (trim(text), true),
        Seen::Text(text) => (text.as_str(), true),
        Seen::Bool(_) | Seen::Array(_) | Seen::Object(_) | Seen::Reference(_) => {
            return Reading::Rejected("wrong type");
        }
    };
    match hint.unit {
        HintUnit::S => delay(text, 3, received),
        HintUnit::Ms => delay(text, 0, received),
        HintUnit::Time(TimeFormat::EpochS) => epoch(text, 3, received),
        HintUnit::Time(TimeFormat::EpochMs) => epoch(text, 0, received),
        HintUnit::Time(TimeFormat::Rfc3339 | TimeFormat::HttpDate) if !is_text => Reading::Rejected("not a text"),
        HintUnit::Time(TimeFormat::Rfc3339) => moment(Moment::rfc3339(text), received),
        HintUnit::Time(TimeFormat::HttpDate) => moment(Moment::http_date(text, received), received),
    }
}

fn delay(text: &str, decimals: i64, received: Instant) -> Reading {
    match amount(text, decimals) {
        Amount::Ms(ms) => later(received.plus(ms), received),
        Amount::Negative => Reading::Rejected("negative"),
        Amount::NotANumber => Reading::Rejected("not a number"),
    }
}

fn epoch(text: &str, decimals: i64, received: Instant) -> Reading {
    match amount(text, decimals) {
        Amount::Ms(ms) => later(Instant::EPOCH.plus(ms), received),
        Amount::Negative => Reading::Rejected("negative"),
        Amount::NotANumber => Reading::Rejected("not a number"),
    }
}

fn moment(moment: Result<Moment, &'static str>, received: Instant) -> Reading {
    match moment {
        Ok(moment) => later(moment.up(), received),
        Err(why) => Reading::Rejected(why),
    }
}

fn later(at: Instant, received: Instant) -> Reading {
    if at > received { Reading::At(at) } else { Reading::None }
}

/// Without optional white space around it (RFC 9110 section 5.6.3).
fn trim(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use alloc::{string::String, vec::Vec};

    use super::*;
    use crate::{contract::HintKind, limits::INSTANT_MAX, pointer::Pointer};

    fn at(text: &str) -> Instant {
        Instant::parse_rfc3339(text).unwrap()
    }

    fn received() -> Instant {
        at("2025-04-18T10:20:00.000Z")
    }

    fn after(ms: u64) -> Reading {
        Reading::At(received().plus(ms))
    }

    fn is_rejected(reading: Reading) -> bool {
        matches!(reading, Reading::Rejected(_))
    }

    fn read(unit: HintUnit, seen: Seen) -> Reading {
        let place = Place::At(Pointer::parse("/x").unwrap());
        hint(&Hint { place, unit, kind: HintKind::Delay, code: None }, &seen, received())
    }

    fn number(unit: HintUnit, text: &str) -> Reading {
        read(unit, Seen::Number(text.into()))
    }

    fn words(unit: HintUnit, text: &str) -> Reading {
        read(unit, Seen::Text(text.into()))
    }

    #[test]
    fn d24_retry_after_is_digits_or_a_date() {
        for (value, reading) in [
            ("120", after(120_000)),
            (" \t120 ", after(120_000)),
            ("007", after(7_000)),
            ("0", Reading::None),
            ("000", Reading::None),
            ("Fri, 18 Apr 2025 10:22:00 GMT", after(120_000)),
            ("Friday, 18-Apr-25 10:22:00 GMT", after(120_000)),
            ("Fri Apr 18 10:22:00 2025", after(120_000)),
            ("Fri, 18 Apr 2025 10:20:00 GMT", Reading::None),
            ("Fri, 18 Apr 2025 10:19:59 GMT", Reading::None),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Reading::None),
            ("Mon, 01 Jan 0001 00:00:00 GMT", Reading::None),
            ("Fri, 31 Dec 9999 23:59:60 GMT", Reading::At(Instant::EPOCH.plus(INSTANT_MAX))),
            ("18446744073709551616", Reading::At(Instant::EPOCH.plus(INSTANT_MAX))),
            ("999999999999999999999999999999", Reading::At(Instant::EPOCH.plus(INSTANT_MAX))),
        ] {
            assert_eq!(retry_after(value, received()), reading, "{value}");
        }
    }

    #[test]
    fn d25_nothing_lenient_is_a_retry_after() {
        for value in [
            "",
            " ",
            "-1",
            "-",
            "+120",
            "120s",
            "120 s",
            "1 2",
            "1.5",
            "1e3",
            "0x10",
            "1_000",
            "1,000",
            "120, 120",
            "120;",
            "\"120\"",
            "NaN",
            "Infinity",
            "soon",
            "\n120",
            "120\u{a0}",
            "１２０",
            "2025-04-18T10:22:00Z",
            "Fri, 18 Apr 2025 10:22:00",
            "Fri, 31 Apr 2025 10:22:00 GMT",
            "fri, 18 apr 2025 10:22:00 gmt",
            "Fri, 18 Apr 2025 10:22:00 +0000",
        ] {
            assert!(is_rejected(retry_after(value, received())), "{value:?}");
        }
        assert_eq!(retry_after("-120", received()), Reading::Rejected("negative"));
        assert_eq!(retry_after("soon", received()), Reading::Rejected(NEITHER));
        assert_eq!(
            retry_after("Fri, 31 Apr 2025 10:22:00 GMT", received()),
            Reading::Rejected("a date that does not exist")
        );
    }

    #[test]
    fn d24_amounts_are_rounded_up_to_milliseconds() {
        for (unit, text, reading) in [
            (HintUnit::S, "30", after(30_000)),
            (HintUnit::S, "1712.5", after(1_712_500)),
            (HintUnit::S, "0.0001", after(1)),
            (HintUnit::S, "1.0001", after(1_001)),
            (HintUnit::S, "1.7e3", after(1_700_000)),
            (HintUnit::S, "1e-400", after(1)),
            (HintUnit::S, "1e400", Reading::At(Instant::EPOCH.plus(INSTANT_MAX))),
            (HintUnit::S, "0", Reading::None),
            (HintUnit::S, "-0", Reading::None),
            (HintUnit::S, "-0.001", Reading::Rejected("negative")),
            (HintUnit::Ms, "1500", after(1_500)),
            (HintUnit::Ms, "1.5", after(2)),
            (HintUnit::Ms, "1.5e3", after(1_500)),
        ] {
            assert_eq!(number(unit, text), reading, "{text}");
            assert_eq!(words(unit, text), reading, "as a text: {text}");
        }
        for text in
            ["", " 5", "5 ", "+5", "5s", "NaN", "Infinity", "-Infinity", "inf", "0x5", "1,5", ".5", "5.", "five"]
        {
            assert_eq!(words(HintUnit::S, text), Reading::Rejected("not a number"), "{text}");
        }
    }

    #[test]
    fn d24_times_are_absolute_and_rounded_up() {
        let rfc = HintUnit::Time(TimeFormat::Rfc3339);
        assert_eq!(words(rfc, "2025-04-18T10:22:00Z"), after(120_000));
        assert_eq!(words(rfc, "2025-04-18T12:22:00.0000001+02:00"), after(120_001));
        assert_eq!(words(rfc, "2025-04-18T10:20:00Z"), Reading::None);
        assert_eq!(words(rfc, "0001-01-01T00:00:00Z"), Reading::None);
        assert!(is_rejected(words(rfc, "2025-04-18 10:22:00Z")));
        assert!(is_rejected(words(rfc, " 2025-04-18T10:22:00Z")));
        assert!(is_rejected(words(rfc, "2025-04-31T10:22:00Z")));
        assert_eq!(number(rfc, "2025"), Reading::Rejected("not a text"));
        let http = HintUnit::Time(TimeFormat::HttpDate);
        assert_eq!(words(http, "Fri, 18 Apr 2025 10:22:00 GMT"), after(120_000));
        assert!(is_rejected(words(http, "120")));
        let (s, ms) = (HintUnit::Time(TimeFormat::EpochS), HintUnit::Time(TimeFormat::EpochMs));
        assert_eq!(number(s, "1744971720"), after(120_000));
        assert_eq!(number(s, "1.744971720e9"), after(120_000));
        assert_eq!(number(s, "1744971720.0001"), after(120_001));
        assert_eq!(words(s, "1744971720"), after(120_000));
        assert_eq!(number(ms, "1744971720000"), after(120_000));
        assert_eq!(number(s, "1744971600"), Reading::None);
        assert_eq!(number(s, "0"), Reading::None);
        assert_eq!(number(s, "-1744971720"), Reading::Rejected("negative"));
        assert_eq!(number(s, "1744971720000000"), Reading::At(Instant::EPOCH.plus(INSTANT_MAX)));
    }

    #[test]
    fn d25_other_types_and_repeated_headers_are_no_guidance() {
        let twice = Seen::Repeated(Vec::from([String::from("5"), String::from("5")]));
        assert_eq!(read(HintUnit::S, twice), Reading::Rejected("stands twice"));
        assert_eq!(read(HintUnit::S, Seen::Null), Reading::None);
        for seen in [
            Seen::Bool(true),
            Seen::Array(1),
            Seen::Object(0),
            Seen::Long { bytes: 300, sha256: String::new(), number: false },
        ] {
            assert!(is_rejected(read(HintUnit::S, seen)));
        }
    }

    #[test]
    fn rfc_9110_only_a_headers_value_is_trimmed() {
        let header =
            Hint { place: Place::Header("x-poll".into()), unit: HintUnit::S, kind: HintKind::Delay, code: None };
        assert_eq!(hint(&header, &Seen::Text(" 5\t".into()), received()), after(5_000));
        assert_eq!(hint(&header, &Seen::Text("\u{a0}5".into()), received()), Reading::Rejected("not a number"));
        assert_eq!(words(HintUnit::S, " 5"), Reading::Rejected("not a number"));
    }
}
