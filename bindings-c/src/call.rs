//! The whole loop as a machine.

use crate::*;

memory! {
    /// One call of an operation, from its first attempt to its end: 64 bytes. May be copied and moved; one thread at a
    /// time. Memory that is all zero reads as a call that was cancelled. The content is the library's.
    ///
    /// Each attempt is said exactly once; asked again while it runs the answer is HOLDOFF_WAIT. An input that is out of
    /// order, too early, after the end, or with the ticket of another attempt changes nothing but the latest time seen, and
    /// is answered with the step that still holds. HOLDOFF_STOP is final. A `now` before the latest one seen reads as that
    /// one, and HOLDOFF_NEVER as the last instant before it. Wrong use (a null pointer, memory without a call or a policy,
    /// an unknown failure kind) changes nothing and is answered with HOLDOFF_STOP, HOLDOFF_INVALID and the number of the
    /// error as the reason.
    holdoff_call([u64; 7]) holds Call, b"hoCall\0\x31", NotACall
}

extern_c! {
    /// Begins a call at `now`. The seed decides its jitter: draw it from the operating system, or give a fixed one to
    /// repeat a run.
    ///
    /// Returns the first step: attempt 1, to be aborted at `at`. Without a policy the call is left zeroed, which is a call
    /// that has ended.
    fn holdoff_call_begin(call: *mut holdoff_call, policy: *const holdoff_policy, seed: u64,
        now: Timestamp) -> holdoff_step =
        begin(call, get(policy).map(|policy| Call::begin(policy, seed, now)));

    /// Makes a call whose first attempt, HOLDOFF_FIRST_TICKET, already runs since `started`: the lazy way in, after a
    /// failure, so that an operation that succeeds at once needs no call at all.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    fn holdoff_call_underway(call: *mut holdoff_call, seed: u64, started: Timestamp) -> c_int =
        status(store(call, Call::underway(seed, started)));

    /// Records the success of the attempt with this ticket at `now`. A success after a limit is a success.
    ///
    /// Returns the step that holds now: HOLDOFF_STOP, HOLDOFF_SUCCEEDED when the attempt was the one in flight.
    fn holdoff_call_succeed(call: *mut holdoff_call, ticket: u64, now: Timestamp) -> holdoff_step =
        step(call_of(call).map(|call| call.succeed(Ticket::from_raw(ticket), now)));

    /// Records the failure of the attempt with this ticket at `now`.
    ///
    /// Returns the step that holds now: HOLDOFF_SLEEP until `at`, or HOLDOFF_STOP, HOLDOFF_GAVE_UP with the reason and, in
    /// `at`, when another try might succeed.
    fn holdoff_call_fail(call: *mut holdoff_call, policy: *const holdoff_policy, ticket: u64, now: Timestamp,
        failure: holdoff_failure) -> holdoff_step =
        step(call_of(call).and_then(|call| {
            let policy = get(policy)?;
            Ok(call.fail(policy, Ticket::from_raw(ticket), now, Failure::try_from(failure)?))
        }));

    /// Lets time pass.
    ///
    /// Returns the step that holds at `now`: the next HOLDOFF_ATTEMPT when its sleep is over, the same HOLDOFF_SLEEP when
    /// it is not, HOLDOFF_STOP when the deadline passed meanwhile.
    fn holdoff_call_tick(call: *mut holdoff_call, policy: *const holdoff_policy, now: Timestamp) -> holdoff_step =
        step(call_of(call).and_then(|call| Ok(call.tick(get(policy)?, now))));

    /// Cancels it in any state.
    ///
    /// Returns HOLDOFF_STOP: HOLDOFF_CANCELLED, or how the call had ended before.
    fn holdoff_call_cancel(call: *mut holdoff_call, now: Timestamp) -> holdoff_step =
        step(call_of(call).map(|call| call.cancel(now)));

    /// Returns the number of the attempt in flight or, asleep or at the end, of the last one that ran; from 1. 0 for memory
    /// without a call.
    fn holdoff_call_attempt(call: *const holdoff_call) -> u32 = get(call).map_or(0, Call::attempt);

    /// Returns how long a call that sleeps still sleeps at `now`, in nanoseconds; 0 for any other call and for memory
    /// without a call.
    fn holdoff_call_remaining(call: *const holdoff_call, now: Timestamp) -> Span =
        get(call).map_or(Span::ZERO, |call| call.remaining(now));

    /// Returns the seed of the k-th failing operation (k from 0) of a program with the seed `n`: the same in every
    /// language.
    fn holdoff_seed_at(n: u64, k: u64) -> u64 = seed_at(n, k);
}
