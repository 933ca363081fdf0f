//! The numbers of the header, held to those of the core.

use holdoff_core::{Cause, ErrorCode, FailureKind, FlatStep, Span, StopReason};

/// Step kind: run the operation, then say how it ended with holdoff_call_succeed or holdoff_call_fail.
pub const HOLDOFF_ATTEMPT: u8 = 1;
/// Step kind: wait until `at`, then call holdoff_call_tick.
pub const HOLDOFF_SLEEP: u8 = 2;
/// Step kind: an attempt is in flight; keep what you are doing.
pub const HOLDOFF_WAIT: u8 = 3;
/// Step kind: it is over, see the outcome. Said again to whatever comes later.
pub const HOLDOFF_STOP: u8 = 4;

/// Outcome: an attempt succeeded.
pub const HOLDOFF_SUCCEEDED: u8 = 1;
/// Outcome: no attempt succeeded and there will be no other; `reason` is a HOLDOFF_REASON_ number.
pub const HOLDOFF_GAVE_UP: u8 = 2;
/// Outcome: the caller cancelled.
pub const HOLDOFF_CANCELLED: u8 = 3;
/// Outcome: the library was handed something it cannot work with; `reason` is a HOLDOFF_ERROR_ number from 200 on.
pub const HOLDOFF_INVALID: u8 = 4;

/// Stop reason: the failure is one that is never retried, or the server said never.
pub const HOLDOFF_REASON_PERMANENT: u8 = 1;
/// Stop reason: all attempts are used.
pub const HOLDOFF_REASON_ATTEMPTS: u8 = 2;
/// Stop reason: the next attempt would not fit before the deadline.
pub const HOLDOFF_REASON_DEADLINE: u8 = 3;
/// Stop reason: the server asked for a longer wait than the policy allows.
pub const HOLDOFF_REASON_HINT: u8 = 8;
/// Stop reason: the caller cancelled.
pub const HOLDOFF_REASON_CANCELLED: u8 = 9;

/// Cause of a sleep: the policy's backoff and jitter.
pub const HOLDOFF_CAUSE_BACKOFF: u8 = 1;
/// Cause of a sleep: the server's hint moved it.
pub const HOLDOFF_CAUSE_HINT: u8 = 2;
/// Cause of a sleep: the deadline cut it short.
pub const HOLDOFF_CAUSE_CLIP: u8 = 3;

/// Failure kind: may go away by itself, such as a lost connection or an overloaded server.
pub const HOLDOFF_TRANSIENT: u32 = 1;
/// Failure kind: the server asked for less (HTTP 429).
pub const HOLDOFF_THROTTLED: u32 = 2;
/// Failure kind: no answer in time.
pub const HOLDOFF_TIMEOUT: u32 = 3;
/// Failure kind: will fail again. Never retried.
pub const HOLDOFF_PERMANENT: u32 = 4;

/// Hint: the server said nothing about when to come back.
pub const HOLDOFF_HINT_NONE: u32 = 0;
/// Hint: not before `hint_ns` from now.
pub const HOLDOFF_HINT_AFTER: u32 = 1;
/// Hint: do not retry.
pub const HOLDOFF_HINT_NEVER: u32 = 2;

/// "At no time": later than every instant.
pub const HOLDOFF_NEVER: u64 = u64::MAX;
/// The longest length of time there is, in nanoseconds: 292 years.
pub const HOLDOFF_LONGEST_NS: u64 = 9223372036854775807;
/// The ticket of a call's first attempt: what a call that is underway waits for.
pub const HOLDOFF_FIRST_TICKET: u64 = 1;

/// No error.
pub const HOLDOFF_OK: u32 = 0;
/// No policy field has this name.
pub const HOLDOFF_ERROR_UNKNOWN_FIELD: u32 = 100;
/// The value is of a type that the field does not take.
pub const HOLDOFF_ERROR_WRONG_TYPE: u32 = 101;
/// The word is not one of those allowed.
pub const HOLDOFF_ERROR_UNKNOWN_WORD: u32 = 102;
/// Not a length of time: negative, not finite, too long, or without a known unit.
pub const HOLDOFF_ERROR_NOT_A_DURATION: u32 = 103;
/// Attempts outside 1 to 4294967294.
pub const HOLDOFF_ERROR_ATTEMPTS_RANGE: u32 = 104;
/// A backoff factor that is negative or not finite.
pub const HOLDOFF_ERROR_FACTOR_RANGE: u32 = 105;
/// A longest delay below the first delay.
pub const HOLDOFF_ERROR_MAX_BELOW_INITIAL: u32 = 106;
/// A limit of no time at all.
pub const HOLDOFF_ERROR_ZERO_LIMIT: u32 = 107;
/// min_attempt leaves no room before the deadline.
pub const HOLDOFF_ERROR_MIN_ATTEMPT_RANGE: u32 = 108;
/// on_deadline is "clip" without a min_attempt.
pub const HOLDOFF_ERROR_CLIP_NEEDS_MIN_ATTEMPT: u32 = 109;
/// A jitter factor that is negative, not finite, or above 1 where it may not be.
pub const HOLDOFF_ERROR_JITTER_FACTOR_RANGE: u32 = 110;
/// A field that the chosen kind has no use for.
pub const HOLDOFF_ERROR_NOT_FOR_KIND: u32 = 111;
/// A jitter that needs a factor has none.
pub const HOLDOFF_ERROR_JITTER_FACTOR_MISSING: u32 = 112;
/// A seed that is no whole number from 0 to 2^64-1: impossible in C, where a seed is a uint64_t.
pub const HOLDOFF_ERROR_SEED_RANGE: u32 = 113;
/// A null pointer where an object is needed.
pub const HOLDOFF_ERROR_NULL_POINTER: u32 = 200;
/// Memory that holds no policy (or options): zeroed, stale or foreign.
pub const HOLDOFF_ERROR_NOT_A_POLICY: u32 = 201;
/// Memory that holds no call (or retry, or schedule): stale or foreign.
pub const HOLDOFF_ERROR_NOT_A_CALL: u32 = 202;
/// A time beyond what its type holds: impossible in C, where a time is a uint64_t.
pub const HOLDOFF_ERROR_TIME_RANGE: u32 = 203;
/// A failure kind that is none of the four.
pub const HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND: u32 = 204;

