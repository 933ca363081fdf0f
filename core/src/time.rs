//! Time as plain numbers, because a machine that reads a clock cannot be replayed, tested or moved.
//!
//! Both types count nanoseconds. The core never asks what the unit is, so a host may as well count ticks or
//! milliseconds, as long as it does so everywhere. Every operation saturates (spec 1).

use core::fmt;
use core::time::Duration;

/// An instant: nanoseconds since any epoch the host likes, 0 to [`Timestamp::LAST`], or [`Timestamp::NEVER`].
///
/// Machines clamp a clock that runs backwards to the latest time they have seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The epoch.
    pub const ZERO: Self = Self(0);
    /// The last instant there is. Sums that go past it stay here, and a host's `now` is never later.
    pub const LAST: Self = Self(u64::MAX - 1);
    /// "At no time": later than every instant. The only sentinel of the library.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the epoch; `u64::MAX` is [`Timestamp::NEVER`].
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch; `u64::MAX` for [`Timestamp::NEVER`].
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// True for [`Timestamp::NEVER`].
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }

    /// This instant plus `span`, at most [`Timestamp::LAST`] (spec 1.2). [`Timestamp::NEVER`] stays what it is.
    #[must_use]
    #[inline(always)]
    pub const fn after(self, span: Span) -> Self {
        if self.is_never() {
            return self;
        }
        let sum = self.0.saturating_add(span.0);
        if sum > Self::LAST.0 { Self::LAST } else { Self(sum) }
    }

    /// True if any span can be added without passing [`Timestamp::LAST`]: the first 292 years.
    #[inline(always)]
    pub(crate) const fn is_early(self) -> bool {
        self.0 <= Span::MAX.0
    }

    /// This early instant plus a span's nanoseconds.
    #[inline(always)]
    pub(crate) const fn after_early(self, nanos: u64) -> Self {
        Self(self.0.wrapping_add(nanos))
    }

    /// How long after `earlier` this instant is; zero when it is not later. [`Timestamp::NEVER`] is [`Span::MAX`] away.
    pub const fn since(self, earlier: Self) -> Span {
        Span::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This value as a host's `now`: [`Timestamp::NEVER`] reads as [`Timestamp::LAST`] (spec 1.3).
    #[inline(always)]
    pub(crate) const fn as_now(self) -> Self {
        if self.is_never() { Self::LAST } else { self }
    }

    /// The later of two instants.
    #[inline(always)]
    pub(crate) const fn max(self, other: Self) -> Self {
        if other.0 > self.0 { other } else { self }
    }

    /// The earlier of two instants.
    #[inline(always)]
    pub(crate) const fn min(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() { f.write_str("never") } else { write!(f, "{}", self.0) }
    }
}

/// A length of time: 0 to 2^63-1 nanoseconds (292 years), which is [`Span::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span: 2^63-1 nanoseconds.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// `nanos` nanoseconds, at most [`Span::MAX`].
    #[inline(always)]
    pub const fn from_nanos(nanos: u64) -> Self {
        if nanos > Self::MAX.0 { Self::MAX } else { Self(nanos) }
    }

    /// `millis` milliseconds, at most [`Span::MAX`].
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_nanos(millis.saturating_mul(1_000_000))
    }

    /// `secs` seconds, at most [`Span::MAX`].
    pub const fn from_secs(secs: u64) -> Self {
        Self::from_nanos(secs.saturating_mul(1_000_000_000))
    }

    /// A standard duration, at most [`Span::MAX`].
    pub const fn from_duration(duration: Duration) -> Self {
        let nanos = duration.as_nanos();
        if nanos > Self::MAX.0 as u128 { Self::MAX } else { Self(nanos as u64) }
    }

    /// `value * unit` nanoseconds rounded to the nearest one, or `None` when that is negative, not finite or above
    /// [`Span::MAX`] (spec 1.6). `unit` is the nanoseconds in one: 1e9 for seconds.
    pub fn from_float(value: f64, unit: f64) -> Option<Self> {
        let nanos = value * unit + 0.5;
        // The comparison is false for NaN; 2^63 as a double is the first value that does not fit.
        if value >= 0.0 && nanos < 9_223_372_036_854_775_808.0 { Some(Self(nanos as u64)) } else { None }
    }

    /// Reads a number and its unit, `"250ms"`, `"1.5s"`, `"2m"`: decimal digits, perhaps a fraction, then one of
    /// `ns us ms s m h` (spec 1.7). Digits below a nanosecond are dropped. `None` for anything else, and above
    /// [`Span::MAX`].
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit: u64 = match text.get(digits.len()..)? {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
        if whole.is_empty() || fraction.is_some_and(str::is_empty) {
            return None;
        }
        let mut nanos: u64 = 0;
        for byte in whole.bytes() {
            let digit = digit(byte)?;
            nanos = nanos.checked_mul(10)?.checked_add(digit)?;
        }
        nanos = nanos.checked_mul(unit)?;
        // From the last digit to the first, each division drops less than a nanosecond, and together they drop no more.
        let mut rest: u64 = 0;
        for byte in fraction.unwrap_or("").bytes().rev() {
            rest = digit(byte)?.checked_mul(unit)?.checked_add(rest)? / 10;
        }
        nanos = nanos.checked_add(rest)?;
        if nanos > Self::MAX.0 { None } else { Some(Self(nanos)) }
    }

    /// The length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The length as a standard duration.
    pub const fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

