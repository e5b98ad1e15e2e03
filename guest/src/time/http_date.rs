//! HTTP-date (RFC 9110 section 5.6.7), by its grammar: all three forms, case-sensitive, GMT only.

use chrono::Datelike;

use super::{Civil, Instant, Moment, scan::Scan};

/// Why a text of another shape is refused.
pub(crate) const NOT_HTTP_DATE: &str = "not an HTTP date";
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LONG_DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads one HTTP-date. `now` gives the century of the two-digit year.
pub(super) fn parse(text: &str, now: Instant) -> Result<Moment, &'static str> {
    let civil = fixdate(text).or_else(|| asctime(text)).or_else(|| rfc850(text, now)).ok_or(NOT_HTTP_DATE)?;
    civil.moment()
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn fixdate(text: &str) -> Option<Civil> {
    let mut scan = Scan::new(text);
    scan.word(&DAYS)?;
    scan.eat(", ")?;
    let day = scan.digits(2)?;
    scan.eat(" ")?;
    let month = scan.word(&MONTHS)?;
    scan.eat(" ")?;
    let year = scan.digits(4)?;
    scan.eat(" ")?;
    let civil = time_of_day(&mut scan, Civil { year, month, day, ..Civil::default() })?;
    scan.eat(" GMT")?;
    scan.is_empty().then_some(civil)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &str) -> Option<Civil> {
    let mut scan = Scan::new(text);
    scan.word(&DAYS)?;
    scan.eat(" ")?;
    let month = scan.word(&MONTHS)?;
    scan.eat(" ")?;
    let day = if scan.eat(" ").is_some() { scan.digits(1)? } else { scan.digits(2)? };
    scan.eat(" ")?;
    let civil = time_of_day(&mut scan, Civil { month, day, ..Civil::default() })?;
    scan.eat(" ")?;
    let year = scan.digits(4)?;
    scan.is_empty().then_some(Civil { year, ..civil })
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850(text: &str, now: Instant) -> Option<Civil> {
    let mut scan = Scan::new(text);
    scan.word(&LONG_DAYS)?;
    scan.eat(", ")?;
    let day = scan.digits(2)?;
    scan.eat("-")?;
    let month = scan.word(&MONTHS)?;
    scan.eat("-")?;
    let short_year = scan.digits(2)?;
    scan.eat(" ")?;
    let civil = time_of_day(&mut scan, Civil { month, day, ..Civil::default() })?;
    scan.eat(" GMT")?;
    scan.is_empty().then(|| Civil { year: full_year(short_year, &civil, now), ..civil })
}

/// The latest year with these last two digits that is not more than fifty years after `now`.
fn full_year(short_year: u32, civil: &Civil, now: Instant) -> u32 {
    let today = now.date();
    let this_year = today.year_ce().1;
    let second = civil.second.min(59);
    let within_year = (civil.month, civil.day, civil.hour, civil.minute, second, 0);
    let (hour, minute, now_second, ms) = now.time_of_day();
    let limit_within_year = (today.month(), today.day(), hour, minute, now_second, ms);
    let limit = (this_year.saturating_add(50), limit_within_year);
    let century = this_year.saturating_sub(this_year % 100);
    let next = century.saturating_add(100).saturating_add(short_year);
    [next, next.saturating_sub(100)]
        .into_iter()
        .find(|year| (*year, within_year) <= limit)
        .unwrap_or(next.saturating_sub(200))
}

fn time_of_day(scan: &mut Scan<'_>, date: Civil) -> Option<Civil> {
    let hour = scan.digits(2)?;
    scan.eat(":")?;
    let minute = scan.digits(2)?;
    scan.eat(":")?;
    let second = scan.digits(2)?;
    Some(Civil { hour, minute, second, ..date })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Instant {
        Instant::parse_rfc3339(text).unwrap()
    }

    fn read(text: &str) -> Result<Instant, &'static str> {
        Instant::parse_http_date(text, at("2025-04-18T10:20:00Z"))
    }

    #[test]
    fn rfc_9110_all_three_forms_are_read() {
        let expected = at("1994-11-06T08:49:37Z");
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun Nov 06 08:49:37 1994",
            // D25: the weekday must be one, not the right one.
            "Mon, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        assert_eq!(read("Thu, 01 Jan 1970 00:00:00 GMT").map(Instant::ms), Ok(0));
        assert_eq!(read("Sat, 31 Dec 2016 23:59:60 GMT"), Ok(at("2016-12-31T23:59:59.999Z")));
    }

    #[test]
    fn d25_near_misses_are_not_http_dates() {
        for text in [
            "",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 gmt",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 EST",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            " Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06  Nov 1994 08:49:37 GMT",
            "Sun,06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT",
            "sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 NOV 1994 08:49:37 GMT",
            "Son, 06 Nov 1994 08:49:37 GMT",
            "06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1994 08:49:60 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 31 Feb 2025 08:49:37 GMT",
            "Sun, 29 Feb 2025 08:49:37 GMT",
            "Sun, 29 Feb 2100 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Sun Nov   6 08:49:37 1994",
            "Sun Nov  6 08:49:37 1994 GMT",
            "Sun, Nov  6 08:49:37 1994",
            "Sun Nov  6 08:49:37 94",
            "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
            "120",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rfc_9110_two_digit_years_lie_at_most_fifty_years_ahead() {
        for (now, text, expected) in [
            ("2025-04-18T10:20:00Z", "Sunday, 18-Apr-75 10:20:00 GMT", "2075-04-18T10:20:00Z"),
            ("2025-04-18T10:20:00Z", "Sunday, 18-Apr-75 10:20:01 GMT", "1975-04-18T10:20:01Z"),
            ("2025-04-18T10:20:00Z", "Sunday, 18-Apr-25 10:20:01 GMT", "2025-04-18T10:20:01Z"),
            ("2025-04-18T10:20:00Z", "Sunday, 18-Apr-24 10:20:01 GMT", "2024-04-18T10:20:01Z"),
            ("2025-04-18T10:20:00Z", "Sunday, 18-Apr-76 10:20:01 GMT", "1976-04-18T10:20:01Z"),
            ("2090-01-01T00:00:00Z", "Sunday, 18-Apr-10 10:20:01 GMT", "2110-04-18T10:20:01Z"),
            ("2099-12-31T23:59:59Z", "Sunday, 01-Jan-00 00:00:01 GMT", "2100-01-01T00:00:01Z"),
            ("2000-01-01T00:00:00Z", "Sunday, 31-Dec-99 23:59:59 GMT", "1999-12-31T23:59:59Z"),
        ] {
            assert_eq!(Instant::parse_http_date(text, at(now)), Ok(at(expected)), "{now} {text}");
        }
        assert!(Instant::parse_http_date("Sunday, 29-Feb-94 00:00:00 GMT", at("2025-01-01T00:00:00Z")).is_err());
    }
}
