//! Who is due, and when to wake next: one timer for a million retries. Takes memory by malloc.

use crate::boundary::answer;
use crate::errors::status;
use alloc::vec::Vec;
use core::ffi::c_int;
use holdoff_core::{ErrorCode, TimerKey, Timestamp, Wheel};

/// Timers, and which of them is due next: made by holdoff_wheel_new, given back by holdoff_wheel_free; one thread at a time.
/// Only the library's feature "heap" has it, which is on by default. It takes memory by malloc and gives it back by free.
///
/// Pop until there is none, then wait until holdoff_wheel_next_wake: one timer of the host's serves all of them. Timers fire by
/// time, equal times in the order of insertion, and never before their time.
pub struct holdoff_wheel {
    wheel: Wheel,
}

/// A wheel without timers.
///
/// Returns NULL when there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_wheel_new() -> *mut holdoff_wheel {
    let mut room = Vec::new();
    if room.try_reserve_exact(1).is_err() {
        return core::ptr::null_mut();
    }
    room.push(holdoff_wheel { wheel: Wheel::new() });
    room.leak().as_mut_ptr()
}

/// Gives a wheel and its timers back. NULL is as good as none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_wheel_free(wheel: *mut holdoff_wheel) {
    if !wheel.is_null() {
        // SAFETY: the header's promise: it comes from holdoff_wheel_new, which made room for exactly one.
        drop(unsafe { Vec::from_raw_parts(wheel, 1, 1) });
    }
}

/// Adds a timer that is due `at`. `key` names it; holdoff_timer_index says a number for it.
///
/// Returns 0, HOLDOFF_ERROR_NO_ROOM when there is no memory, or HOLDOFF_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_wheel_insert(wheel: *mut holdoff_wheel, at: u64, key: *mut u64) -> c_int {
    // SAFETY: the header's promise.
    let inserted = unsafe { wheel.as_mut() }
        .filter(|_| !key.is_null())
        .ok_or(ErrorCode::NullPointer)
        .and_then(|wheel| wheel.wheel.insert(Timestamp::from_nanos(at)).map_err(|_| ErrorCode::NoRoom));
    // SAFETY: the header's promise.
    status(inserted.map(|inserted| unsafe { answer(key, inserted.as_raw()) }))
}

/// Takes a timer away.
///
/// Returns whether it was pending: false for a key of one that has fired or was cancelled before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_wheel_cancel(wheel: *mut holdoff_wheel, key: u64) -> bool {
    // SAFETY: the header's promise.
    unsafe { wheel.as_mut() }.is_some_and(|wheel| wheel.wheel.cancel(TimerKey::from_raw(key)))
}

/// Takes the next timer that is due at `now`. `key` and `at`, when it was due, may be NULL.
///
/// Returns whether there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_wheel_pop(wheel: *mut holdoff_wheel, now: u64, key: *mut u64, at: *mut u64) -> bool {
    // SAFETY: the header's promise.
    let popped = unsafe { wheel.as_mut() }.and_then(|wheel| wheel.wheel.pop(Timestamp::from_nanos(now)));
    if let Some((timer, due)) = popped {
        // SAFETY: the header's promise.
        unsafe {
            answer(key, timer.as_raw());
            answer(at, due.as_nanos());
        }
    }
    popped.is_some()
}

/// When the next timer is due; HOLDOFF_NEVER when there is none that ever fires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_wheel_next_wake(wheel: *mut holdoff_wheel) -> u64 {
    // SAFETY: the header's promise.
    let next = unsafe { wheel.as_mut() }.and_then(|wheel| wheel.wheel.next_wake());
    next.unwrap_or(Timestamp::NEVER).as_nanos()
}

/// How many timers are pending; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_wheel_length(wheel: *const holdoff_wheel) -> usize {
    // SAFETY: the header's promise.
    unsafe { wheel.as_ref() }.map_or(0, |wheel| wheel.wheel.len())
}

/// Cancels all timers and gives their memory back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_wheel_clear(wheel: *mut holdoff_wheel) {
    // SAFETY: the header's promise.
    if let Some(wheel) = unsafe { wheel.as_mut() } {
        wheel.wheel.clear();
    }
}

/// A number below the most timers that there ever were at once in the wheel, which no other pending timer has: what belongs to
/// a timer can be kept in an array.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_timer_index(key: u64) -> u32 {
    TimerKey::from_raw(key).index()
}
