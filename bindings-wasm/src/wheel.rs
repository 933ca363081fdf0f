//! The sixth module: timers, one wheel an instance, so that an instance that nobody holds any longer takes its timers' memory
//! with it. Times are two words, the lower one first; what has no room in a result lies in `out`.
#![allow(unsafe_code)]

use crate::memory::Shared;
use holdoff_core::{TimerKey, Timestamp, Wheel};

#[global_allocator]
static MEMORY: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

static WHEEL: Shared<Wheel> = Shared::new(Wheel::new());
/// The upper half of a key, then a time.
static OUT: Shared<[u32; 3]> = Shared::new([0; 3]);

/// No timer.
const NONE: u32 = u32::MAX;

/// Where `out` is in memory. It never moves.
#[unsafe(no_mangle)]
extern "C" fn out() -> usize {
    OUT.address()
}

const fn at(low: u32, high: u32) -> Timestamp {
    Timestamp::from_nanos((high as u64) << 32 | low as u64)
}

fn leave(key: u64, at: Timestamp) -> u32 {
    let at = at.as_nanos();
    OUT.with(|out| *out = [(key >> 32) as u32, at as u32, (at >> 32) as u32]);
    key as u32
}

/// A timer that is due then: the lower half of its key, which is its index; 2^32-1 when there is no room for it.
#[unsafe(no_mangle)]
extern "C" fn insert(low: u32, high: u32) -> u32 {
    let at = at(low, high);
    WHEEL.with(|wheel| wheel.insert(at)).map_or(NONE, |key| leave(key.as_raw(), at))
}

/// Takes the timer with that key away; whether it was pending.
#[unsafe(no_mangle)]
extern "C" fn cancel(low: u32, high: u32) -> u32 {
    WHEEL.with(|wheel| wheel.cancel(TimerKey::from_raw((high as u64) << 32 | low as u64))).into()
}

/// The next timer that is due by then: the lower half of its key, or 2^32-1.
#[unsafe(no_mangle)]
extern "C" fn pop(low: u32, high: u32) -> u32 {
    WHEEL.with(|wheel| wheel.pop(at(low, high))).map_or(NONE, |(key, at)| leave(key.as_raw(), at))
}

/// When the next timer is due, as the time in `out`; 0 for never.
#[unsafe(no_mangle)]
extern "C" fn next_wake() -> u32 {
    WHEEL.with(Wheel::next_wake).map_or(0, |at| {
        leave(0, at);
        1
    })
}

/// How many timers are pending.
#[unsafe(no_mangle)]
extern "C" fn pending() -> usize {
    WHEEL.with(|wheel| wheel.len())
}

/// Cancels all timers.
#[unsafe(no_mangle)]
extern "C" fn clear() {
    WHEEL.with(Wheel::clear);
}
