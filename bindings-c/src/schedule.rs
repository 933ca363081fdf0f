//! A policy's delays without outcomes, its jitter, and draws: for loops that are not the library's.

use crate::*;

extern_c! {
    /// The delays an operation would sleep if every attempt failed at once without a hint: one fewer than the attempts. For
    /// previews and for other people's loops. The content is the library's.
    memory holdoff_schedule([u64; 318]) as schedule holds Schedule, b"hoSched4", NotACall;

    /// Makes the schedule of a policy for the operation with this seed.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    init holdoff_schedule_init(policy, seed) = Schedule::new(get(policy)?, seed);

    /// Writes the next delay in nanoseconds to `ns` (which may be NULL).
    ///
    /// Returns whether there was one: false at the end, and for memory without a schedule.
    get_mut holdoff_schedule_next(ns: *mut Span) -> bool = write_some(ns, schedule.next()), else false;

    /// Returns the base delay, before jitter, after failure `n` (from 0) under a policy, even if there is no attempt after it, in
    /// nanoseconds; the shortest delay of a backoff that is its own jitter. 0 for memory without a policy.
    fn holdoff_policy_base_at(policy, n: u32) -> Span =
        get(policy).map_or(Span::ZERO, |policy| Schedule::base_at(policy, n));

    /// Applies the policy's jitter and cap to a delay for the draw `u` from [0, 1), `max_ns` being the longest: for loops
    /// that have their own delays. Times are nanoseconds, at most HOLDOFF_LONGEST_NS; more reads as that, and so does a `u`
    /// that is out of its range as the end it is beyond.
    ///
    /// Returns the jittered delay in nanoseconds; `delay_ns` for memory without a policy.
    fn holdoff_policy_jitter(policy, delay_ns: u64, max_ns: u64, u: f64) -> Span =
        get(policy).map_or(span(delay_ns), |policy| {
            policy.jitter().apply_capped(span(delay_ns), span(max_ns), policy.cap(), u)
        });

    /// Applies the policy's bounded jitter to a delay in nanoseconds for a drawn whole number in place of a uniform:
    /// `delay_ns + (drawn mod bound)`, the remainder from 0 on, at most HOLDOFF_LONGEST_NS. Exact where a bound has more
    /// bits than a double. Other kinds of jitter leave the delay as it is.
    ///
    /// Returns the jittered delay in nanoseconds; `delay_ns` for memory without a policy.
    fn holdoff_policy_jitter_drawn(policy, delay_ns: u64, drawn: i64) -> Span =
        get(policy).map_or(span(delay_ns), |policy| policy.jitter().apply_drawn(span(delay_ns), drawn));

    /// Draws a uniform number from [0, 1) from the generator whose state is `seed`, and moves it on: what the machines do
    /// that take a `u`. Any number is a good seed to begin with. To draw what the other languages draw, ask only where the
    /// machine says that it draws.
    ///
    /// Returns a multiple of 2^-32; 0 without a seed.
    fn holdoff_uniform(seed: *mut u64) -> f64 =
        read(seed).map_or(0.0, |state| {
            let mut rng = Rng::new(state);
            let u = rng.uniform();
            write(seed, rng.state());
            u
        });
}
