//! The timers of the bucket that was opened last, in the order in which they fire.

use super::key::WheelFull;
use super::pool::{Entry, List, Pool};
use super::reserve;
use super::slots::Slots;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The longest run whose memory is kept for the next one.
pub(super) const MOST_REUSED: usize = 4096;

/// The earliest is at the end.
#[derive(Debug)]
pub(super) struct Run {
    entries: Vec<Entry>,
}

impl Run {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<&Entry> {
        self.entries.last()
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Entry> {
        self.entries.pop()
    }

    /// Pops the first if it is due.
    #[inline(always)]
    pub(super) fn pop_due(&mut self, now: u64) -> Option<Entry> {
        self.entries.pop_if(|entry| entry.at <= now)
    }

    pub(super) fn retain(&mut self, keep: impl FnMut(&Entry) -> bool) {
        self.entries.retain(keep);
    }

    /// Makes room for so many, when there are none.
    pub(super) fn reserve(&mut self, count: usize) -> Result<(), WheelFull> {
        if count <= MOST_REUSED && self.entries.capacity() > MOST_REUSED {
            self.entries = Vec::new();
        }
        reserve::amortised(&mut self.entries, count)
    }

    /// Takes over a bucket's timers, for which memory is reserved, but for cancelled ones. They differ in the lower
    /// `bits` of their times, less than 64 of them.
    pub(super) fn fill(&mut self, pool: &mut Pool, mut list: List, slots: &Slots, bits: u32) {
        // The bits that all have in common give way to their places, so that sorting needs no memory to be stable.
        let same = u64::BITS.wrapping_sub(bits);
        let (mut start, mut place) = (0, 0_u64);
        while list.count() > 0 {
            for entry in pool.first_chunk(&list).iter().take(list.in_first()) {
                // All slots are looked up in one go, so that waiting for one's memory is waiting for many's.
                if slots.holds(entry.key) {
                    start = entry.at >> bits << bits;
                    let at = entry.at << same | place;
                    self.entries.push(Entry { at, key: entry.key });
                    place = place.wrapping_add(1);
                }
            }
            pool.shift(&mut list);
        }
        self.entries.sort_unstable_by_key(|entry| Reverse(entry.at));
        for entry in &mut self.entries {
            entry.at = start | entry.at >> same;
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.entries.capacity()
    }
}
