//! Many timers: what it costs to start one and to be told that it is due.
//!
//! Every delay is uniform in 1 to 60,000 ms, and time goes on by a millisecond at a time, each of which everybody is asked
//! about, as a host with one timer would. A timer is a number below 2^32, and all but the floor could cancel it.

pub mod delay_queue;
pub mod floor;
pub mod hashed;
pub mod heap;
pub mod wheel;

use std::hint::black_box;
use std::time::Instant;

/// The longest delay.
const LONGEST_MS: u64 = 60_000;

/// What starts timers and says which are due.
pub trait Timers {
    /// Room for so many.
    fn new(most: usize) -> Self;
    /// Starts a timer that is due at a millisecond after the present one. `id` is free: it is below `most`, and unless the
    /// timers count themselves it is how the timer is named when it is due.
    fn start(&mut self, at_ms: u64, id: u32);
    /// Goes to the next millisecond, and gives the numbers of the timers that are due.
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>);
}

/// Nanoseconds a timer.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// To start all.
    pub fill: f64,
    /// To start another when one was due, with all of them pending.
    pub hold: f64,
    /// Until all were due.
    pub drain: f64,
}

impl Cost {
    /// Nothing measured yet.
    pub const NONE: Self = Self { fill: f64::MAX, hold: f64::MAX, drain: f64::MAX };

    /// The lower of each.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self { fill: self.fill.min(other.fill), hold: self.hold.min(other.hold), drain: self.drain.min(other.drain) }
    }
}

/// Delays without end, the same ones in each run.
#[derive(Debug)]
struct Delays(u64);

impl Delays {
    #[inline(always)]
    fn next_ms(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        1 + ((u128::from(self.0) * u128::from(LONGEST_MS)) >> 64) as u64
    }
}

/// Starts `count` timers, replaces `replaced` that are due, and waits for the rest. `full` is called when all are pending.
///
/// # Panics
/// When a timer is missing in the end.
pub fn measure<T: Timers>(count: usize, replaced: usize, mut full: impl FnMut()) -> Cost {
    let mut delays = Delays(0x9e37_79b9_7f4a_7c15);
    let mut due = Vec::new();
    let mut now_ms = 0;

    let start = Instant::now();
    let mut timers = T::new(count);
    for id in 0..count as u32 {
        timers.start(delays.next_ms(), id);
    }
    let fill = start.elapsed();
    full();

    let start = Instant::now();
    let mut held = 0;
    while held < replaced {
        now_ms += 1;
        timers.step(now_ms, &mut due);
        for id in due.drain(..) {
            held += 1;
            timers.start(now_ms + delays.next_ms(), id);
        }
    }
    let hold = start.elapsed();

    let start = Instant::now();
    let mut drained = 0;
    for _ in 0..LONGEST_MS {
        now_ms += 1;
        timers.step(now_ms, &mut due);
        drained += due.len();
        black_box(&due).iter().for_each(|id| assert!(*id < count as u32));
        due.clear();
    }
    let drain = start.elapsed();
    assert_eq!(drained, count, "every timer is due once");
    let each = |took: std::time::Duration, count: usize| took.as_nanos() as f64 / count.max(1) as f64;
    Cost { fill: each(fill, count), hold: each(hold, held), drain: each(drain, count) }
}
