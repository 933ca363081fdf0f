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
    wheel: Wheel,
}

/// The number of wheels that the program has made.
static WHEELS: AtomicU32 = AtomicU32::new(0);

extern_c! {
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
    fn holdoff_wheel_insert(wheel: *mut holdoff_wheel, at: Timestamp, key: *mut TimerKey) -> c_int = {
        let wheel = wheel.as_mut().filter(|_| !key.is_null()).ok_or(ErrorCode::NullPointer);
        let inserted = wheel.and_then(|wheel| wheel.wheel.insert(at).map_err(|_| ErrorCode::NoRoom));
        status(inserted.map(|inserted| write(key, inserted)))
    };

    /// Takes a timer away.
    ///
    /// Returns whether it was pending: false for the key of a timer that has fired or was cancelled before, and for the key of
    /// another wheel.
    fn holdoff_wheel_cancel(wheel: *mut holdoff_wheel, key: TimerKey) -> bool =
        wheel.as_mut().is_some_and(|wheel| wheel.wheel.cancel(key));

    /// Takes the next timer that is due at `now`. `key` and `at`, when it was due, may be NULL.
    ///
    /// Returns whether there is one.
    fn holdoff_wheel_pop(wheel: *mut holdoff_wheel, now: Timestamp, key: *mut TimerKey, at: *mut Timestamp) -> bool = {
        let popped = wheel.as_mut().and_then(|wheel| wheel.wheel.pop(now));
        write_some(key, popped.map(|(key, _)| key)) && write_some(at, popped.map(|(_, at)| at))
    };

    /// Returns the time at which the next timer is due; HOLDOFF_NEVER if no timer will fire.
    fn holdoff_wheel_next_wake(wheel: *mut holdoff_wheel) -> Timestamp =
        wheel.as_mut().and_then(|wheel| wheel.wheel.next_wake()).unwrap_or(Timestamp::NEVER);

    /// Returns the number of pending timers; 0 for NULL.
    fn holdoff_wheel_length(wheel: *const holdoff_wheel) -> usize = wheel.as_ref().map_or(0, |wheel| wheel.wheel.len());

    /// Cancels all timers and gives their memory back.
    fn holdoff_wheel_clear(wheel: *mut holdoff_wheel) =
        if let Some(wheel) = wheel.as_mut() {
            wheel.wheel.clear();
        };

    /// Returns an index for the timer that no other pending timer has, below the most timers that were ever pending at
    /// once: for an array of data that belongs to timers.
    fn holdoff_timer_index(key: TimerKey) -> u32 = key.index();
}
