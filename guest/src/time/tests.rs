use alloc::string::ToString;

use super::*;

fn ms(text: &str) -> Result<u64, &'static str> {
    Instant::parse_rfc3339(text).map(Instant::ms)
}

#[test]
fn rfc_3339_times_are_read() {
    for (text, expected) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2025-04-18T10:20:00.000Z", 1_744_971_600_000),
        ("2025-04-18t10:20:00z", 1_744_971_600_000),
        ("2025-04-18T10:20:00.1Z", 1_744_971_600_100),
        ("2025-04-18T10:20:00.1239Z", 1_744_971_600_123),
        ("2025-04-18T10:20:00.999999999Z", 1_744_971_600_999),
        ("2025-04-18T12:50:00+02:30", 1_744_971_600_000),
        ("2025-04-18T10:20:00-00:00", 1_744_971_600_000),
        ("1969-12-31T23:30:00-00:30", 0),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("9999-12-31T23:59:59.999Z", INSTANT_MAX),
        ("2016-12-31T23:59:60Z", 1_483_228_799_999),
        ("2016-12-31T23:59:60.5Z", 1_483_228_799_999),
        ("2016-12-31T15:59:60-08:00", 1_483_228_799_999),
    ] {
        assert_eq!(ms(text), Ok(expected), "{text}");
    }
}

#[test]
fn d25_near_misses_are_not_rfc_3339() {
    for text in [
        "",
        "2025-04-18",
        "2025-04-18T10:20Z",
        "2025-04-18T10:20:00",
        "2025-04-18 10:20:00Z",
        "2025-04-18_10:20:00Z",
        " 2025-04-18T10:20:00Z",
        "2025-04-18T10:20:00Z ",
        "2025-04-18T10:20:00 Z",
        "2025-4-18T10:20:00Z",
        "20250418T102000Z",
        "2025-04-18T10:20:00.Z",
        "2025-04-18T10:20:00,5Z",
        "2025-04-18T10:20:00.0000000000Z",
        "2025-04-18T10:20:00+0200",
        "2025-04-18T10:20:00+02",
        "2025-04-18T10:20:00+24:00",
        "2025-04-18T10:20:00+02:60",
        "2025-04-18T10:20:00\u{2212}02:00",
        "2025-04-18T10:20:00ZZ",
        "2025-04-18T10:20:00UTC",
        "+2025-04-18T10:20:00Z",
        "12025-04-18T10:20:00Z",
        "2025-04-18T24:00:00Z",
        "2025-04-18T10:60:00Z",
        "2025-04-18T10:20:61Z",
        "2025-04-18T10:20:60Z",
        "2025-04-18T23:59:60+01:00",
        "2025-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2025-04-31T00:00:00Z",
        "2025-00-01T00:00:00Z",
        "2025-13-01T00:00:00Z",
        "2025-01-00T00:00:00Z",
        "2025-02-29T00:00:00.000Z",
        "2025-04-18T10:20:0٠.000Z",
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
    ] {
        assert!(ms(text).is_err(), "{text}");
    }
}

#[test]
fn every_instant_reads_back_as_itself() {
    let mut at = 0u64;
    while at <= INSTANT_MAX {
        let instant = Instant::from_ms(at).unwrap();
        let text = instant.to_string();
        assert_eq!(text.len(), 24);
        assert_eq!(canonical(text.as_bytes()), Some(instant), "the fast reader: {text}");
        assert_eq!(Moment::rfc3339(&text).unwrap().down(), Ok(instant), "the full reader: {text}");
        let json = serde_json::to_string(&instant).unwrap();
        assert_eq!(serde_json::from_str::<Instant>(&json).unwrap(), instant);
        // About 27 years, and no multiple of anything.
        at += 86_400_000 * 97 + 3_723_456;
    }
    assert_eq!(Instant::from_ms(INSTANT_MAX).unwrap().to_string(), "9999-12-31T23:59:59.999Z");
    assert_eq!(Instant::from_ms(INSTANT_MAX + 1), None);
    assert!(serde_json::from_str::<Instant>("1744971600000").is_err());
    assert_eq!(serde_json::from_str::<Instant>(r#""2025-04-18T10:20:00\u005a""#).unwrap().ms(), 1_744_971_600_000);
}

#[test]
fn arithmetic_stops_at_the_ends() {
    let (first, last) = (Instant::from_ms(0).unwrap(), Instant::from_ms(INSTANT_MAX).unwrap());
    assert_eq!(first.plus(u64::MAX), last);
    assert_eq!(last.plus(1), last);
    assert_eq!(first.since(last), 0);
    assert_eq!(last.since(first), INSTANT_MAX);
    assert_eq!(first.plus(37_231_500).hms(), "10:20:31");
}

#[test]
fn d24_guidance_is_rounded_up_and_never_fails_on_its_range() {
    let up = |text| Moment::rfc3339(text).unwrap().up().ms();
    assert_eq!(up("2025-04-18T10:20:00.123Z"), 1_744_971_600_123);
    assert_eq!(up("2025-04-18T10:20:00.123000001Z"), 1_744_971_600_124);
    assert_eq!(up("2016-12-31T23:59:60Z"), 1_483_228_800_000);
    assert_eq!(up("0001-01-01T00:00:00Z"), 0);
    assert_eq!(up("9999-12-31T23:59:59.9999Z"), INSTANT_MAX);
    assert_eq!(up("9999-12-31T23:59:59-12:00"), INSTANT_MAX);
}

#[test]
fn d25_epochs_are_read_by_their_decimal_text() {
    let s = |text| Instant::parse_epoch_s(text).map(Instant::ms);
    assert_eq!(s("1744971600"), Ok(1_744_971_600_000));
    assert_eq!(s("1712.5"), Ok(1_712_500));
    assert_eq!(s("1.7e9"), Ok(1_700_000_000_000));
    assert_eq!(s("1.7449716001239e9"), Ok(1_744_971_600_124));
    assert_eq!(s("0"), Ok(0));
    assert_eq!(s("253402300799.999"), Ok(INSTANT_MAX));
    assert_eq!(Instant::parse_epoch_ms("1744971600000.1").map(Instant::ms), Ok(1_744_971_600_001));
    for text in ["253402300800", "1e400", "-1", "-1e-9", "", "1 ", "NaN", "0x1", "1744971600Z"] {
        assert!(s(text).is_err(), "{text}");
    }
}
