//! The numbers of the header, held to those of the core.

use crate::*;

numbers! {
    /// Step kind: run the operation, then say how it ended with holdoff_call_succeed or holdoff_call_fail.
    HOLDOFF_ATTEMPT: u8 = 1 is RawStep::ATTEMPT;
    /// Step kind: wait until `at`, then call holdoff_call_tick.
    HOLDOFF_SLEEP: u8 = 2 is RawStep::SLEEP;
    /// Step kind: an attempt is in flight; keep what you are doing.
    HOLDOFF_WAIT: u8 = 3 is RawStep::WAIT;
    /// Step kind: it is over, see the outcome. Said again to whatever comes later.
    HOLDOFF_STOP: u8 = 4 is RawStep::STOP;

    /// Outcome: an attempt succeeded.
    HOLDOFF_SUCCEEDED: u8 = 1 is RawStep::SUCCEEDED;
    /// Outcome: no attempt succeeded and there will be no other; `reason` is a HOLDOFF_REASON_ number.
    HOLDOFF_GAVE_UP: u8 = 2 is RawStep::GAVE_UP;
    /// Outcome: the caller cancelled.
    HOLDOFF_CANCELLED: u8 = 3 is RawStep::CANCELLED;
}

/// Outcome: the library was handed something it cannot work with; `reason` is
/// HOLDOFF_ERROR_NOT_A_GUARD or a HOLDOFF_ERROR_ number from 200 on.
pub const HOLDOFF_INVALID: u8 = 4;

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
    HOLDOFF_FIRST_TICKET: u64 = 1 is Ticket::FIRST.as_raw();
}