macro_rules! same {
    ($($header:ident = $core:expr),* $(,)?) => { $(const _: () = assert!($header as u64 == $core as u64);)* };
}

same! {
    HOLDOFF_ATTEMPT = FlatStep::ATTEMPT,
    HOLDOFF_SLEEP = FlatStep::SLEEP,
    HOLDOFF_WAIT = FlatStep::WAIT,
    HOLDOFF_STOP = FlatStep::STOP,
    HOLDOFF_SUCCEEDED = FlatStep::SUCCEEDED,
    HOLDOFF_GAVE_UP = FlatStep::GAVE_UP,
    HOLDOFF_CANCELLED = FlatStep::CANCELLED,
    HOLDOFF_REASON_PERMANENT = StopReason::Permanent,
    HOLDOFF_REASON_ATTEMPTS = StopReason::Attempts,
    HOLDOFF_REASON_DEADLINE = StopReason::Deadline,
    HOLDOFF_REASON_HINT = StopReason::Hint,
    HOLDOFF_REASON_CANCELLED = StopReason::Cancelled,
    HOLDOFF_CAUSE_BACKOFF = Cause::Backoff,
    HOLDOFF_CAUSE_HINT = Cause::Hint,
    HOLDOFF_CAUSE_CLIP = Cause::Clip,
    HOLDOFF_TRANSIENT = FailureKind::Transient,
    HOLDOFF_THROTTLED = FailureKind::Throttled,
    HOLDOFF_TIMEOUT = FailureKind::Timeout,
    HOLDOFF_PERMANENT = FailureKind::Permanent,
    HOLDOFF_LONGEST_NS = Span::MAX.as_nanos(),
    HOLDOFF_FIRST_TICKET = holdoff_core::Ticket::FIRST.as_raw(),
    HOLDOFF_ERROR_UNKNOWN_FIELD = ErrorCode::UnknownField,
    HOLDOFF_ERROR_WRONG_TYPE = ErrorCode::WrongType,
    HOLDOFF_ERROR_UNKNOWN_WORD = ErrorCode::UnknownWord,
    HOLDOFF_ERROR_NOT_A_DURATION = ErrorCode::NotADuration,
    HOLDOFF_ERROR_ATTEMPTS_RANGE = ErrorCode::AttemptsRange,
    HOLDOFF_ERROR_FACTOR_RANGE = ErrorCode::FactorRange,
    HOLDOFF_ERROR_MAX_BELOW_INITIAL = ErrorCode::MaxBelowInitial,
    HOLDOFF_ERROR_ZERO_LIMIT = ErrorCode::ZeroLimit,
    HOLDOFF_ERROR_MIN_ATTEMPT_RANGE = ErrorCode::MinAttemptRange,
    HOLDOFF_ERROR_CLIP_NEEDS_MIN_ATTEMPT = ErrorCode::ClipNeedsMinAttempt,
    HOLDOFF_ERROR_JITTER_FACTOR_RANGE = ErrorCode::JitterFactorRange,
    HOLDOFF_ERROR_NOT_FOR_KIND = ErrorCode::NotForKind,
    HOLDOFF_ERROR_JITTER_FACTOR_MISSING = ErrorCode::JitterFactorMissing,
    HOLDOFF_ERROR_SEED_RANGE = ErrorCode::SeedRange,
    HOLDOFF_ERROR_NULL_POINTER = ErrorCode::NullPointer,
    HOLDOFF_ERROR_NOT_A_POLICY = ErrorCode::NotAPolicy,
    HOLDOFF_ERROR_NOT_A_CALL = ErrorCode::NotACall,
    HOLDOFF_ERROR_TIME_RANGE = ErrorCode::TimeRange,
    HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND = ErrorCode::UnknownFailureKind,
}

/// The number of an error, or of none, for a function that returns an `int`.
pub(crate) fn status(result: Result<(), ErrorCode>) -> core::ffi::c_int {
    result.map_or_else(|code| core::ffi::c_int::from(code.code()), |()| 0)
}
