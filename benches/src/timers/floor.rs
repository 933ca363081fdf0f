//! The least that the work can cost: ticks of a millisecond in 32 bits, and three rings of 64 growing buckets.

use super::Timers;
use std::fmt::Debug;

const LEVELS: usize = 3;

/// A timer as it lies in a bucket.
trait Entry: Copy + Debug {
    fn at(self) -> u32;
}

impl Entry for (u32, u32) {
    fn at(self) -> u32 {
        self.0
    }
}

impl Entry for (u32, u32, u32) {
    fn at(self) -> u32 {
        self.0
    }
}

/// Timers by the highest digit in which their time differs from now.
#[derive(Debug)]
struct Rings<E> {
    now: u32,
    buckets: Vec<Vec<E>>,
    spare: Vec<E>,
}

impl<E: Entry> Rings<E> {
    fn new() -> Self {
        Self { now: 0, buckets: (0..LEVELS * 64).map(|_| Vec::new()).collect(), spare: Vec::new() }
    }

    #[inline(always)]
    fn put(&mut self, entry: E) {
        let at = entry.at();
        let level = (31 - (at ^ self.now | 1).leading_zeros()) / 6;
        let bucket = level * 64 + (at >> (level * 6) & 63);
        self.buckets[bucket as usize].push(entry);
    }

    /// Ticks until then.
    #[inline(always)]
    fn step(&mut self, now_ms: u64, mut due: impl FnMut(E)) {
        while self.now != wrapped(now_ms) {
            self.tick();
            self.buckets[(self.now & 63) as usize].drain(..).for_each(&mut due);
        }
    }

    #[inline(always)]
    fn tick(&mut self) {
        self.now = wrapped(u64::from(self.now) + 1);
        for level in (1..LEVELS as u32).rev() {
            if self.now & ((1 << (level * 6)) - 1) == 0 {
                let bucket = (level * 64 + (self.now >> (level * 6) & 63)) as usize;
                let mut taken = std::mem::replace(&mut self.buckets[bucket], std::mem::take(&mut self.spare));
                taken.drain(..).for_each(|entry| self.put(entry));
                self.spare = taken;
            }
        }
    }
}

/// The third ring turns after 2^18 ms, further than the longest delay, so times are told apart.
#[inline(always)]
const fn wrapped(at_ms: u64) -> u32 {
    at_ms as u32 & 0x3_ffff
}

/// Timers that end when they are due: (at, id).
#[derive(Debug)]
pub struct Buckets(Rings<(u32, u32)>);

impl Timers for Buckets {
    type Key = ();

    fn new(_: usize) -> Self {
        Self(Rings::new())
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, id: u32) {
        self.0.put((wrapped(at_ms), id));
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        self.0.step(now_ms, |(_, id)| due.push(id));
    }
}

/// Timers that can be cancelled: (at, id, generation), and the generation of each that lives. A cancelled one lies where it
/// is until it would have been due.
#[derive(Debug)]
pub struct Cancellable {
    rings: Rings<(u32, u32, u32)>,
    generations: Vec<u32>,
}

impl Timers for Cancellable {
    type Key = u32;

    fn new(most: usize) -> Self {
        Self { rings: Rings::new(), generations: vec![0; most] }
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, id: u32) -> u32 {
        self.rings.put((wrapped(at_ms), id, self.generations[id as usize]));
        id
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        let Self { rings, generations } = self;
        rings.step(now_ms, |(_, id, generation)| {
            if generations[id as usize] == generation {
                generations[id as usize] += 1;
                due.push(id);
            }
        });
    }

    #[inline(always)]
    fn cancel(&mut self, id: u32) {
        self.generations[id as usize] += 1;
    }
}
