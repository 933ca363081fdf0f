//! Timing wheels: one timer of the host for a million retries. Takes memory by malloc.

use crate::*;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

/// Timers, and which of them is due next: made by holdoff_wheel_new, given back by holdoff_wheel_free; one thread at a
/// time. Only the library's feature "heap" has it, which is on by default. It takes memory by malloc and gives it back by
/// free.
///
/// Pop until there is none, then wait until holdoff_wheel_next_wake: one timer of the host's serves all of them. Timers
/// fire by time, equal times in the order of insertion, and never before their time.
pub struct holdoff_wheel {
    #[allow(dead_code, reason = "reached through the memory, as of any machine")]
    wheel: Wheel,
}

/// The number of wheels that the program has made.
static WHEELS: AtomicU32 = AtomicU32::new(0);

memory!(holdoff_wheel holds Wheel);

extern_c! {
    on holdoff_wheel as wheel;

    /// Makes a wheel without timers. Its keys are none of another wheel's.
    ///
    /// Returns NULL when there is no memory.
    fn holdoff_wheel_new() -> *mut holdoff_wheel = {
        let mut memory = Vec::new();
        if memory.try_reserve_exact(1).is_err() {
            return core::ptr::null_mut();
        }
        memory.push(holdoff_wheel { wheel: Wheel::numbered(WHEELS.fetch_add(1, Ordering::Relaxed)) });
        memory.leak().as_mut_ptr()
    };

    /// Frees a wheel and its timers. NULL changes nothing.
    fn holdoff_wheel_free(wheel: *mut holdoff_wheel) =
        if !wheel.is_null() {
            // It comes from holdoff_wheel_new, in memory for exactly one.
            drop(Vec::from_raw_parts(wheel, 1, 1));
        };

    /// Adds a timer that is due `at`. `key` names it; holdoff_timer_index says a number for it.
    ///
    /// Returns 0, HOLDOFF_ERROR_NO_ROOM when there is no memory, or HOLDOFF_ERROR_NULL_POINTER.
    get_mut holdoff_wheel_insert(at: Timestamp, key: *mut TimerKey) =
        write(not_null(key)?, wheel.insert(at).map_err(|_| ErrorCode::NoRoom)?);

    /// Takes a timer away.
    ///
    /// Returns whether it was pending: false for the key of a timer that has fired or was cancelled before, and for the key of
    /// another wheel.
    get_mut holdoff_wheel_cancel(key: TimerKey) -> bool = wheel.cancel(key), else false;

    /// Takes the next timer that is due at `now`. `key` and `at`, when it was due, may be NULL.
    ///
    /// Returns whether there is one.
    get_mut holdoff_wheel_pop(now, key: *mut TimerKey, at: *mut Timestamp) -> bool = {
        let (popped, due) = wheel.pop(now).unzip();
        write_some(key, popped) && write_some(at, due)
    }, else false;

    /// Returns the time at which the next timer is due; HOLDOFF_NEVER if no timer will fire.
    get_mut holdoff_wheel_next_wake() -> Timestamp = wheel.next_wake().unwrap_or(Timestamp::NEVER), else Timestamp::NEVER;

    /// Returns the number of pending timers; 0 for NULL.
    get holdoff_wheel_length() -> usize = wheel.len(), else 0;

    /// Cancels all timers and gives their memory back.
    fn holdoff_wheel_clear(wheel: *mut holdoff_wheel) = {
        let _ = get_mut(wheel).map(Wheel::clear);
    };

    /// Returns an index for the timer that no other pending timer has, below the most timers that were ever pending at
    /// once: for an array of data that belongs to timers.
    fn holdoff_timer_index(key: TimerKey) -> u32 = key.index();
}
