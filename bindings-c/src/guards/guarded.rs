//! The whole loop for a call under guards, as a machine.

use crate::*;

/// Turn: the call waits for no other call.
pub const HOLDOFF_TURN_NONE: u32 = 0;
/// Turn: it is in the bulkhead's queue; tick it when holdoff_bulkhead_entrant names its place.
pub const HOLDOFF_TURN_BULKHEAD: u32 = 1;
/// Turn: it is behind others at a breaker; tick as many calls as holdoff_breaker_admits says, the longest waiting first.
pub const HOLDOFF_TURN_BREAKER: u32 = 2;
/// Turn: it is in the limiter's line; tick as many calls as holdoff_limiter_to_wake says, the longest waiting first.
pub const HOLDOFF_TURN_LIMITER: u32 = 3;
/// Turn: it is in the line of the adaptive rate; tick as many calls as holdoff_adaptive_to_wake says, the longest waiting first.
pub const HOLDOFF_TURN_ADAPTIVE: u32 = 4;

memory! {
    /// One call under guards, from its first attempt to its end: 208 bytes. May be copied and moved; one thread at a time.
    /// Memory that is all zero reads as a call that was cancelled. The content is the library's.
    ///
    /// It is driven like a holdoff_call, with the same guards each time (NULL for none). In addition:
    ///
    /// - the first step may be HOLDOFF_SLEEP or HOLDOFF_STOP: a guard refuses the first attempt as it does any other;
    /// - HOLDOFF_ATTEMPT may have a `wake_at`: if nothing has ended by then, tick, and perhaps run another attempt beside
    ///   it. At HOLDOFF_STOP abort all that still runs; its results are of no interest;
    /// - HOLDOFF_SLEEP may end before its time, when others have gone before the call: holdoff_guarded_call_turn says at which guard,
    ///   and a HOLDOFF_TURN_ number says when to tick then;
    /// - to drop a call before HOLDOFF_STOP use holdoff_guarded_call_cancel, or the permits that it holds are lost.
    ///
    /// Wrong use changes nothing and is answered with HOLDOFF_STOP, HOLDOFF_INVALID and the number of the error as the
    /// reason: HOLDOFF_ERROR_NOT_A_GUARD for a pointer in the guards that points to none, else as for a holdoff_call.
    holdoff_guarded_call([u64; 25]) holds GuardedCall, b"hoGuard1", NotACall
}

/// Begins a call under guards. Without a policy it is left zeroed, which is a call that has ended.
///
/// # Safety
/// The pointers are null or point to objects of their types, and nothing else touches them meanwhile.
pub(crate) unsafe fn begin_guarded<'a, M: Memory>(
    call: *mut M,
    guards: *const holdoff_guards,
    policy: impl FnOnce() -> Result<&'a Policy, ErrorCode>,
    start: impl FnOnce(&Policy, &mut Guards<'_>) -> (M::Inner, Step),
) -> holdoff_step {
    let mut borrowed = Guards::none();
    // SAFETY: passed on.
    let policy = unsafe { borrow_guards(guards, &mut borrowed) }.and_then(|()| policy());
    if let Err(error) = check_memory(call) {
        // A call that cannot be stored would keep what it takes of the guards.
        return error.into();
    }
    // SAFETY: passed on.
    unsafe { begin(call, policy.map(|policy| start(policy, &mut borrowed))) }
}

