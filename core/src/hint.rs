//! What a server said about when to come back.
//!
//! A hint is one flat word so that a failure stays two words and travels in registers: a span from now, "never", or
//! nothing at all.

use crate::time::Span;

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
    #[must_use]
    pub const fn after(span: Span) -> Self {
        Self(span.as_nanos())
    }

    /// The hint whose flat form is `nanos`: `u64::MAX` nothing, `u64::MAX - 1` never, else a span of at most
    /// [`Span::MAX`] (anything between saturates).
    #[must_use]
    pub const fn from_raw(nanos: u64) -> Self {
        if nanos >= Self::NEVER.0 { Self(nanos) } else { Self::after(Span::from_nanos(nanos)) }
    }

    /// The flat form, see [`Hint::from_raw`].
    #[must_use]
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// The span, when the server named one.
    #[must_use]
    pub const fn span(self) -> Option<Span> {
        if self.0 >= Self::NEVER.0 { None } else { Some(Span::from_nanos(self.0)) }
    }

    /// Whether the server said nothing.
    #[must_use]
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == Self::NONE.0
    }

    /// Whether the server said: do not retry.
    #[must_use]
    pub const fn is_never(self) -> bool {
        self.0 == Self::NEVER.0
    }

    /// Reads the value of a `Retry-After` header in seconds (RFC 9110 section 10.2.3, `delay-seconds = 1*DIGIT`), with
    /// optional white space around it. More seconds than a [`Span`] holds are [`Span::MAX`]. Anything else, an HTTP
    /// date included, is [`Hint::NONE`] (spec 7.6).
    #[must_use]
    pub fn retry_after(value: &[u8]) -> Self {
        let digits = value.trim_ascii();
        let mut seconds: u64 = 0;
        for byte in digits {
            if !byte.is_ascii_digit() {
                return Self::NONE;
            }
            seconds = seconds.saturating_mul(10).saturating_add(u64::from(byte & 0x0f));
        }
        if digits.is_empty() { Self::NONE } else { Self::after(Span::from_secs(seconds)) }
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

/// What a policy does with a hint (spec 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HintMode {
    /// Never before the hint: the whole range of the jittered delay moves up until its bottom is the hint.
    #[default]
    Floor,
    /// The hint instead of the backoff's delay, the jitter's spread on top of it.
    Replace,
    /// As if the server had said nothing.
    Ignore,
}

/// What a policy does with a hint above its maximum (spec 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HintOver {
    /// Give up and say when the server would have us back.
    #[default]
    Stop,
    /// Wait the maximum instead.
    Clamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_and_saturate() {
        for (text, seconds) in [("120", 120), (" 5\t", 5), ("0", 0), ("007", 7)] {
            assert_eq!(Hint::retry_after(text.as_bytes()), Hint::after(Span::from_secs(seconds)), "{text}");
        }
        assert_eq!(Hint::retry_after(b"99999999999999999999999999"), Hint::after(Span::MAX));
    }

    #[test]
    fn what_is_not_seconds_is_no_hint() {
        for text in ["", " ", "-1", "+1", "1.5", "soon", "1 2", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert!(Hint::retry_after(text.as_bytes()).is_none(), "{text}");
        }
    }
}