const fn digit(byte: u8) -> Option<u64> {
    match byte {
        b'0'..=b'9' => Some((byte & 0x0f) as u64),
        _ => None,
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self::from_duration(duration)
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.as_duration()
    }
}

/// The shortest exact form that [`Span::parse`] reads back: `250ms`, `90s`, `1500us`.
/// Exactly, as people write it and [`Span::parse`] reads it: `2m`, `1.5s`, `250ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        let (unit, name, digits): (u64, &str, usize) = match n {
            0 => (1_000_000_000, "s", 9),
            _ if n.is_multiple_of(3_600_000_000_000) => (3_600_000_000_000, "h", 0),
            _ if n.is_multiple_of(60_000_000_000) => (60_000_000_000, "m", 0),
            1_000_000_000.. => (1_000_000_000, "s", 9),
            1_000_000.. => (1_000_000, "ms", 6),
            1_000.. => (1_000, "us", 3),
            _ => (1, "ns", 0),
        };
        write!(f, "{}", n.checked_div(unit).unwrap_or(n))?;
        let (mut rest, mut digits) = (n.checked_rem(unit).unwrap_or(0), digits);
        if rest > 0 {
            while rest.is_multiple_of(10) {
                rest /= 10;
                digits = digits.saturating_sub(1);
            }
            write!(f, ".{rest:0digits$}")?;
        }
        f.write_str(name)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_past_the_end_of_time_stays_at_the_last_instant() {
        assert_eq!(Timestamp::from_nanos(u64::MAX - 5).after(Span::MAX), Timestamp::LAST);
        assert_eq!(Timestamp::NEVER.after(Span::ZERO), Timestamp::NEVER);
    }

    #[test]
    fn a_span_is_shown_as_people_write_it() {
        for (nanos, text) in [
            (0, "0s"),
            (999, "999ns"),
            (1_500, "1.5us"),
            (10_500_000, "10.5ms"),
            (250_000_000, "250ms"),
            (1_050_000_001, "1.050000001s"),
            (61_500_000_000, "61.5s"),
            (120_000_000_000, "2m"),
            (7_200_000_000_000, "2h"),
            (u64::MAX >> 1, "9223372036.854775807s"),
        ] {
            assert_eq!(std::format!("{}", Span(nanos)), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_is_read_back(nanos in 0..=i64::MAX as u64, zeros in 0u32..12) {
            let span = Span(nanos / 10_u64.pow(zeros) * 10_u64.pow(zeros));
            proptest::prop_assert_eq!(Span::parse(&std::format!("{span}")), Some(span));
        }
    }

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, nanos) in [
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("0s", 0),
            ("0.0000000019s", 1),
            ("0.99999999999999999999s", 999_999_999),
            ("0.9h", 3_240_000_000_000),
            ("7us", 7_000),
            ("9223372036854775807ns", i64::MAX as u64),
            ("1.000000000000000000000000000001s", 1_000_000_000),
        ] {
            assert_eq!(Span::parse(text), Some(Span::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_duration() {
        for text in [
            "",
            "5",
            "s",
            "1.s",
            ".5s",
            "-1s",
            "+1s",
            "1 s",
            "1s ",
            "1e3s",
            "1d",
            "NaN",
            "infs",
            "1.2.3s",
            "9223372036854775808ns",
            "99999999999h",
            "1\u{e9}s",
            "٣s",
        ] {
            assert_eq!(Span::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_become_the_nearest_nanosecond() {
        assert_eq!(Span::from_float(0.29, 1e9), Some(Span::from_millis(290)));
        assert_eq!(Span::from_float(0.0, 1e9), Some(Span::ZERO));
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e10] {
            assert_eq!(Span::from_float(bad, 1e9), None, "{bad}");
        }
    }
}
