//! Many timers: what it costs to start one, to be told that it is due, and to cancel it.
//!
//! Every delay is uniform in 1 to 60,000 ms. Time goes on to the next millisecond in which a timer is due, as it does for a
//! host that sleeps until then; a wheel that has to tick in between does so by itself. A timer is a number below 2^32.

pub mod delay_queue;
pub mod floor;
pub mod hashed;
pub mod heap;
pub mod wheel;

use crate::runs::{Measured, Size, Wakes, timed};
use std::hint::black_box;

/// The longest delay.
pub const LONGEST_MS: u64 = 60_000;

/// A library that starts timers and says which are due.
pub trait Timers {
    /// The handle to cancel a timer by. Nothing where it cannot be.
    type Key: Copy;

    /// Room for so many.
    fn new(most: usize) -> Self;
    /// Starts a timer that is due at a millisecond after the present one. `id` is free: it is below `most`, and unless the
    /// timers count themselves it is how the timer is named when it is due.
    fn start(&mut self, at_ms: u64, id: u32) -> Self::Key;
    /// Goes on to a later millisecond, and gives the numbers of the timers that are due.
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>);
    /// Cancels a timer that was started and is pending.
    fn cancel(&mut self, _: Self::Key) {}
}

/// Delays without end, the same ones in each run.
#[derive(Debug)]
pub struct Delays(u64);

impl Default for Delays {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Delays {
    /// The next one.
    #[inline(always)]
    pub fn next_ms(&mut self) -> u64 {
        1 + ((u128::from(self.bits()) * u128::from(LONGEST_MS)) >> 64) as u64
    }

    /// 64 bits without an order.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Puts things into an order that is none, the same one in each run.
pub fn shuffled<T>(list: &mut [T]) {
    let mut delays = Delays::default();
    for last in (1..list.len()).rev() {
        list.swap(last, (delays.bits() % (last as u64 + 1)) as usize);
    }
}

/// Starts the timers, replaces some of them as they are due, and waits for the rest.
///
/// # Panics
/// When a timer is missing in the end.
pub fn measure<T: Timers>(size: Size, measured: &mut Measured) {
    Wakes::run(size, measured, run::<T>);
}

fn run<T: Timers>(size: Size, wakes: &mut Wakes, measured: &mut Measured) {
    let Size { count, replaced, drains, .. } = size;
    let mut delays = Delays::default();
    let mut due = Vec::with_capacity(4096);
    measured.begin();

    let (mut timers, fill) = timed(|| {
        let mut timers = T::new(count);
        for id in 0..count as u32 {
            timers.start(delays.next_ms(), id);
        }
        timers
    });
    measured.add("fill", fill, count);
    measured.weigh("fill", count);

    let (held, hold) = timed(|| {
        let mut held = 0;
        while held < replaced {
            let now_ms = wakes.next_ms();
            timers.step(now_ms, &mut due);
            wakes.were(due.len());
            for id in due.drain(..) {
                held += 1;
                timers.start(now_ms + delays.next_ms(), id);
            }
        }
        held
    });
    measured.add("hold", hold, held);
    measured.weigh("hold", count);
    if !drains {
        return;
    }

    let (drained, drain) = timed(|| {
        let mut drained = 0;
        let last = wakes.now_ms + LONGEST_MS;
        while drained < count && wakes.now_ms < last {
            timers.step(wakes.next_ms(), &mut due);
            wakes.were(due.len());
            drained += due.len();
            black_box(&due).iter().for_each(|id| assert!(*id < count as u32));
            due.clear();
        }
        drained
    });
    assert_eq!(drained, count, "every timer is due once");
    measured.add("drain", drain, count);
}

/// Cancels all timers, in another order than they were started. A library that only notes that a timer was cancelled, and takes it
/// out when it would have been due, is not charged for that.
///
/// # Panics
/// When a timer is due all the same.
pub fn cancel<T: Timers>(size: Size, measured: &mut Measured) {
    let mut delays = Delays::default();
    let mut timers = T::new(size.count);
    let mut keys: Vec<_> = (0..size.count as u32).map(|id| timers.start(delays.next_ms(), id)).collect();
    shuffled(&mut keys);
    let ((), took) = timed(|| keys.iter().for_each(|key| timers.cancel(*key)));
    measured.add("cancel", took, size.count);
    if size.drains {
        let mut due = Vec::new();
        timers.step(LONGEST_MS, &mut due);
        assert!(due.is_empty(), "no timer was left");
    }
}
