//! A policy's delays without outcomes.

use crate::*;
use holdoff_core::Schedule;

memory! {
    /// The delays an operation would sleep if every attempt failed at once without a hint: one fewer than the attempts. For
    /// previews and for other people's loops. The content is the library's.
    holdoff_schedule([u64; 36]) holds Schedule, b"hoSched2", NotACall
}

extern_c! {
    /// Makes the schedule of a policy for the operation with this seed.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    fn holdoff_schedule_init(schedule: *mut holdoff_schedule, policy: *const holdoff_policy, seed: u64) -> c_int =
        status(get(policy).and_then(|policy| store(schedule, Schedule::new(policy, seed))));

    /// Writes the next delay in nanoseconds to `ns` (which may be NULL).
    ///
    /// Returns whether there was one: false at the end, and for memory without a schedule.
    fn holdoff_schedule_next(schedule: *mut holdoff_schedule, ns: *mut Span) -> bool =
        write_some(ns, get_mut(schedule).ok().and_then(Iterator::next));

    /// Returns the base delay, before jitter, of retry number `retry` (from 1, as for holdoff_policy_row) under a policy, even if
    /// there is no such attempt, in nanoseconds; the shortest delay of a backoff that is its own jitter. 0 for retry 0, and for
    /// memory without a policy.
    fn holdoff_policy_base_at(policy: *const holdoff_policy, retry: u32) -> Span =
        get(policy).ok().zip(retry.checked_sub(1)).map_or(Span::ZERO, |(policy, n)| Schedule::base_at(policy, n));
}