/// An input to a call under its guards.
type Input<'i, Call> = &'i mut dyn FnMut(&mut Call, &mut Guards<'_>) -> Result<Step, ErrorCode>;

/// Gives an input to a call, with its guards.
///
/// # Safety
/// The pointers are null or point to what their types say, and nothing else touches it meanwhile.
#[inline(never)]
pub(crate) unsafe fn put<M: Memory>(
    call: *mut M,
    guards: *const holdoff_guards,
    input: Input<'_, M::Inner>,
) -> holdoff_step {
    let mut borrowed = Guards::none();
    // SAFETY: passed on.
    unsafe {
        give(call, |call| {
            borrow_guards(guards, &mut borrowed)?;
            input(call, &mut borrowed)
        })
    }
}

extern_c! {
    on (call, guards) in holdoff_guarded_call as call;

    /// Begins a call at `now`. The seed decides its jitter: draw it from the operating system, or give a fixed one to
    /// repeat a run.
    ///
    /// Returns the first step. Without a policy, or with something else in a guard's place, the call is left zeroed, which
    /// is a call that has ended.
    fn holdoff_guarded_call_begin(call: *mut holdoff_guarded_call, policy, guards, seed, now) -> holdoff_step = {
        begin_guarded(call, guards, || get(policy), |policy, guards| GuardedCall::begin(policy, guards, seed, now))
    };

    /// Records the success of the attempt with this ticket at `now`: the call is over, even if other attempts are in
    /// flight.
    ///
    /// Returns the step that holds now.
    step holdoff_guarded_call_succeed(guards, ticket, now) = call.succeed(guards, Ticket::from_raw(ticket), now);

    /// Records the failure of the attempt with this ticket at `now`.
    ///
    /// Returns the step that holds now: HOLDOFF_WAIT while others are in flight, HOLDOFF_ATTEMPT for one beside them,
    /// HOLDOFF_SLEEP, or HOLDOFF_STOP.
    step holdoff_guarded_call_fail(policy, guards, ticket, now, failure) =
        call.fail(get(policy)?, guards, Ticket::from_raw(ticket), now, Failure::try_from(failure)?);

    /// Ends the attempt with this ticket at `now` without a verdict on the server: for a fault of the caller's own program.
    /// The call is over, as after a permanent failure.
    ///
    /// Returns the step that holds now.
    step holdoff_guarded_call_abandon(guards, ticket, now) = call.abandon(guards, Ticket::from_raw(ticket), now);

    /// Lets time pass, or takes a free place in the bulkhead or the breaker.
    ///
    /// Returns the step that holds at `now`.
    step holdoff_guarded_call_tick(policy, guards, now) = call.tick(get(policy)?, guards, now);

    /// Cancels the call in any state: the guards get back the permits that it holds.
    ///
    /// Returns HOLDOFF_STOP: HOLDOFF_CANCELLED, or how the call had ended before.
    step holdoff_guarded_call_cancel(guards, now) = call.cancel(guards, now);
}

extern_c! {
    /// Notes that the call began when the latest refusal of its budget had that number (holdoff_budget_refusals): for a host whose first
    /// attempt ran before the call.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    status holdoff_guarded_call_note(call: *mut holdoff_guarded_call, refusals: u32) = {
        let call = get_mut(call)?;
        *call = call.noting(refusals);
    };
}

extern_c! {
    on holdoff_guarded_call as call;

    /// Returns the number of attempts started; 0 for memory without a call.
    get holdoff_guarded_call_attempt() -> u32 = call.attempt(), else 0;

    /// Returns the number of attempts in flight; 0 for memory without a call.
    get holdoff_guarded_call_flying() -> u32 = call.flying(), else 0;

    /// Returns the guard at which other calls come before this one, which sleeps: a HOLDOFF_TURN_ number. HOLDOFF_TURN_NONE for memory
    /// without a call.
    get holdoff_guarded_call_turn() -> u32 = call.awaited_turn().map_or(HOLDOFF_TURN_NONE, Turn::code), else HOLDOFF_TURN_NONE;

    /// Tells the place of a call that waits in the bulkhead's queue, and writes it to `place` (which may be NULL): the call to tick
    /// when holdoff_bulkhead_entrant names that place.
    ///
    /// Returns whether it waits there; false for memory without a call.
    fn holdoff_guarded_call_queue_place(call: *const holdoff_guarded_call, place: *mut QueuePlace) -> bool =
        write_some(place, get(call).ok().and_then(|call| call.queue_place()));

    /// Returns how long a call that sleeps still sleeps at `now`, in nanoseconds; 0 for any other call and for memory
    /// without a call.
    get holdoff_guarded_call_remaining(now) -> Span = call.remaining(now), else Span::ZERO;
}
