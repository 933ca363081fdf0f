//! The cost of reading a server's hint: its `Retry-After`, in seconds and as a date.

use crate::sample::Work;
use holdoff_core::{Failure, Hint};
use std::hint::black_box;

/// A date, and nanoseconds since 1970 about a year before it.
const DATE: &[u8; 29] = b"Fri, 31 Dec 2027 23:59:59 GMT";
const WALL: u64 = 1_798_000_000_000_000_000;

pub(super) fn works() -> Vec<Work> {
    vec![seconds(), date(), answer()]
}

/// Digits, without a look at anything else.
#[inline(always)]
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(sum * 10 + u64::from(digit))
    })
}

fn seconds() -> Work {
    let value = b"120";
    Work::new("retry-after, seconds")
        .by("floor", move || number(black_box(&value[..])).map(|seconds| seconds * 1_000_000_000))
        .by("hint", move || Hint::retry_after(black_box(&value[..])))
}

/// By hand: each digit is where it must be.
#[inline(always)]
fn until(date: &[u8; 29], wall: u64) -> Option<u64> {
    let months = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = months.chunks_exact(3).position(|name| name == &date[8..11])? as u64;
    let (day, year) = (number(&date[5..7])?, number(&date[12..16])?);
    let (hour, minute, second) = (number(&date[17..19])?, number(&date[20..22])?, number(&date[23..25])?);
    // Years begin with March (Hinnant, "chrono-compatible low-level date algorithms").
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    let at = ((days * 24 + hour) * 60 + minute) * 60 + second;
    (at * 1_000_000_000).checked_sub(wall)
}

fn date() -> Work {
    Work::new("retry-after, date")
        .by("floor", || until(black_box(DATE), black_box(WALL)))
        .by("hint", || Hint::retry_after_at(black_box(&DATE[..]), black_box(WALL)))
}

/// A status and its `Retry-After`.
fn answer() -> Work {
    let value = b"2";
    Work::new("http answer")
        .by("floor", move || {
            let retried = matches!(black_box(503_u32), 408 | 425 | 429 | 500 | 502 | 503 | 504);
            retried.then(|| number(black_box(&value[..])))
        })
        .by("failure", move || Failure::from_http(black_box(503), Some(black_box(&value[..]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_read_the_same_date() {
        let hint = Hint::retry_after_at(DATE, WALL).span().map(|span| span.as_nanos());
        assert_eq!(hint, until(DATE, WALL));
        assert_eq!(hint, Some(1_830_297_599_000_000_000 - WALL), "the last second of 2027");
    }
}
