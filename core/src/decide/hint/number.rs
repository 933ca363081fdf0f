//! Numbers in header values. All are unsigned and saturate, and a fraction rounds up: a hint is never cut short.

use crate::time::Span;

/// Nanoseconds in a second.
pub(super) const SECOND: u64 = 1_000_000_000;

/// The moment that is `seconds` and `nanos` after the Unix epoch.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) seconds: u64,
    pub(super) nanos: u64,
}

impl Moment {
    /// How long after `wall` (nanoseconds since the Unix epoch) this is; zero when it is not later.
    pub(super) const fn since(self, wall: u64) -> Span {
        let Some(seconds) = self.seconds.checked_sub(wall / SECOND) else { return Span::ZERO };
        let nanos = seconds.saturating_mul(SECOND).saturating_add(self.nanos);
        Span::from_nanos(nanos.saturating_sub(wall % SECOND))
    }
}

/// From this number on a reset is a moment, not a span: as seconds it is 31 years, as a moment the year 2001.
const EPOCH_SECONDS: u64 = 1_000_000_000;
/// From this number on the moment is in milliseconds: as seconds it is the year 33658, as milliseconds 2001 again.
const EPOCH_MILLIS: u64 = 1_000_000_000_000;

/// One or more digits; saturates. `None` for anything else, a sign included.
pub(super) fn integer(digits: &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number.saturating_mul(10).saturating_add(u64::from(byte & 0x0f));
    }
    (!digits.is_empty()).then_some(number)
}

/// Digits after a point, in units of `unit` nanoseconds, rounded up to a nanosecond. `unit` is at most a day.
pub(super) fn fraction(digits: &[u8], unit: u64) -> u64 {
    // From the last digit to the first: rounding up each time rounds up once.
    let add =
        |rest: u64, byte: &u8| u64::from(byte & 0x0f).saturating_mul(unit).saturating_add(rest).saturating_add(9) / 10;
    digits.iter().rev().fold(0, add)
}

/// Digits, perhaps a point and digits after it: the whole part, which saturates, and the digits of the fraction.
fn decimal(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let number = integer(parts.next()?)?;
    let Some(digits) = parts.next() else { return Some((number, &[])) };
    integer(digits)?;
    Some((number, digits))
}

fn in_units(number: u64, digits: &[u8], unit: u64) -> Span {
    Span::from_nanos(number.saturating_mul(unit).saturating_add(fraction(digits, unit)))
}

/// A number of milliseconds, perhaps with a fraction.
pub(super) fn millis(text: &[u8]) -> Option<Span> {
    let (number, digits) = decimal(text)?;
    Some(in_units(number, digits, SECOND / 1000))
}

/// True if a number of remaining requests is zero or negative. `None` if it is no number.
pub(super) fn spent(text: &[u8]) -> Option<bool> {
    if let Some(rest) = text.strip_prefix(b"-") {
        return decimal(rest).map(|_| true);
    }
    let (number, digits) = decimal(text)?;
    Some(number == 0 && digits.iter().all(|digit| *digit == b'0'))
}

/// The time of a reset.
pub(super) enum Reset {
    /// A time from now.
    In(Span),
    /// A moment.
    At(Moment),
}

/// A number of seconds, or of seconds or milliseconds since the Unix epoch, told apart by its size.
pub(super) fn reset(text: &[u8]) -> Option<Reset> {
    let (number, digits) = decimal(text)?;
    Some(if number >= EPOCH_MILLIS {
        let unit = SECOND / 1000;
        let nanos = (number % 1000).saturating_mul(unit).saturating_add(fraction(digits, unit));
        Reset::At(Moment { seconds: number / 1000, nanos })
    } else if number >= EPOCH_SECONDS {
        Reset::At(Moment { seconds: number, nanos: fraction(digits, SECOND) })
    } else {
        Reset::In(in_units(number, digits, SECOND))
    })
}

