//! Hints: when a server wants to be asked again.
//!
//! A hint is one flat word so that a failure stays two words and travels in registers: a span from now, "never", or
//! nothing at all. Core reads it from the bytes of header lines, so that every language reads alike: libraries differ in how
//! they read a date, a list or a sign, and such a difference shows first when a service is down.

mod date;
mod number;
mod quota;
pub(crate) mod reader;
mod value;

use crate::time::Span;
use crate::words::words;

/// A server's word on the next attempt: nothing, "not before this long from now", or "never".
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Hint(u64);

impl Hint {
    /// The server said nothing.
    pub const NONE: Self = Self(u64::MAX);
    /// The server said: do not retry (gRPC's negative pushback is one such word).
    pub const NEVER: Self = Self(u64::MAX - 1);

    /// "Not before `span` from now."
    pub const fn after(span: Span) -> Self {
        Self(span.as_nanos())
    }

    /// The hint whose flat form is `nanos`: `u64::MAX` nothing, `u64::MAX - 1` never, else a span of at most
    /// [`Span::MAX`] (anything between saturates).
    pub const fn from_raw(nanos: u64) -> Self {
        if nanos >= Self::NEVER.0 { Self(nanos) } else { Self::after(Span::from_nanos(nanos)) }
    }

    /// The flat form, see [`Hint::from_raw`].
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// The span, when the server named one.
    pub const fn span(self) -> Option<Span> {
        if self.0 >= Self::NEVER.0 { None } else { Some(Span::from_nanos(self.0)) }
    }

    /// True if the server said nothing.
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == Self::NONE.0
    }

    /// True if the server said: do not retry.
    pub const fn is_never(self) -> bool {
        self.0 == Self::NEVER.0
    }

    /// Both hints together: the longer wait, and "never" above all.
    pub(crate) const fn or_later(self, other: Self) -> Self {
        // One more is nothing, a time, never: in the order that is wanted.
        if other.0.wrapping_add(1) > self.0.wrapping_add(1) { other } else { self }
    }

    /// "Not before `millis` milliseconds from now."
    pub(crate) const fn after_millis(millis: u64) -> Self {
        Self::after(Span::from_millis(millis))
    }
}

impl Default for Hint {
    fn default() -> Self {
        Self::NONE
    }
}

impl core::fmt::Debug for Hint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.span() {
            Some(span) => write!(f, "after {span}"),
            None => f.write_str(if self.is_never() { "never" } else { "none" }),
        }
    }
}

words! {
    /// The use of a hint by a policy (spec 7).
    #[non_exhaustive]
    pub enum HintMode: u8 = Floor {
        /// Never before the hint: the whole range of the jittered delay moves up until its bottom is the hint.
        Floor = 0 "floor";
        /// The hint instead of the backoff's delay, the jitter's spread on top of it.
        Replace = 1 "replace";
        /// The hint is ignored.
        Ignore = 2 "ignore";
        /// The hint alone, without spread, however many clients got the same hint.
        Exact = 3 "exact";
        /// The longer of the hint and the policy's own delay.
        AtLeast = 4 "at_least";
    }
}

words! {
    /// The use of a hint above the policy's maximum (spec 7).
    #[non_exhaustive]
    pub enum HintOver: u8 = Stop {
        /// Give up and say when the server wants to be asked again.
        Stop = 0 "stop";
        /// Wait the maximum instead.
        Clamp = 1 "clamp";
    }
}

#[cfg(test)]
mod tests {
    use super::value::reset_value;
    use super::*;
    use proptest::prelude::*;

    /// 1994-11-06T08:49:37Z.
    const WALL: u64 = 784_111_777_000_000_000;

    fn after_secs(seconds: u64) -> Hint {
        Hint::after(Span::from_secs(seconds))
    }

    #[test]
    fn seconds_are_read_and_saturate() {
        for (text, seconds) in
            [("120", 120), (" 5\t", 5), ("0", 0), ("007", 7), ("1, 2", 2), ("30,", 30), ("soon, 4", 4)]
        {
            assert_eq!(Hint::retry_after(text.as_bytes()), after_secs(seconds), "{text}");
        }
        assert_eq!(Hint::retry_after(b"99999999999999999999999999"), Hint::after(Span::MAX));
    }

    #[test]
    fn what_is_not_seconds_is_no_hint() {
        for text in ["", " ", ",", "-1", "+1", "1.5", "soon", "1 2", "Sun, 06 Nov 1994 08:49:37 GMT", "\u{b2}", "5s"] {
            assert!(Hint::retry_after(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn a_date_is_as_far_as_it_is_ahead_of_the_wall_clock() {
        for (text, seconds) in [
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
            ("Sun Nov  6 08:50:37 1994", 60),
            ("1994-11-06T08:50:37Z", 60),
            ("Sun, 06 Nov 1994 08:49:36 GMT", 0),
            ("Sun, 06 Nov 1994 08:50:37 GMT, 45", 45),
            ("45, Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:50:37 GMT, Sunday, 06-Nov-94 08:51:37 GMT", 120),
        ] {
            assert_eq!(Hint::retry_after_at(text.as_bytes(), WALL), after_secs(seconds), "{text}");
        }
        assert_eq!(Hint::retry_after_at(b"Fri, 31 Dec 9999 23:59:59 GMT", WALL), Hint::after(Span::MAX));
    }

    #[test]
    fn a_reset_is_told_from_a_moment_by_its_size() {
        for (text, hint) in [
            ("30", after_secs(30)),
            ("0.25", Hint::after_millis(250)),
            ("999999999", after_secs(999_999_999)),
            ("1000000000", after_secs(215_888_223)),
            ("1000000000.5", Hint::after_millis(215_888_223_500)),
            ("784111777", after_secs(784_111_777)),
            ("1784111777000", after_secs(1_000_000_000)),
            ("1784111777000.5", Hint::after(Span::from_nanos(1_000_000_000_000_500_000))),
            ("6m0s", after_secs(360)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", after_secs(60)),
            ("-1", Hint::NONE),
            ("99999999999999999999", Hint::after(Span::MAX)),
        ] {
            assert_eq!(reset_value(text.as_bytes(), WALL), hint, "{text}");
        }
        assert_eq!(reset_value(b"1000000000", u64::MAX), Hint::NONE);
        assert_eq!(reset_value(b"1000000000", 2_000_000_000_000_000_000), after_secs(0));
    }

    #[test]
    fn a_pushback_is_a_span_or_never() {
        for (text, millis) in [("0", 0), ("1500", 1500), (" 7 ", 7), ("+7", 7)] {
            assert_eq!(Hint::pushback(text.as_bytes()), Hint::after_millis(millis), "{text}");
        }
        assert_eq!(Hint::pushback(b"9223372036854775807"), Hint::after(Span::MAX));
        for text in ["-1", "-0", "", "soon", "1.5", "++1", "5, 5", "9223372036854775808"] {
            assert!(Hint::pushback(text.as_bytes()).is_never(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_value_panics(value: std::vec::Vec<u8>, wall: u64) {
            let _ = (Hint::retry_after_at(&value, wall), Hint::pushback(&value), reset_value(&value, wall));
        }
    }
}
