//! Steps of a call, as plain bytes by value, and their numbers.

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

/// The next step of a call: 24 bytes, by value. Numbers that a kind does not use are 0, times that it does not use are
/// HOLDOFF_NEVER.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct holdoff_step {
    /// HOLDOFF_ATTEMPT, HOLDOFF_SLEEP, HOLDOFF_WAIT or HOLDOFF_STOP.
    pub kind: u8,
    /// Stop: HOLDOFF_SUCCEEDED, HOLDOFF_GAVE_UP, HOLDOFF_CANCELLED or HOLDOFF_INVALID.
    pub outcome: u8,
    /// Gave up: a HOLDOFF_REASON_ number. Invalid: HOLDOFF_ERROR_NOT_A_GUARD or a
    /// HOLDOFF_ERROR_ number from 200 on.
    pub reason: u8,
    /// Sleep: a HOLDOFF_CAUSE_ number.
    pub cause: u8,
    /// Attempt: its number, from 1.
    pub attempt: u32,
    /// Attempt: when to abort it. Sleep, wait: until when. Gave up: when another try might succeed. In nanoseconds since
    /// the epoch of the `now` that went in.
    pub at: u64,
    /// Attempt: when to tick although it still runs, for another one beside it; HOLDOFF_NEVER unless a call hedges.
    pub wake_at: u64,
}

const _: () = assert!(size_of::<holdoff_step>() == 24);

impl From<Step> for holdoff_step {
    #[inline(always)]
    fn from(step: Step) -> Self {
        let RawStep { kind, outcome, reason, cause, attempt, at, wake_at } = step.into();
        let [a, b, c, d] = attempt.to_ne_bytes();
        let first = u64::from_ne_bytes([kind, outcome, reason, cause, a, b, c, d]);
        // SAFETY: 24 bytes of plain numbers either way. Whole words, because a caller that copies the step reads whole
        // words, and a processor makes that wait for single bytes.
        unsafe { core::mem::transmute::<[u64; 3], Self>([first, at, wake_at]) }
    }
}

/// Wrong use ends a loop: a step that is not a stop could be waited for in vain.
impl From<ErrorCode> for holdoff_step {
    #[cold]
    fn from(error: ErrorCode) -> Self {
        Self {
            kind: HOLDOFF_STOP,
            outcome: HOLDOFF_INVALID,
            reason: u8::try_from(error.code()).unwrap_or(u8::MAX),
            cause: 0,
            attempt: 0,
            at: HOLDOFF_NEVER,
            wake_at: HOLDOFF_NEVER,
        }
    }
}

impl From<Result<Step, ErrorCode>> for holdoff_step {
    #[inline(always)]
    fn from(result: Result<Step, ErrorCode>) -> Self {
        match result {
            Ok(step) => step.into(),
            Err(error) => error.into(),
        }
    }
}

extern_c! {
    /// Returns the ticket of an attempt, which goes back with its result; 0, which names no attempt, for a step of another
    /// kind.
    fn holdoff_step_ticket(step: holdoff_step) -> u64 =
        if step.kind == HOLDOFF_ATTEMPT { u64::from(step.attempt) } else { 0 };
}

/// Stores a call that begins, and returns its first step. Without a policy it is left zeroed, which is a call that has ended.
///
/// # Safety
/// `call` is null or points to memory of its type.
#[inline(always)]
pub(crate) unsafe fn begin<M: Memory>(call: *mut M, begun: Result<(M::Inner, Step), ErrorCode>) -> holdoff_step {
    match begun {
        // SAFETY: passed on.
        Ok((begun, step)) => unsafe { store(call, begun) }.map(|()| step).into(),
        Err(error) => {
            if check_memory(call).is_ok() {
                // SAFETY: not null and aligned; passed on.
                unsafe { call.write_bytes(0, 1) }
            }
            error.into()
        }
    }
}

/// Gives an input to a call, or returns the step for memory without one.
///
/// # Safety
/// As for [`get_mut`].
#[inline(always)]
pub(crate) unsafe fn give<M: Memory>(
    call: *mut M,
    input: impl FnOnce(&mut M::Inner) -> Result<Step, ErrorCode>,
) -> holdoff_step {
    // SAFETY: passed on.
    match unsafe { get_mut(call) } {
        Ok(call) => input(call).into(),
        // SAFETY: passed on.
        Err(error) => unsafe { no_call(call, error) },
    }
}

/// Returns the step for memory without a call: zeroed memory is a call that was cancelled.
///
/// # Safety
/// `memory` is null or points to an `M`.
#[cold]
pub(crate) unsafe fn no_call<M: Memory>(memory: *const M, error: ErrorCode) -> holdoff_step {
    // SAFETY: passed on.
    if unsafe { is_zeroed(memory) } { Step::Stop(Outcome::Cancelled).into() } else { error.into() }
}
