//! For tests alone: delays and intervals for chosen draws, and a panic. No installed header declares these functions.

use crate::*;

extern_c! {
    on holdoff_schedule as schedule;

    /// Makes the schedule of a policy whose every draw is this number: 0 shows the bottom of every range, 2^31 its middle,
    /// 2^32-1 its top.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    init holdoff_schedule_init_pinned(policy, draw: u32) = Schedule::pinned(get(policy)?, draw);

    /// Writes the next delay after a failure of `kind` (HOLDOFF_TRANSIENT, ...) to `ns` (which may be NULL) if the draw
    /// were `u` from [0, 1): for recordings of other systems, and for policies with a backoff for some kinds of failure.
    ///
    /// Returns whether there was one: false at the end, for another kind, and for memory without a schedule.
    get_mut holdoff_schedule_next_at(kind: u32, u: f64, ns: *mut Span) -> bool =
        write_some(ns, schedule.next_at(kind_of(kind)?, u)), else false;
}

extern_c! {
    on holdoff_periodic as periodic;

    /// Does what holdoff_periodic_tick does, with the uniform `u` from [0, 1) for the interval if it asks for one.
    step holdoff_periodic_tick_with(now, u: f64) -> holdoff_periodic_step = periodic.tick_with(now, Some(u));

    /// Does what holdoff_periodic_finish does, with the uniform `u` from [0, 1) for the interval if it asks for one.
    step holdoff_periodic_finish_with(run: u64, now, answer: u32, u: f64) -> holdoff_periodic_step =
        periodic.finish_with(run, now, word_of(Answer::from_code(answer))?, Some(u));

    /// Panics, to see what becomes of it.
    fn holdoff_testing_panic() = panic!("a fault that a test asked for");
}
