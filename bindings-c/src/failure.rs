//! One failed attempt, as a machine sees it.

use crate::*;

/// One failed attempt: what kind of failure, what the server said about when to come back, and which rule of the policy takes
/// it. 16 bytes, by value. If only the kind is known, leave the other fields zero: that means no hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct holdoff_failure {
    /// HOLDOFF_TRANSIENT, HOLDOFF_THROTTLED, HOLDOFF_TIMEOUT or HOLDOFF_PERMANENT. Any other number is answered with
    /// HOLDOFF_STOP, HOLDOFF_INVALID, HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND.
    pub kind: u32,
    /// HOLDOFF_HINT_NONE, HOLDOFF_HINT_AFTER or HOLDOFF_HINT_NEVER. Any other number reads as none.
    pub hint: u16,
    /// The number of the policy's rule that takes the failure, from 1, as holdoff_rules_judge writes it; HOLDOFF_NO_RULE for
    /// none. With 0 nobody has judged it: the first rule takes it that holds for its kind alone.
    pub rule: u16,
    /// HOLDOFF_HINT_AFTER: how long from now, in nanoseconds; at most HOLDOFF_LONGEST_NS, more reads as that.
    pub hint_ns: u64,
}

/// Rule of a failure: judged, and no rule takes it.
pub const HOLDOFF_NO_RULE: u16 = 255;
const _: () = assert!(HOLDOFF_NO_RULE == Failure::NO_RULE as u16);

impl holdoff_failure {
    pub(crate) fn new(kind: u8, rule: u8, hint: Hint) -> Self {
        let (hint, hint_ns) = raw_hint(hint);
        Self { kind: kind.into(), hint: hint as u16, rule: rule.into(), hint_ns }
    }

    /// Tells whether the failure can be retried and has no hint and no rule, as most failures. One comparison of the word that
    /// holds the three numbers.
    #[inline(always)]
    pub(crate) const fn is_common(self) -> bool {
        const _: () = assert!(HOLDOFF_TRANSIENT == 1 && HOLDOFF_TIMEOUT == 3 && HOLDOFF_PERMANENT == 4);
        let word = (self.rule as u64) << 48 | (self.hint as u64) << 32 | self.kind as u64;
        word.wrapping_sub(1) < HOLDOFF_TIMEOUT as u64
    }
}

impl TryFrom<holdoff_failure> for Failure {
    type Error = ErrorCode;

    #[inline(always)]
    fn try_from(failure: holdoff_failure) -> Result<Self, ErrorCode> {
        let kind = kind_of(failure.kind)?;
        let hint = match failure.hint.into() {
            HOLDOFF_HINT_AFTER => Hint::after(span(failure.hint_ns)),
            HOLDOFF_HINT_NEVER => Hint::NEVER,
            _ => Hint::NONE,
        };
        Ok(Self { rule: u8::try_from(failure.rule).unwrap_or(Self::NO_RULE), ..Self::new(kind).with_hint(hint) })
    }
}

impl From<Failure> for holdoff_failure {
    fn from(failure: Failure) -> Self {
        Self::new(failure.kind.code(), failure.rule, failure.hint)
    }
}

/// A HOLDOFF_HINT_ number and its nanoseconds.
pub(crate) fn raw_hint(hint: Hint) -> (u32, u64) {
    match hint.span() {
        Some(span) => (HOLDOFF_HINT_AFTER, span.as_nanos()),
        None if hint.is_never() => (HOLDOFF_HINT_NEVER, 0),
        None => (HOLDOFF_HINT_NONE, 0),
    }
}

extern_c! {
    /// Returns a failure of a kind (HOLDOFF_TRANSIENT, ...), without a hint.
    fn holdoff_failure_of(kind: u32) -> holdoff_failure =
        holdoff_failure { kind, hint: 0, rule: 0, hint_ns: 0 };

    /// Classifies an HTTP answer. `retry_after` is the value of its Retry-After header, or NULL without one; a value in
    /// seconds becomes the hint, an HTTP date or anything else none: for dates and other headers see
    /// holdoff_failure_from_headers.
    ///
    /// Returns whether the status is a failure. If it is, it is written to `failure` (which may be NULL); a status from 100
    /// to 399 is none, and writes nothing. 408 and 504 are timeouts, 429 is throttled, 425 and the other 5xx are transient;
    /// everything else, 501 and 505 included, is permanent.
    fn holdoff_failure_from_http(status: u32, retry_after: *const c_char, failure: *mut holdoff_failure) -> bool =
        write_some(failure, Failure::from_http(status, c_bytes(retry_after)).map(holdoff_failure::from));

    /// Classifies how a gRPC call ended: its status code, and the value of its grpc-retry-pushback-ms trailer, or NULL
    /// without one, which becomes the hint; a negative one means never.
    ///
    /// Returns whether the code is a failure. If it is, it is written to `failure` (which may be NULL); 0 (OK) is none, and
    /// writes nothing. 14 (UNAVAILABLE) is transient, 8 (RESOURCE_EXHAUSTED) throttled, 4 (DEADLINE_EXCEEDED) a timeout;
    /// everything else is permanent.
    fn holdoff_failure_from_grpc(code: u32, pushback: *const c_char, failure: *mut holdoff_failure) -> bool =
        write_some(failure, Failure::from_grpc(code, c_bytes(pushback)).map(holdoff_failure::from));
}
