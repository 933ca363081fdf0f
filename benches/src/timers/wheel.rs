//! The wheel of the core: it numbers the timers itself, so that a host keeps what belongs to them in an array.

use super::Timers;
use holdoff_core::{TimerKey, Timestamp, Wheel};
use std::hint::black_box;

const fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

impl Timers for Wheel {
    type Key = TimerKey;

    fn new(_: usize) -> Self {
        Self::new()
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, _: u32) -> TimerKey {
        self.insert(at(at_ms)).expect("there is memory")
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        while let Some((key, _)) = self.pop(at(now_ms)) {
            due.push(key.index());
        }
        // A host asks this before it sleeps.
        black_box(self.next_wake());
    }

    #[inline(always)]
    fn cancel(&mut self, key: TimerKey) {
        assert!(self.cancel(key), "it is pending");
    }
}

/// The same with times that are no whole milliseconds, as they are with jitter, so that hardly two are equal.
#[derive(Debug)]
pub struct Nanoseconds(Wheel);

impl Timers for Nanoseconds {
    type Key = TimerKey;

    fn new(_: usize) -> Self {
        Self(Wheel::new())
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, id: u32) -> TimerKey {
        // In the millisecond before, so that it is due in the same step.
        let earlier = u64::from(id.wrapping_mul(0x9e37_79b9) >> 13);
        self.0.insert(Timestamp::from_nanos(at_ms * 1_000_000 - earlier)).expect("there is memory")
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        self.0.step(now_ms, due);
    }

    #[inline(always)]
    fn cancel(&mut self, key: TimerKey) {
        Timers::cancel(&mut self.0, key);
    }
}
