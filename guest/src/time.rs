//! Instants and durations: whole milliseconds, read strictly and written in one way (D17, D25).

mod decimal;
mod duration;
mod http_date;
mod scan;

use alloc::string::String;
use core::fmt;

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub(crate) use decimal::{Amount, amount};
pub use duration::{format_duration, parse_duration};
pub(crate) use http_date::NOT_HTTP_DATE;

use crate::limits::INSTANT_MAX;
use scan::{Scan, number};

const DAY_MS: u64 = 86_400_000;
/// Days from 0001-01-01, counted as one, to 1970-01-01.
const EPOCH_DAY: i32 = 719_163;
const BEFORE: &str = "a time before 1970";
const AFTER: &str = "a time after 9999";

/// A point in time: milliseconds since 1970-01-01T00:00:00Z, at most [`INSTANT_MAX`].
///
/// In JSON it is RFC 3339 text; it is written as [`fmt::Display`] writes it and read by [`Instant::parse_rfc3339`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Instant = Instant(0);

    /// The instant so many milliseconds after the epoch; `None` after the year 9999.
    pub fn from_ms(ms: u64) -> Option<Instant> {
        (ms <= INSTANT_MAX).then_some(Instant(ms))
    }

    /// Milliseconds since the epoch.
    pub fn ms(self) -> u64 {
        self.0
    }

    /// The instant `ms` milliseconds later; the last one there is, where that would be after the year 9999.
    #[must_use]
    pub fn plus(self, ms: u64) -> Instant {
        Instant(self.0.saturating_add(ms).min(INSTANT_MAX))
    }

    /// Milliseconds since `earlier`; 0 where that is later.
    pub fn since(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Reads an RFC 3339 `date-time` (section 5.6), and nothing more lenient: `T` and `Z` in either case, an offset, a
    /// fraction of 1 to 9 digits; no space for the `T`, ASCII only, real dates. A fraction is cut to milliseconds
    /// (guidance is rounded up instead, D24). A leap second (23:59:60 in UTC) is the last millisecond before
    /// midnight.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_rfc3339(text: &str) -> Result<Instant, &'static str> {
        match canonical(text.as_bytes()) {
            Some(instant) => Ok(instant),
            None => Moment::rfc3339(text)?.down(),
        }
    }

    /// Reads an HTTP-date in any of its three forms (RFC 9110 section 5.6.7), case-sensitive. The weekday must be one, but
    /// not the right one (D25). Of the years with two digits, that of the RFC: not more than fifty years after `now`. A leap
    /// second is the last millisecond before midnight.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_http_date(text: &str, now: Instant) -> Result<Instant, &'static str> {
        Moment::http_date(text, now)?.down()
    }

    /// Reads seconds since the epoch from a JSON number's text or a text of digits, exactly, rounded up to milliseconds
    /// (D25).
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_epoch_s(text: &str) -> Result<Instant, &'static str> {
        epoch(text, 3)
    }

    /// Reads milliseconds since the epoch, like [`Instant::parse_epoch_s`].
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_epoch_ms(text: &str) -> Result<Instant, &'static str> {
        epoch(text, 0)
    }

    /// The time of day in UTC, for the story (D49): `10:20:31`.
    pub fn hms(self) -> String {
        let (hour, minute, second, _) = self.time_of_day();
        alloc::format!("{hour:02}:{minute:02}:{second:02}")
    }

    fn date(self) -> NaiveDate {
        // INVARIANT (instant-range): at most INSTANT_MAX, so the day is one that chrono knows.
        i32::try_from(self.0 / DAY_MS)
            .ok()
            .and_then(|days| NaiveDate::from_num_days_from_ce_opt(days.checked_add(EPOCH_DAY)?))
            .unwrap_or_default()
    }

    /// Hour, minute, second, millisecond.
    fn time_of_day(self) -> (u32, u32, u32, u32) {
        // INVARIANT: below a day's milliseconds, so it fits.
        let ms = u32::try_from(self.0 % DAY_MS).unwrap_or(0);
        (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000)
    }

    /// The canonical text, in ASCII.
    fn text(self) -> [u8; 24] {
        let date = self.date();
        let year = date.year_ce().1;
        let (hour, minute, second, ms) = self.time_of_day();
        let ([c1, c2], [y1, y2]) = (two(year / 100), two(year % 100));
        let ([m1, m2], [d1, d2]) = (two(date.month()), two(date.day()));
        let ([h1, h2], [i1, i2], [s1, s2]) = (two(hour), two(minute), two(second));
        let ([_, f1], [f2, f3]) = (two(ms / 100), two(ms % 100));
        [c1, c2, y1, y2, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', i1, i2, b':', s1, s2, b'.', f1, f2, f3, b'Z']
    }
}

/// Two ASCII digits of a number below 100.
fn two(number: u32) -> [u8; 2] {
    let number = u8::try_from(number).unwrap_or(0);
    [b'0' | (number / 10), b'0' | (number % 10)]
}

/// The form that this crate writes, `2025-04-18T10:20:00.000Z`: every time of a record is read on every step.
fn canonical(bytes: &[u8]) -> Option<Instant> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', i1, i2, b':', s1, s2, b'.', f1, f2, f3, b'Z'] =
        bytes
    else {
        return None;
    };
    let civil = Civil {
        year: number(&[y1, y2, y3, y4])?,
        month: number(&[m1, m2])?,
        day: number(&[d1, d2])?,
        hour: number(&[h1, h2])?,
        minute: number(&[i1, i2])?,
        second: number(&[s1, s2])?,
        ms: number(&[f1, f2, f3])?,
        ..Civil::default()
    };
    civil.moment().ok()?.down().ok()
}