/// Numbers with units one after the other, such as `6m0s`, `1.5s` or `20ms`: the durations of Go, and days.
pub(super) fn duration(text: &[u8]) -> Option<Span> {
    let mut rest = text;
    let mut nanos: u64 = 0;
    while !rest.is_empty() {
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let (number, tail) = rest.split_at_checked(length)?;
        let (unit, tail) = UNITS.iter().find_map(|(name, unit)| Some((*unit, tail.strip_prefix(*name)?)))?;
        let (number, digits) = decimal(number)?;
        nanos = nanos.saturating_add(in_units(number, digits, unit).as_nanos());
        rest = tail;
    }
    (!text.is_empty()).then_some(Span::from_nanos(nanos))
}

/// Names before those they begin with.
const UNITS: [(&[u8], u64); 8] = [
    (b"ns", 1),
    (b"us", 1_000),
    ("\u{b5}s".as_bytes(), 1_000),
    (b"ms", 1_000_000),
    (b"s", SECOND),
    (b"m", 60 * SECOND),
    (b"h", 3_600 * SECOND),
    (b"d", 86_400 * SECOND),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;

    fn duration_of(text: &str) -> Option<u64> {
        duration(text.as_bytes()).map(Span::as_nanos)
    }

    #[test]
    fn durations_are_those_of_go() {
        for (text, nanos) in [
            ("6m0s", 360 * SECOND),
            ("1.5s", 1_500_000_000),
            ("20ms", 20_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            ("2m59.56s", 179_560_000_000),
            ("1d", 86_400 * SECOND),
            ("7us", 7_000),
            ("7\u{b5}s", 7_000),
            ("7ns", 7),
            ("0s", 0),
            ("99999999999999999999h", i64::MAX as u64),
        ] {
            assert_eq!(duration_of(text), Some(nanos), "{text}");
        }
        for text in ["", "5", "s", "5 s", "5s ", "1.s", ".5s", "1.2.3s", "-1s", "+1s", "6m0", "6 minutes", "1e3s", "5S"]
        {
            assert_eq!(duration_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_fraction_rounds_up_once() {
        assert_eq!(fraction(b"5", SECOND), 500_000_000);
        assert_eq!(fraction(b"000000001", SECOND), 1);
        assert_eq!(fraction(b"0000000000000000000000000001", SECOND), 1);
        assert_eq!(fraction(b"9999999999", SECOND), SECOND);
        assert_eq!(fraction(b"1000000001", SECOND), 100_000_001);
        assert_eq!(fraction(b"", SECOND), 0);
    }

    #[test]
    fn a_number_is_unsigned_and_saturates() {
        assert_eq!(integer(b"007"), Some(7));
        assert_eq!(integer(b"99999999999999999999999"), Some(u64::MAX));
        for text in ["", "+1", "-1", "1.0", " 1", "\u{b2}", "\u{ff11}", "0x1", "1e3"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn none_remains_at_zero_and_below() {
        for (text, expected) in
            [("0", Some(true)), ("0.0", Some(true)), ("-3", Some(true)), ("1", Some(false)), ("0.5", Some(false))]
        {
            assert_eq!(spent(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(spent(b"many"), None);
    }

    proptest! {
        #[test]
        fn a_decimal_of_nine_digits_is_exact(seconds in 0u64..999_999_999, nanos in 0u64..1_000_000_000) {
            let text = format!("{seconds}.{nanos:09}");
            let Some(Reset::In(span)) = reset(text.as_bytes()) else { panic!("{text} is a span") };
            prop_assert_eq!(span.as_nanos(), seconds * SECOND + nanos);
        }

        #[test]
        fn no_bytes_panic(text: std::vec::Vec<u8>) {
            let _ = (integer(&text), decimal(&text), millis(&text), spent(&text), reset(&text), duration(&text));
        }

        #[test]
        fn no_number_panics(text in "[0-9.]{0,40}[dhmsnu]{0,2}[0-9.]{0,40}s?") {
            let text = text.as_bytes();
            let _ = (integer(text), decimal(text), millis(text), spent(text), reset(text), duration(text));
        }
    }
}
