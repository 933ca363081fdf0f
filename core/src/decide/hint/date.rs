//! Dates in header values: the three forms of HTTP (RFC 9110 section 5.6.7) and ISO 8601 as RFC 3339 has it.
//!
//! Only the way from a date to a span is needed, and only ahead: what is before 1970 is as past as 1970 is.

use super::number::{self, Moment, SECOND};

const DAY: u64 = 86_400;

/// The formats, with the marks of C's `strftime`: IMF-fixdate, RFC 850 and asctime of HTTP, then ISO 8601, where `%f` is a
/// fraction of a second that may be missing and `%z` is `Z`, `+01:00` or `-01:00`.
const FORMATS: [&str; 5] =
    ["%a, %d %b %Y %T GMT", "%A, %d-%b-%y %T GMT", "%a %b %e %T %Y", "%Y-%m-%dT%T%f%z", "%Y-%m-%d %T%f%z"];

/// Reads a date in any of the forms, all of it. `wall` decides the century of a year of two digits.
pub(super) fn date(text: &[u8], wall: u64) -> Option<Moment> {
    FORMATS.iter().find_map(|form| Fields::read(text, form)?.moment(wall))
}

/// The fields of a date.
#[derive(Default)]
struct Fields {
    year: u64,
    /// The year has two digits.
    short: bool,
    month: u64,
    day: u64,
    /// Of the day.
    second: u64,
    nanos: u64,
    /// How many seconds the clock is ahead of Greenwich, and how many behind.
    ahead: u64,
    behind: u64,
}

impl Fields {
    fn read(text: &[u8], form: &str) -> Option<Self> {
        let mut rest = Cursor(text);
        let mut found = Self::default();
        let mut marks = form.bytes();
        while let Some(mark) = marks.next() {
            if mark != b'%' {
                rest.literal(&[mark])?;
                continue;
            }
            match marks.next()? {
                b'A' => _ = rest.word(&DAYS, usize::MAX)?,
                b'a' => _ = rest.word(&DAYS, 3)?,
                b'b' => found.month = rest.word(&MONTHS, 3)?,
                b'm' => found.month = rest.number(2)?,
                b'e' if rest.literal(b" ").is_some() => found.day = rest.number(1)?,
                b'd' | b'e' => found.day = rest.number(2)?,
                b'Y' => found.year = rest.number(4)?,
                b'y' => (found.year, found.short) = (rest.number(2)?, true),
                b'T' => found.second = rest.time()?,
                b'f' if rest.literal(b".").is_some() => found.nanos = number::fraction(rest.digits()?, SECOND),
                b'z' if rest.literal(b"+").is_some() => found.ahead = rest.offset()?,
                b'z' if rest.literal(b"-").is_some() => found.behind = rest.offset()?,
                b'z' => rest.literal(b"Z")?,
                _ => {}
            }
        }
        rest.0.is_empty().then_some(found)
    }

    fn moment(&self, wall: u64) -> Option<Moment> {
        let year = if self.short { self.full_year(wall)? } else { self.year };
        let day = day_number(year, self.month, self.day)?;
        if year < 1970 {
            return Some(0);
        }
        let local = day.saturating_mul(DAY).saturating_add(self.second);
        let seconds = local.saturating_add(self.behind).saturating_sub(self.ahead);
        Some(number::moment(seconds, SECOND, self.nanos))
    }

    /// The latest year with these two digits that has this day and is not more than fifty years ahead.
    fn full_year(&self, wall: u64) -> Option<u64> {
        let (now, month, day) = civil(wall / SECOND / DAY);
        let latest = now.saturating_add(50);
        let year = latest.saturating_sub(latest.saturating_sub(self.year) % 100);
        let late = (self.month, self.day, self.second) > (month, day, wall / SECOND % DAY);
        let first = u64::from(year == latest && late);
        // One in four centuries begins with a leap year.
        let mut years = (first..5).map(|centuries| year.saturating_sub(centuries.saturating_mul(100)));
        years.find(|year| self.day <= days_in(*year, self.month))
    }
}

/// How many days after 1970-01-01 a day of the calendar is, from 1970 on; `None` for a day that is none.
fn day_number(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    let before: u64 = (1..month).map(|month| days_in(year, month)).sum();
    Some(days_before(year).saturating_add(before).saturating_add(day).saturating_sub(1))
}

/// Year, month and day of the day that many days after 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // A year is at most 366 days long, so the guess is never late; at 2554, the last year of u64, it is one early.
    let mut year = 1970_u64.saturating_add(days / 366);
    while days_before(year.saturating_add(1)) <= days {
        year = year.saturating_add(1);
    }
    let (mut month, mut rest) = (1, days.saturating_sub(days_before(year)));
    while month < 12 && rest >= days_in(year, month) {
        rest = rest.saturating_sub(days_in(year, month));
        month = month.saturating_add(1);
    }
    (year, month, rest.saturating_add(1))
}

