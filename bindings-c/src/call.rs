//! The whole loop as a machine.

use crate::*;

extern_c! {
    /// One call of an operation, from its first attempt to its end: 88 bytes. May be copied and moved; one thread at a
    /// time. Memory that is all zero reads as a call that was cancelled. The content is the library's.
    ///
    /// Each attempt is said exactly once; asked again while it runs the answer is HOLDOFF_WAIT. An input that is out of
    /// order, too early, after the end, or with the ticket of another attempt changes nothing but the latest time seen, and
    /// is answered with the step that still holds. HOLDOFF_STOP is final. A `now` before the latest one seen reads as that
    /// one, and HOLDOFF_NEVER as the last instant before it. Wrong use (a null pointer, memory without a call or a policy,
    /// an unknown failure kind) changes nothing and is answered with HOLDOFF_STOP, HOLDOFF_INVALID and the number of the
    /// error as the reason.
    memory holdoff_call([u64; 10]) as call holds Call, b"hoCall\0\x31", NotACall;

    /// Begins a call at `now`. The seed decides its jitter: draw it from the operating system, or give a fixed one to
    /// repeat a run.
    ///
    /// Returns the first step: attempt 1, to be aborted at `at`. Without a policy the call is left zeroed, which is a call
    /// that has ended.
    fn holdoff_call_begin(call: *mut holdoff_call, policy, seed, now) -> holdoff_step =
        begin(call, get(policy).map(|policy| Call::begin(policy, seed, now)));

    /// Makes a call whose first attempt, HOLDOFF_FIRST_TICKET, already runs since `started`: the lazy way in, after a
    /// failure, so that an operation that succeeds at once needs no call at all.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_call_underway(seed, started: Timestamp) = Call::underway(seed, started);

    /// Records the success of the attempt with this ticket at `now`. A success after a limit is a success.
    ///
    /// Returns the step that holds now: HOLDOFF_STOP, HOLDOFF_SUCCEEDED when the attempt was the one in flight.
    step holdoff_call_succeed(ticket, now) = call.succeed(Ticket::from_raw(ticket), now);

    /// Records the failure of the attempt with this ticket at `now`.
    ///
    /// Returns the step that holds now: HOLDOFF_SLEEP until `at`, or HOLDOFF_STOP, HOLDOFF_GAVE_UP with the reason and, in
    /// `at`, when another try might succeed.
    step holdoff_call_fail(policy, ticket, now, failure) =
        call.fail(get(policy)?, Ticket::from_raw(ticket), now, Failure::try_from(failure)?);

    /// Lets time pass.
    ///
    /// Returns the step that holds at `now`: the next HOLDOFF_ATTEMPT when its sleep is over, the same HOLDOFF_SLEEP when
    /// it is not, HOLDOFF_STOP when the deadline passed meanwhile.
    step holdoff_call_tick(policy, now) = call.tick(get(policy)?, now);

    /// Cancels it in any state.
    ///
    /// Returns HOLDOFF_STOP: HOLDOFF_CANCELLED, or how the call had ended before.
    step holdoff_call_cancel(now) = call.cancel(now);

    /// Returns the number of the attempt in flight or, asleep or at the end, of the last one that ran; from 1. 0 for memory
    /// without a call.
    get holdoff_call_attempt() -> u32 = call.attempt(), else 0;

    /// Returns how long a call that sleeps still sleeps at `now`, in nanoseconds; 0 for any other call and for memory
    /// without a call.
    get holdoff_call_remaining(now) -> Span = call.remaining(now), else Span::ZERO;

    /// Returns the seed of the k-th failing operation (k from 0) of a program with the seed `n`: the same in every
    /// language.
    fn holdoff_seed_at(n: u64, k: u64) -> u64 = seed_at(n, k);

    /// Widens a counter of 32 bits that wraps, such as HAL_GetTick() or millis(). `latest` is the last return value of this
    /// function, at first the counter itself. Ask at least once in 2^31 ticks: 24 days of milliseconds.
    ///
    /// Returns the count in 64 bits; `latest` if the counter went back.
    fn holdoff_widen_tick(latest: u64, tick: u32) -> u64 = widen_tick(latest, tick);
}
