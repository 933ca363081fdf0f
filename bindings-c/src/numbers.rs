//! The numbers of the header, held to those of the core.

use crate::*;
use holdoff_core::{Cause, FailureKind, FlatStep, Span, StopReason};

numbers! {
    /// Step kind: run the operation, then say how it ended with holdoff_call_succeed or holdoff_call_fail.
    HOLDOFF_ATTEMPT: u8 = 1 is FlatStep::ATTEMPT;
    /// Step kind: wait until `at`, then call holdoff_call_tick.
    HOLDOFF_SLEEP: u8 = 2 is FlatStep::SLEEP;
    /// Step kind: an attempt is in flight; keep what you are doing.
    HOLDOFF_WAIT: u8 = 3 is FlatStep::WAIT;
    /// Step kind: it is over, see the outcome. Said again to whatever comes later.
    HOLDOFF_STOP: u8 = 4 is FlatStep::STOP;

    /// Outcome: an attempt succeeded.
    HOLDOFF_SUCCEEDED: u8 = 1 is FlatStep::SUCCEEDED;
    /// Outcome: no attempt succeeded and there will be no other; `reason` is a HOLDOFF_REASON_ number.
    HOLDOFF_GAVE_UP: u8 = 2 is FlatStep::GAVE_UP;
    /// Outcome: the caller cancelled.
    HOLDOFF_CANCELLED: u8 = 3 is FlatStep::CANCELLED;
}

/// Outcome: the library was handed something it cannot work with; `reason` is
/// HOLDOFF_ERROR_NOT_A_GUARD or a HOLDOFF_ERROR_ number from 200 on.
pub const HOLDOFF_INVALID: u8 = 4;

numbers! {
    /// Stop reason: the failure is one that is never retried, or the server said never.
    HOLDOFF_REASON_PERMANENT: u8 = 1 is StopReason::Permanent;
    /// Stop reason: all attempts are used.
    HOLDOFF_REASON_ATTEMPTS: u8 = 2 is StopReason::Attempts;
    /// Stop reason: the next attempt would not fit before the deadline.
    HOLDOFF_REASON_DEADLINE: u8 = 3 is StopReason::Deadline;
    /// Stop reason: the budget for retries is spent.
    HOLDOFF_REASON_BUDGET: u8 = 4 is StopReason::Budget;
    /// Stop reason: the circuit breaker is open.
    HOLDOFF_REASON_BREAKER: u8 = 5 is StopReason::Breaker;
    /// Stop reason: the rate limit is reached.
    HOLDOFF_REASON_LIMITER: u8 = 6 is StopReason::Limiter;
    /// Stop reason: as many calls run and wait as there may be.
    HOLDOFF_REASON_BULKHEAD: u8 = 7 is StopReason::Bulkhead;
    /// Stop reason: the server asked for a longer wait than the policy allows.
    HOLDOFF_REASON_HINT: u8 = 8 is StopReason::Hint;
    /// Stop reason: the caller cancelled.
    HOLDOFF_REASON_CANCELLED: u8 = 9 is StopReason::Cancelled;

    /// Cause of a sleep: the policy's backoff and jitter.
    HOLDOFF_CAUSE_BACKOFF: u8 = 1 is Cause::Backoff;
    /// Cause of a sleep: the server's hint moved it.
    HOLDOFF_CAUSE_HINT: u8 = 2 is Cause::Hint;
    /// Cause of a sleep: the deadline cut it short.
    HOLDOFF_CAUSE_CLIP: u8 = 3 is Cause::Clip;
    /// Cause of a sleep: the circuit breaker lets nobody through before.
    HOLDOFF_CAUSE_BREAKER: u8 = 5 is Cause::Breaker;
    /// Cause of a sleep: the rate limit has room then.
    HOLDOFF_CAUSE_LIMITER: u8 = 6 is Cause::Limiter;
    /// Cause of a sleep: until then at most, for a place in the bulkhead. Tick also whenever another call that shares the bulkhead
    /// has ended an attempt.
    HOLDOFF_CAUSE_BULKHEAD: u8 = 7 is Cause::Bulkhead;

    /// Failure kind: may go away by itself, such as a lost connection or an overloaded server.
    HOLDOFF_TRANSIENT: u32 = 1 is FailureKind::Transient;
    /// Failure kind: the server asked for less (HTTP 429).
    HOLDOFF_THROTTLED: u32 = 2 is FailureKind::Throttled;
    /// Failure kind: no answer in time.
    HOLDOFF_TIMEOUT: u32 = 3 is FailureKind::Timeout;
    /// Failure kind: will fail again. Never retried.
    HOLDOFF_PERMANENT: u32 = 4 is FailureKind::Permanent;
}

/// Hint: the server said nothing about when to come back.
pub const HOLDOFF_HINT_NONE: u32 = 0;
/// Hint: not before `hint_ns` from now.
pub const HOLDOFF_HINT_AFTER: u32 = 1;
/// Hint: do not retry.
pub const HOLDOFF_HINT_NEVER: u32 = 2;

/// "At no time": later than every instant.
pub const HOLDOFF_NEVER: u64 = u64::MAX;
numbers! {
    /// The longest length of time there is, in nanoseconds: 292 years.
    HOLDOFF_LONGEST_NS: u64 = 9223372036854775807 is Span::MAX.as_nanos();
    /// The ticket of a call's first attempt: what a call that is underway waits for.
    HOLDOFF_FIRST_TICKET: u64 = 1 is holdoff_core::Ticket::FIRST.as_raw();
}
