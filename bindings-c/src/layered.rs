//! A retry inside a retry, with one cap and one deadline over both.

use crate::*;

memory! {
    /// The policies of a retry inside a retry and what is between them: 528 bytes, to be shared by any number of layered
    /// calls and never written to by them. The content is the library's.
    holdoff_layers([u64; 65]) holds Layers, b"hoLayrs1", NotAPolicy
}

extern_c! {
    /// Makes two levels with at most `attempts` attempts over both of them: 1 to 4294967294, the first one included; 0 for
    /// no cap but what the two policies allow, multiplied. The outer policy's deadline is shared. Copies the policies.
    ///
    /// Returns 0, HOLDOFF_ERROR_ATTEMPTS_RANGE, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    fn holdoff_layers_init(layers: *mut holdoff_layers, outer: *const holdoff_policy, inner: *const holdoff_policy,
        attempts: u32) -> c_int =
        status(pair(get(outer), get(inner)).and_then(|(outer, inner)| {
            store(layers, built(Layers::new(*outer, *inner, Some(attempts).filter(|attempts| *attempts != 0)))?)
        }));

    /// Says whether the outer level goes on when the inner one gave up for a HOLDOFF_REASON_ number. Unless set it does
    /// after attempts, deadline and hint, and does not after a permanent failure.
    ///
    /// Returns 0, HOLDOFF_ERROR_UNKNOWN_WORD for an unknown reason, HOLDOFF_ERROR_NULL_POINTER or
    /// HOLDOFF_ERROR_NOT_A_POLICY.
    fn holdoff_layers_go_on_after(layers: *mut holdoff_layers, reason: u32, goes_on: bool) -> c_int =
        status(get_mut(layers).and_then(|layers| {
            let known = StopReason::ALL.into_iter().find(|known| u32::from(known.code()) == reason);
            *layers = layers.go_on_after(known.ok_or(ErrorCode::UnknownWord)?, goes_on);
            Ok(())
        }));

    /// Returns the most attempts over both levels; 0 without a limit, and for memory without layers.
    fn holdoff_layers_attempts(layers: *const holdoff_layers) -> u32 =
        get(layers).ok().and_then(Layers::attempts).unwrap_or(0);
}

memory! {
    /// A call inside a call: 168 bytes. Driven step for step like a holdoff_call, and with the same promises; tickets count
    /// the attempts over both levels. When the inner level gives up, the outer one takes that for its failure. The content
    /// is the library's.
    holdoff_layered([u64; 20]) holds Layered, b"hoLayrd1", NotACall
}

extern_c! {
    /// Begins at `now` with the first attempt of both levels. The seed decides the jitter of both.
    ///
    /// Returns the first step: attempt 1, to be aborted at `at`; for wrong use HOLDOFF_STOP with HOLDOFF_INVALID.
    fn holdoff_layered_begin(layered: *mut holdoff_layered, layers: *const holdoff_layers, seed: u64,
        now: Timestamp) -> holdoff_step =
        begin(layered, get(layers).map(|layers| Layered::begin(layers, seed, now)));

    /// Makes one whose first attempt, HOLDOFF_FIRST_TICKET, already runs since `started`: the lazy way in, after a failure.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    fn holdoff_layered_underway(layered: *mut holdoff_layered, layers: *const holdoff_layers, seed: u64,
        started: Timestamp) -> c_int =
        status(get(layers).and_then(|layers| store(layered, Layered::underway(layers, seed, started))));

    /// Records the success of the attempt with this ticket at `now`.
    ///
    /// Returns the step that holds now.
    fn holdoff_layered_succeed(layered: *mut holdoff_layered, ticket: u64, now: Timestamp) -> holdoff_step =
        get_mut(layered).map(|layered| layered.succeed(Ticket::from_raw(ticket), now)).into();

    /// Records the failure of the attempt with this ticket at `now`. `outward` (which may be NULL) is for a host that judges
    /// the inner level's error anew: what the outer level is told if the inner one gives up now, whatever the reason. A
    /// permanent one ends it.
    ///
    /// Returns the step that holds now.
    fn holdoff_layered_fail(layered: *mut holdoff_layered, layers: *const holdoff_layers, ticket: u64, now: Timestamp,
        failure: holdoff_failure, outward: *const holdoff_failure) -> holdoff_step = {
        let step = pair(get_mut(layered), get(layers)).and_then(|(layered, layers)| {
            let (failure, outward) = (failure.try_into()?, read(outward).map(Failure::try_from).transpose()?);
            Ok(layered.fail_as(layers, Ticket::from_raw(ticket), now, failure, outward))
        });
        step.into()
    };

    /// Lets time pass.
    ///
    /// Returns the step that holds at `now`.
    fn holdoff_layered_tick(layered: *mut holdoff_layered, layers: *const holdoff_layers,
        now: Timestamp) -> holdoff_step =
        pair(get_mut(layered), get(layers)).map(|(layered, layers)| layered.tick(layers, now)).into();

    /// Cancels it in any state.
    ///
    /// Returns HOLDOFF_STOP: HOLDOFF_CANCELLED, or how it had ended before.
    fn holdoff_layered_cancel(layered: *mut holdoff_layered, now: Timestamp) -> holdoff_step =
        get_mut(layered).map(|layered| layered.cancel(now)).into();

    /// Returns how long a call that sleeps still sleeps at `now`, in nanoseconds; 0 for any other call and for memory
    /// without one.
    fn holdoff_layered_remaining(layered: *const holdoff_layered, now: Timestamp) -> Span =
        get(layered).map_or(Span::ZERO, |layered| layered.remaining(now));

    /// Returns the number of the attempt in flight or the last one that ran, over both levels, from 1; 0 for memory without
    /// a call.
    fn holdoff_layered_attempt(layered: *const holdoff_layered) -> u32 = get(layered).map_or(0, Layered::attempt);

    /// Returns the attempt of the outer level, from 1; 0 for memory without a call.
    fn holdoff_layered_outer_attempt(layered: *const holdoff_layered) -> u32 =
        get(layered).map_or(0, Layered::outer_attempt);

    /// Returns the attempt of the inner level in this attempt of the outer, from 1; 0 for memory without a call.
    fn holdoff_layered_inner_attempt(layered: *const holdoff_layered) -> u32 =
        get(layered).map_or(0, Layered::inner_attempt);

    /// Returns the HOLDOFF_LEVEL_ number of the level that gave up; 0 if none did.
    fn holdoff_layered_stopped_by(layered: *const holdoff_layered) -> u32 =
        get(layered).ok().and_then(Layered::stopped_by).map_or(0, |level| level as u32);

    /// Returns the HOLDOFF_REASON_ number for which the inner level last gave up, even if the outer level went on; 0 if it
    /// never gave up.
    fn holdoff_layered_inner_reason(layered: *const holdoff_layered) -> u32 =
        get(layered).ok().and_then(Layered::inner_reason).map_or(0, |reason| u32::from(reason.code()));
}
