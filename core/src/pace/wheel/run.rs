//! The timers of the bucket that was opened last, in the order in which they fire: the earliest is at the end.

use super::key::WheelFull;
use super::pool::{Entry, List, Pool};
use super::reserve;
use super::slots::Slots;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The longest run whose memory is kept for the next one.
pub(super) const MOST_REUSED: usize = 4096;

/// Makes room for so many in an empty run.
pub(super) fn reserve(run: &mut Vec<Entry>, count: usize) -> Result<(), WheelFull> {
    if count <= MOST_REUSED && run.capacity() > MOST_REUSED {
        *run = Vec::new();
    }
    reserve::amortised(run, count)
}

/// Takes over a bucket's timers, for which memory is reserved, but for cancelled ones. They differ in the lower
/// `bits` of their times, less than 64 of them.
pub(super) fn fill(run: &mut Vec<Entry>, pool: &mut Pool, mut list: List, slots: &Slots, bits: u32) {
    // The bits that all have in common give way to their places, so that sorting needs no memory to be stable.
    let same = u64::BITS.wrapping_sub(bits);
    let (mut start, mut place) = (0, 0_u64);
    while list.count() > 0 {
        for entry in pool.first_chunk(&list).iter().take(list.in_first()) {
            // All slots are looked up in one go, so that waiting for one's memory is waiting for many's.
            if slots.holds(entry.key) {
                start = entry.at >> bits << bits;
                let at = entry.at << same | place;
                run.push(Entry { at, key: entry.key });
                place = place.wrapping_add(1);
            }
        }
        pool.shift(&mut list);
    }
    run.sort_unstable_by_key(|entry| Reverse(entry.at));
    for entry in run {
        entry.at = start | entry.at >> same;
    }
}
