//! Failures, in the few kinds that change a decision.
//!
//! A host turns its own errors and responses into a [`Failure`]; nothing else of them enters a machine.

use crate::decide::hint::Hint;
use crate::words::words;

words! {
    /// The kinds of failure a decision depends on.
    #[non_exhaustive]
    pub enum FailureKind: u8 {
        /// May go away by itself: a lost connection, an overloaded server.
        Transient = 1 "transient" "may go away by itself";
        /// The server asked for less: HTTP 429.
        Throttled = 2 "throttled" "the server asked for less";
        /// No answer in time.
        Timeout = 3 "timeout" "no answer in time";
        /// Will fail again: a bad request, a programming error. Never retried.
        Permanent = 4 "permanent" "will fail again; never retried";
    }
}

impl FailureKind {
    /// The kind of an HTTP status; `None` for a status that is no failure (below 400) (spec 8.2).
    ///
    /// The retryable ones are 408, 425 and 429 (RFC 9110, RFC 8470, RFC 6585) and the 5xx, but for 501 and 505, which say
    /// that the server never will.
    pub const fn from_http_status(status: u32) -> Option<Self> {
        match status {
            100..=399 => None,
            408 | 504 => Some(Self::Timeout),
            429 => Some(Self::Throttled),
            501 | 505 => Some(Self::Permanent),
            425 | 500..=599 => Some(Self::Transient),
            _ => Some(Self::Permanent),
        }
    }
}

/// One failed attempt, as a machine sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The kind of the failure.
    pub kind: FailureKind,
    /// The number of the policy's rule that takes it, from 1; [`Failure::NO_RULE`] for none. 0 for a failure that nobody has
    /// judged: the first rule takes it that holds for its kind alone.
    pub rule: u8,
    /// The server's hint when to retry.
    pub hint: Hint,
}

impl Failure {
    /// A failure that may go away by itself.
    pub const TRANSIENT: Self = Self::new(FailureKind::Transient);
    /// A server that asked for less.
    pub const THROTTLED: Self = Self::new(FailureKind::Throttled);
    /// No answer in time.
    pub const TIMEOUT: Self = Self::new(FailureKind::Timeout);
    /// A failure that is never retried.
    pub const PERMANENT: Self = Self::new(FailureKind::Permanent);
    /// The number of a failure that no rule takes.
    pub const NO_RULE: u8 = u8::MAX;

    /// A failure of `kind`, without a hint.
    pub const fn new(kind: FailureKind) -> Self {
        Self { kind, rule: 0, hint: Hint::NONE }
    }

    /// The same failure with what the server said.
    #[must_use]
    pub const fn with_hint(mut self, hint: Hint) -> Self {
        self.hint = hint;
        self
    }

    /// The failure that the header `x-should-retry` makes of it: permanent with 2 for `false`, transient instead of permanent with 1
    /// for `true`, itself with any other number (spec 8.7).
    #[must_use]
    pub(crate) const fn advised(mut self, should_retry: u8) -> Self {
        match should_retry {
            2 => self.kind = FailureKind::Permanent,
            1 if matches!(self.kind, FailureKind::Permanent) => self.kind = FailureKind::Transient,
            _ => {}
        }
        self
    }

    /// An HTTP answer with its hint, see [`HintReader`](crate::HintReader). `None` if the status is no failure.
    pub const fn of_answer(status: u32, hint: Hint) -> Option<Self> {
        match FailureKind::from_http_status(status) {
            Some(kind) => Some(Self::new(kind).with_hint(hint)),
            None => None,
        }
    }

    /// An HTTP answer by its status and the value of its `Retry-After` header, without a wall clock: an HTTP date is no
    /// hint. `None` if the status is no failure.
    pub fn from_http(status: u32, retry_after: Option<&[u8]>) -> Option<Self> {
        Self::of_answer(status, retry_after.map_or(Hint::NONE, Hint::retry_after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_statuses_say_whether_to_come_back() {
        use FailureKind::{Permanent, Throttled, Timeout, Transient};
        for (status, kind) in [
            (200, None),
            (304, None),
            (400, Some(Permanent)),
            (404, Some(Permanent)),
            (408, Some(Timeout)),
            (425, Some(Transient)),
            (429, Some(Throttled)),
            (500, Some(Transient)),
            (501, Some(Permanent)),
            (503, Some(Transient)),
            (504, Some(Timeout)),
            (505, Some(Permanent)),
            (599, Some(Transient)),
            (600, Some(Permanent)),
            (0, Some(Permanent)),
            (u32::MAX, Some(Permanent)),
        ] {
            assert_eq!(FailureKind::from_http_status(status), kind, "{status}");
        }
    }

    #[test]
    fn a_grpc_status_and_its_pushback_are_a_failure() {
        use crate::time::Span;
        assert_eq!(Failure::from_grpc(0, Some(b"5")), None);
        let hint = Hint::after(Span::from_millis(5));
        assert_eq!(Failure::from_grpc(14, Some(b"5")), Some(Failure::TRANSIENT.with_hint(hint)));
        assert_eq!(Failure::from_grpc(8, Some(b"-1")), Some(Failure::THROTTLED.with_hint(Hint::NEVER)));
        assert_eq!(Failure::from_grpc(4, None), Some(Failure::TIMEOUT));
        assert_eq!(Failure::from_grpc(3, Some(b"5")), Some(Failure::PERMANENT.with_hint(hint)));
        assert_eq!(Failure::from_grpc(17, None), Some(Failure::PERMANENT));
        assert_eq!(Failure::from_grpc(u32::MAX, None), Some(Failure::PERMANENT));
    }

    #[test]
    fn an_answer_is_its_status_and_its_hint() {
        assert_eq!(Failure::of_answer(200, Hint::NEVER), None);
        assert_eq!(Failure::of_answer(503, Hint::NEVER), Some(Failure::TRANSIENT.with_hint(Hint::NEVER)));
    }

    #[test]
    fn a_kind_survives_its_number() {
        for kind in FailureKind::ALL {
            assert_eq!(FailureKind::from_code(u32::from(kind.code())), Some(kind));
        }
        assert_eq!(FailureKind::from_code(0), None);
    }
}
