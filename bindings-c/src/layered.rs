//! A retry inside a retry, with one cap and one deadline over both.

use crate::*;

extern_c! {
    /// The policies of a retry inside a retry and what is between them: 4,944 bytes, to be shared by any number of layered
    /// calls and never written to by them. The content is the library's.
    memory holdoff_layers([u64; 617]) as layers holds Layers, b"hoLayrs3", NotAPolicy;

    /// Makes two levels with at most `attempts` attempts over both of them: 1 to 4294967294, the first one included; 0 for
    /// no cap but what the two policies allow, multiplied. The outer policy's deadline is shared. Copies the policies.
    ///
    /// Returns 0, HOLDOFF_ERROR_ATTEMPTS_RANGE, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    init holdoff_layers_init(outer: *const holdoff_policy, inner: *const holdoff_policy, attempts: u32) =
        Layers::new(*get(outer)?, *get(inner)?, Some(attempts).filter(|attempts| *attempts != 0))?;

    /// Says whether the outer level goes on when the inner one gave up for a HOLDOFF_REASON_ number. Unless set it does
    /// after attempts, deadline and hint, and does not after a permanent failure.
    ///
    /// Returns 0, HOLDOFF_ERROR_UNKNOWN_WORD for an unknown reason, HOLDOFF_ERROR_NULL_POINTER or
    /// HOLDOFF_ERROR_NOT_A_POLICY.
    get_mut holdoff_layers_go_on_after(reason: u32, goes_on: bool) = {
        let known = StopReason::ALL.into_iter().find(|known| u32::from(known.code()) == reason);
        *layers = layers.go_on_after(word_of(known)?, goes_on);
    };

    /// Returns the most attempts over both levels; 0 without a limit, and for memory without layers.
    get holdoff_layers_attempts() -> u32 = layers.attempts().unwrap_or(0), else 0;
}

extern_c! {
    /// A call inside a call: 192 bytes. Driven step for step like a holdoff_call, and with the same promises; tickets count
    /// the attempts over both levels. When the inner level gives up, the outer one takes that for its failure. The content
    /// is the library's.
    memory holdoff_layered([u64; 23]) as layered holds Layered, b"hoLayrd1", NotACall;

    /// Begins at `now` with the first attempt of both levels. The seed decides the jitter of both.
    ///
    /// Returns the first step: attempt 1, to be aborted at `at`; for wrong use HOLDOFF_STOP with HOLDOFF_INVALID.
    fn holdoff_layered_begin(layered: *mut holdoff_layered, layers: *const holdoff_layers, seed, now) -> holdoff_step =
        begin(layered, get(layers).map(|layers| Layered::begin(layers, seed, now)));

    /// Makes one whose first attempt, HOLDOFF_FIRST_TICKET, already runs since `started`: the lazy way in, after a failure.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    init holdoff_layered_underway(layers: *const holdoff_layers, seed, started: Timestamp) =
        Layered::underway(get(layers)?, seed, started);

    /// Records the success of the attempt with this ticket at `now`.
    ///
    /// Returns the step that holds now.
    step holdoff_layered_succeed(ticket, now) -> holdoff_step = layered.succeed(Ticket::from_raw(ticket), now);

    /// Records the failure of the attempt with this ticket at `now`. `outward` (which may be NULL) is for a host that judges
    /// the inner level's error anew: what the outer level is told if the inner one gives up now, whatever the reason. A
    /// permanent one ends it.
    ///
    /// Returns the step that holds now.
    step holdoff_layered_fail(layers: *const holdoff_layers, ticket, now, failure,
        outward: *const holdoff_failure) -> holdoff_step = {
        let (failure, outward) = (failure.try_into()?, read(outward).map(Failure::try_from).transpose()?);
        layered.fail_as(get(layers)?, Ticket::from_raw(ticket), now, failure, outward)
    };

    /// Predicts whether the inner level gives up if the attempt with this ticket fails with `failure` at `now`: for a host
    /// whose error text, and so the `outward` of holdoff_layered_fail, depends on it. Changes nothing.
    ///
    /// Returns the HOLDOFF_REASON_ number for which it gives up; 0 if it goes on, and for wrong use.
    get holdoff_layered_would_give_up(layers: *const holdoff_layers, ticket, now, failure) -> u32 = {
        let reason = layered.would_give_up(get(layers)?, Ticket::from_raw(ticket), now, failure.try_into()?);
        reason.map_or(0, StopReason::code).into()
    }, else 0;

    /// Lets time pass.
    ///
    /// Returns the step that holds at `now`.
    step holdoff_layered_tick(layers: *const holdoff_layers, now) -> holdoff_step = layered.tick(get(layers)?, now);

    /// Cancels it in any state.
    ///
    /// Returns HOLDOFF_STOP: HOLDOFF_CANCELLED, or how it had ended before.
    step holdoff_layered_cancel(now) -> holdoff_step = layered.cancel(now);

    /// Returns how long a call that sleeps still sleeps at `now`, in nanoseconds; 0 for any other call and for memory
    /// without one.
    get holdoff_layered_remaining(now) -> Span = layered.remaining(now), else Span::ZERO;

    /// Returns the number of the attempt in flight or the last one that ran, over both levels, from 1; 0 for memory without
    /// a call.
    get holdoff_layered_attempt() -> u32 = layered.attempt(), else 0;

    /// Returns the attempt of the outer level, from 1; 0 for memory without a call.
    get holdoff_layered_outer_attempt() -> u32 = layered.outer_attempt(), else 0;

    /// Returns the attempt of the inner level in this attempt of the outer, from 1; 0 for memory without a call.
    get holdoff_layered_inner_attempt() -> u32 = layered.inner_attempt(), else 0;

    /// Returns the HOLDOFF_LEVEL_ number of the level that gave up; 0 if none did.
    get holdoff_layered_stopped_by() -> u32 = layered.stopped_by().map_or(0, |level| level as u32), else 0;

    /// Returns the HOLDOFF_REASON_ number for which the inner level last gave up, even if the outer level went on; 0 if it
    /// never gave up.
    get holdoff_layered_inner_reason() -> u32 = layered.inner_reason().map_or(0, StopReason::code).into(), else 0;
}
