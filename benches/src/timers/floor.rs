//! The least that the work can cost: ticks of a millisecond in 32 bits, three rings of 64 growing buckets, nothing
//! cancelled.

use super::Timers;

const LEVELS: usize = 3;

/// Timers by the highest digit in which their time differs from now, as (at, id).
#[derive(Debug)]
pub struct Buckets {
    now: u32,
    buckets: Vec<Vec<(u32, u32)>>,
    spare: Vec<(u32, u32)>,
}

impl Buckets {
    #[inline(always)]
    fn put(&mut self, at: u32, id: u32) {
        let level = (31 - (at ^ self.now | 1).leading_zeros()) / 6;
        let bucket = level * 64 + (at >> (level * 6) & 63);
        self.buckets[bucket as usize].push((at, id));
    }
}

impl Timers for Buckets {
    fn new(_: usize) -> Self {
        Self { now: 0, buckets: vec![Vec::new(); LEVELS * 64], spare: Vec::new() }
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, id: u32) {
        // The third ring turns after 2^18 ms, further than the longest delay, so times are told apart.
        self.put(at_ms as u32 & 0x3_ffff, id);
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        self.now = now_ms as u32 & 0x3_ffff;
        for level in (1..LEVELS as u32).rev() {
            if self.now & ((1 << (level * 6)) - 1) == 0 {
                let bucket = (level * 64 + (self.now >> (level * 6) & 63)) as usize;
                let mut taken = std::mem::replace(&mut self.buckets[bucket], std::mem::take(&mut self.spare));
                taken.drain(..).for_each(|(at, id)| self.put(at, id));
                self.spare = taken;
            }
        }
        due.extend(self.buckets[(self.now & 63) as usize].drain(..).map(|(_, id)| id));
    }
}