/// Days from 1970-01-01 to the first of January of a year from 1970 on.
const fn days_before(year: u64) -> u64 {
    const fn leap_days(years: u64) -> u64 {
        (years / 4).saturating_sub(years / 100).saturating_add(years / 400)
    }
    let years = year.saturating_sub(1970).saturating_mul(365);
    years.saturating_add(leap_days(year.saturating_sub(1)).saturating_sub(leap_days(1969)))
}

/// The length of a month from 1 to 12 in the proleptic Gregorian calendar.
const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The rest of the text. A failed read leaves it as it was.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        let (head, rest) = self.0.split_at_checked(text.len())?;
        if !head.eq_ignore_ascii_case(text) {
            return None;
        }
        self.0 = rest;
        Some(())
    }

    /// One of some words, or so many letters that begin one; its number, from 1.
    fn word(&mut self, words: &[&str], letters: usize) -> Option<u64> {
        let mut starts = words.iter().map(|word| word.as_bytes().get(..letters).unwrap_or(word.as_bytes()));
        let at = starts.position(|start| self.literal(start).is_some())?;
        u64::try_from(at).ok()?.checked_add(1)
    }

    /// Exactly so many digits, at most four.
    fn number(&mut self, digits: usize) -> Option<u64> {
        let (head, rest) = self.0.split_at_checked(digits)?;
        let number = number::integer(head)?;
        self.0 = rest;
        Some(number)
    }

    /// All the digits that come, at least one.
    fn digits(&mut self) -> Option<&'a [u8]> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        (count > 0).then_some(head)
    }

    /// `08:49:37` as a second of the day. The second 60 of a leap second is the first of the next minute.
    fn time(&mut self) -> Option<u64> {
        let minute = self.offset()?;
        self.literal(b":")?;
        let second = self.number(2)?;
        (second <= 60).then_some(minute.saturating_add(second))
    }

    /// `08:49` in seconds.
    fn offset(&mut self) -> Option<u64> {
        let hour = self.number(2)?;
        self.literal(b":")?;
        let minute = self.number(2)?;
        let seconds = hour.saturating_mul(3600).saturating_add(minute.saturating_mul(60));
        (hour < 24 && minute < 60).then_some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;
    use std::time::{Duration, SystemTime};

    /// 2026-11-21T00:00:00Z.
    const NOW: u64 = 1_795_219_200 * SECOND;
    const LAST_HTTP_SECOND: u64 = 253_402_300_799; // 9999-12-31T23:59:59Z

    fn in_seconds(moment: Moment) -> u64 {
        u64::try_from(moment / u128::from(SECOND)).unwrap()
    }

    fn seconds(text: &str) -> Option<u64> {
        date(text.as_bytes(), NOW).map(in_seconds)
    }

    #[test]
    fn the_forms_of_rfc_9110_are_one_moment() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
    }

    #[test]
    fn a_year_of_two_digits_is_at_most_fifty_years_ahead() {
        let year = |text: &str| seconds(text).map(|seconds| civil(seconds / DAY).0);
        for (text, expected) in [
            ("Saturday, 21-Nov-26 00:00:00 GMT", 2026),
            ("Saturday, 21-Nov-76 00:00:00 GMT", 2076),
            ("Saturday, 21-Nov-76 00:00:01 GMT", 1976),
            ("Saturday, 22-Nov-76 00:00:00 GMT", 1976),
            ("Saturday, 01-Dec-76 00:00:00 GMT", 1976),
            ("Saturday, 20-Nov-76 23:59:59 GMT", 2076),
            ("Saturday, 21-Nov-77 00:00:00 GMT", 1977),
            ("Saturday, 21-Nov-99 00:00:00 GMT", 1999),
            ("Saturday, 29-Feb-00 00:00:00 GMT", 2000),
        ] {
            assert_eq!(year(text), Some(expected), "{text}");
        }
        let late = date(b"Tuesday, 29-Feb-00 00:00:00 GMT", 5_680_281_600 * SECOND).unwrap(); // 2150, and 2100 has none
        assert_eq!(civil(in_seconds(late) / DAY).0, 2000);
        let before_2100 = date(b"Tuesday, 29-Feb-00 00:00:00 GMT", 2_840_140_800 * SECOND).unwrap(); // 2060
        assert_eq!(civil(in_seconds(before_2100) / DAY).0, 2000);
        let late = 4_070_908_800 * SECOND; // 2099-01-01: 05 is 2105, not 94 years ago
        let moment = date(b"Friday, 01-Jan-05 00:00:00 GMT", late).unwrap();
        assert_eq!(civil(in_seconds(moment) / DAY).0, 2105);
    }

    #[test]
    fn leap_years_are_those_of_the_calendar() {
        for (year, leap) in [(2000, true), (2024, true), (2026, false), (2100, false), (2400, true)] {
            let text = format!("Tue, 29 Feb {year} 00:00:00 GMT");
            assert_eq!(seconds(&text).is_some(), leap, "{text}");
        }
        assert_eq!(seconds("Thu, 29 Feb 1900 00:00:00 GMT"), None);
        assert_eq!(seconds("Thu, 28 Feb 1900 00:00:00 GMT"), Some(0));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "GMT",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 19940 08:49:37 GMT",
            "Sunday, 06 Nov 1994 08:49:37 GMT",
            "Son, 06 Nov 1994 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Sun Nov 006 08:49:37 1994",
            "1994-11-06",
            "1994-11-06T08:49:37",
            "1994-13-06T08:49:37Z",
            "1994-00-06T08:49:37Z",
            "1994-11-06T08:49:37.Z",
            "1994-11-06T08:49:37+24:00",
            "1994-11-06T08:49:37+0100",
            "+994-11-06T08:49:37Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_leap_second_is_the_first_of_the_next_minute() {
        assert_eq!(seconds("Sat, 31 Dec 2016 23:59:60 GMT"), seconds("Sun, 01 Jan 2017 00:00:00 GMT"));
    }

    #[test]
    fn offsets_and_fractions_of_iso_count() {
        assert_eq!(seconds("1994-11-06T09:49:37+01:00"), Some(784_111_777));
        assert_eq!(seconds("1994-11-06 07:19:37-01:30"), Some(784_111_777));
        let nanos = |text: &str| date(text.as_bytes(), NOW).unwrap() % u128::from(SECOND);
        assert_eq!(nanos("1994-11-06t08:49:37.25z"), 250_000_000);
        assert_eq!(nanos("1994-11-06T08:49:37.0000000001Z"), 1);
        assert_eq!(seconds("1970-01-01T00:30:00+01:00"), Some(0));
    }

    #[test]
    fn a_span_to_a_moment_saturates_at_both_ends() {
        let since =
            |[seconds, nanos]: [u64; 2], wall| number::hint_at(number::moment(seconds, SECOND, nanos), wall).span();
        assert_eq!(since([LAST_HTTP_SECOND, SECOND], 0), Some(Span::MAX));
        assert_eq!(since([LAST_HTTP_SECOND, SECOND], u64::MAX - 1), Some(Span::MAX));
        assert_eq!(since([u64::MAX, u64::MAX], 0), Some(Span::MAX));
        assert_eq!(since([5, 0], 5 * SECOND + 1), Some(Span::ZERO));
        assert_eq!(since([4, 999_999_999], 5 * SECOND), Some(Span::ZERO));
        assert_eq!(since([5, 7], 5 * SECOND + 3), Some(Span::from_nanos(4)));
        assert_eq!(since([6, 0], 6 * SECOND - 1), Some(Span::from_nanos(1)));
    }

    /// The other two forms of a date that the `httpdate` crate wrote.
    fn other_forms(imf: &str) -> (String, String) {
        let [day, month, year, time] = [&imf[5..7], &imf[8..11], &imf[12..16], &imf[17..25]];
        let name = DAYS.iter().find(|name| name.starts_with(&imf[..3])).unwrap();
        let rfc850 = format!("{name}, {day}-{month}-{} {time} GMT", &year[2..]);
        let day = day.strip_prefix('0').map_or(String::from(day), |digit| format!(" {digit}"));
        (rfc850, format!("{} {month} {day} {time} {year}", &imf[..3]))
    }

    proptest! {
        #[test]
        fn dates_are_what_httpdate_writes(second in 0..=LAST_HTTP_SECOND) {
            let imf = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(second));
            let (_, asctime) = other_forms(&imf);
            for text in [imf, asctime] {
                prop_assert_eq!(seconds(&text), Some(second), "{}", text);
                prop_assert_eq!(seconds(&text.to_lowercase()), Some(second), "{}", text);
            }
        }

        #[test]
        fn the_century_is_right_for_fifty_years_ahead_and_forty_nine_back(
            wall in 49 * 366 * DAY..18_000_000_000,
            offset in 0..99 * 365 * DAY,
        ) {
            let second = wall - 49 * 365 * DAY + offset;
            let imf = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(second));
            let (rfc850, _) = other_forms(&imf);
            let read = date(rfc850.as_bytes(), wall * SECOND).map(in_seconds);
            prop_assert_eq!(read, Some(second), "{}", rfc850);
        }

        #[test]
        fn what_httpdate_reads_is_read_alike(
            text in "(Sun|Mon|Tue|Wed), [0-3][0-9] (Jan|Feb|Apr|Nov|Dec) (19[789]|2[0-9]{2})[0-9] [0-2][0-9]:[0-6][0-9]:[0-5][0-9] GMT",
        ) {
            // It holds the name of the day against the date; we do not, so that it reads fewer.
            if let Ok(theirs) = httpdate::parse_http_date(&text) {
                let theirs = theirs.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
                prop_assert_eq!(seconds(&text), Some(theirs), "{}", text);
            }
        }

        #[test]
        fn a_day_of_the_calendar_is_its_own_number(days in 0u64..3_000_000) {
            let (year, month, day) = civil(days);
            prop_assert_eq!(day_number(year, month, day), Some(days));
        }

        #[test]
        fn no_bytes_panic(text: std::vec::Vec<u8>, wall: u64) {
            let _ = date(&text, wall);
        }
    }
}
