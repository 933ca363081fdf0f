//! The numbers of the header, held to those of the core.

use holdoff_core::{Cause, FailureKind, FlatStep, Span, StopReason};

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
/// Outcome: the library was handed something it cannot work with; `reason` is
/// HOLDOFF_ERROR_NOT_A_GUARD or a HOLDOFF_ERROR_ number from 200 on.
pub const HOLDOFF_INVALID: u8 = 4;

/// Stop reason: the failure is one that is never retried, or the server said never.
pub const HOLDOFF_REASON_PERMANENT: u8 = 1;
/// Stop reason: all attempts are used.
pub const HOLDOFF_REASON_ATTEMPTS: u8 = 2;
/// Stop reason: the next attempt would not fit before the deadline.
pub const HOLDOFF_REASON_DEADLINE: u8 = 3;
/// Stop reason: the budget for retries is spent.
pub const HOLDOFF_REASON_BUDGET: u8 = 4;
/// Stop reason: the circuit breaker is open.
pub const HOLDOFF_REASON_BREAKER: u8 = 5;
/// Stop reason: the rate limit is reached.
pub const HOLDOFF_REASON_LIMITER: u8 = 6;
/// Stop reason: as many calls run and wait as there may be.
pub const HOLDOFF_REASON_BULKHEAD: u8 = 7;
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
/// Cause of a sleep: the circuit breaker lets nobody through before.
pub const HOLDOFF_CAUSE_BREAKER: u8 = 5;
/// Cause of a sleep: the rate limit has room then.
pub const HOLDOFF_CAUSE_LIMITER: u8 = 6;
/// Cause of a sleep: until then at most, for a place in the bulkhead. Tick also whenever another call that shares the bulkhead
/// has ended an attempt.
pub const HOLDOFF_CAUSE_BULKHEAD: u8 = 7;

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
    HOLDOFF_REASON_BUDGET = StopReason::Budget,
    HOLDOFF_REASON_BREAKER = StopReason::Breaker,
    HOLDOFF_REASON_LIMITER = StopReason::Limiter,
    HOLDOFF_REASON_BULKHEAD = StopReason::Bulkhead,
    HOLDOFF_REASON_HINT = StopReason::Hint,
    HOLDOFF_REASON_CANCELLED = StopReason::Cancelled,
    HOLDOFF_CAUSE_BACKOFF = Cause::Backoff,
    HOLDOFF_CAUSE_HINT = Cause::Hint,
    HOLDOFF_CAUSE_CLIP = Cause::Clip,
    HOLDOFF_CAUSE_BREAKER = Cause::Breaker,
    HOLDOFF_CAUSE_LIMITER = Cause::Limiter,
    HOLDOFF_CAUSE_BULKHEAD = Cause::Bulkhead,
    HOLDOFF_TRANSIENT = FailureKind::Transient,
    HOLDOFF_THROTTLED = FailureKind::Throttled,
    HOLDOFF_TIMEOUT = FailureKind::Timeout,
    HOLDOFF_PERMANENT = FailureKind::Permanent,
    HOLDOFF_LONGEST_NS = Span::MAX.as_nanos(),
    HOLDOFF_FIRST_TICKET = holdoff_core::Ticket::FIRST.as_raw(),
}