fn epoch(text: &str, decimals: i64) -> Result<Instant, &'static str> {
    match amount(text, decimals) {
        Amount::Ms(ms) => Instant::from_ms(ms).ok_or(AFTER),
        Amount::Negative => Err(BEFORE),
        Amount::NotANumber => Err("not a number"),
    }
}

/// A time as it was written, before it is judged.
#[derive(Debug, Clone, Copy, Default)]
struct Civil {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    ms: u32,
    /// Something smaller than a millisecond was written.
    cut: bool,
    offset_minutes: i64,
}

impl Civil {
    fn moment(self) -> Result<Moment, &'static str> {
        let date = i32::try_from(self.year)
            .ok()
            .and_then(|year| NaiveDate::from_ymd_opt(year, self.month, self.day))
            .ok_or("a date that does not exist")?;
        if self.hour > 23 || self.minute > 59 || self.second > 60 {
            return Err("a time of day that does not exist");
        }
        let leap = self.second == 60;
        let (second, ms) = if leap { (59, 999) } else { (self.second, self.ms) };
        let day = i64::from(date.num_days_from_ce()).saturating_sub(i64::from(EPOCH_DAY));
        let minutes = day
            .saturating_mul(1_440)
            .saturating_add(i64::from(self.hour).saturating_mul(60))
            .saturating_add(i64::from(self.minute))
            .saturating_sub(self.offset_minutes);
        if leap && minutes.checked_rem_euclid(1_440) != Some(1_439) {
            return Err("a leap second that is not 23:59:60 in UTC");
        }
        let ms = minutes
            .saturating_mul(60_000)
            .saturating_add(i64::from(second).saturating_mul(1_000))
            .saturating_add(i64::from(ms));
        Ok(Moment { ms, cut: self.cut || leap })
    }
}

/// A real time that need not be an [`Instant`]: it may lie before 1970, and between two milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    ms: i64,
    cut: bool,
}

impl Moment {
    /// Reads RFC 3339, see [`Instant::parse_rfc3339`].
    pub(crate) fn rfc3339(text: &str) -> Result<Moment, &'static str> {
        rfc3339(text).ok_or("not an RFC 3339 time")?.moment()
    }

    /// Reads an HTTP-date, see [`Instant::parse_http_date`].
    pub(crate) fn http_date(text: &str, now: Instant) -> Result<Moment, &'static str> {
        http_date::parse(text, now)
    }

    /// The last instant that is not after it.
    fn down(self) -> Result<Instant, &'static str> {
        let ms = u64::try_from(self.ms).map_err(|_| BEFORE)?;
        Instant::from_ms(ms).ok_or(AFTER)
    }

    /// The first instant that is not before it: rounding only ever adds to guidance (D24). Times before 1970 become the
    /// first instant, times after 9999 the last.
    pub(crate) fn up(self) -> Instant {
        let ms = u64::try_from(self.ms).map_or(0, |ms| ms.saturating_add(u64::from(self.cut)));
        Instant(ms.min(INSTANT_MAX))
    }
}

fn rfc3339(text: &str) -> Option<Civil> {
    let mut scan = Scan::new(text);
    let year = scan.digits(4)?;
    scan.eat("-")?;
    let month = scan.digits(2)?;
    scan.eat("-")?;
    let day = scan.digits(2)?;
    scan.one_of(b"Tt")?;
    let hour = scan.digits(2)?;
    scan.eat(":")?;
    let minute = scan.digits(2)?;
    scan.eat(":")?;
    let second = scan.digits(2)?;
    let (ms, cut) = if scan.eat(".").is_some() { fraction(scan.run(u8::is_ascii_digit))? } else { (0, false) };
    let offset_minutes = match scan.one_of(b"Zz+-")? {
        b'+' => offset(&mut scan)?,
        b'-' => offset(&mut scan)?.saturating_neg(),
        _ => 0,
    };
    scan.is_empty().then_some(Civil { year, month, day, hour, minute, second, ms, cut, offset_minutes })
}

/// Whole milliseconds of a fraction of a second, and whether something was cut.
fn fraction(digits: &[u8]) -> Option<(u32, bool)> {
    if digits.len() > 9 {
        return None;
    }
    let missing = u32::try_from(9usize.saturating_sub(digits.len())).ok()?;
    let nanoseconds = number(digits)?.checked_mul(10u32.checked_pow(missing)?)?;
    Some((nanoseconds / 1_000_000, nanoseconds % 1_000_000 != 0))
}

fn offset(scan: &mut Scan<'_>) -> Option<i64> {
    let hours = scan.digits(2).filter(|hours| *hours <= 23)?;
    scan.eat(":")?;
    let minutes = scan.digits(2).filter(|minutes| *minutes <= 59)?;
    Some(i64::from(hours.saturating_mul(60).saturating_add(minutes)))
}

impl fmt::Display for Instant {
    /// `2025-04-18T10:20:00.000Z`, always with three decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text();
        serializer.serialize_str(core::str::from_utf8(&text).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
        struct Text;

        impl de::Visitor<'_> for Text {
            type Value = Instant;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time as text")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Instant, E> {
                Instant::parse_rfc3339(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests;
