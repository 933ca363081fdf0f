//! How many calls there were lately, and how many of them failed or were slow: over a sliding time in slots, or over the
//! latest calls one by one.
//!
//! A sliding time is kept as counts of up to ten slots, the newest first, that move on when the clock has passed one: a
//! fixed size however many calls there are, and exact but for the width of a slot (spec 23.4). Slots begin when the window
//! is made, not on whole seconds, so that a fleet does not forget in step. The latest calls are kept as bits in the same
//! room, for a window is one or the other.

use crate::guards::save::Pass;
use crate::time::{Span, Timestamp};

/// Into how many slots a time is cut at most.
pub(crate) const SLOTS: u32 = 10;
/// How many calls are kept one by one at most.
pub(crate) const CALLS: u32 = 128;

/// Calls in all, those that failed, and those that were slow.
pub(crate) type Counts = [u32; 3];

/// How long each of `slots` slots is, so that they cover `window`: in whole nanoseconds, rounded up, at least one.
pub(crate) const fn slot_length(window: Span, slots: u32) -> u64 {
    let slots = if slots == 0 { 1 } else { slots as u64 };
    let length = window.as_nanos().div_ceil(slots);
    if length == 0 { 1 } else { length }
}

/// The counts of a window: 144 bytes, `Copy`, plain numbers of which every bit pattern gives an answer. Zeroes are an empty
/// one that began at the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct Slots {
    /// When the newest slot began.
    start: u64,
    /// Of all slots together.
    sums: Counts,
    /// No padding: a state is its bytes.
    unused: u32,
    /// The newest first.
    slots: [Counts; SLOTS as usize],
}

impl Slots {
    /// An empty window whose first slot begins `now`.
    pub(crate) const fn new(now: Timestamp) -> Self {
        Self { start: now.as_now().as_nanos(), sums: [0; 3], unused: 0, slots: [[0; 3]; SLOTS as usize] }
    }

    /// Moves on to the slot of `now`, and forgets those that are `slots` or more before it. A `now` before the newest slot
    /// is in it.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Timestamp, slot_length: u64, slots: u32) {
        let elapsed = now.as_now().as_nanos().saturating_sub(self.start);
        if elapsed >= slot_length {
            self.turn(elapsed, slot_length, slots);
        }
    }

    #[cold]
    fn turn(&mut self, elapsed: u64, slot_length: u64, slots: u32) {
        let steps = elapsed.checked_div(slot_length).unwrap_or(0);
        self.start = self.start.saturating_add(steps.saturating_mul(slot_length));
        let steps = usize::try_from(steps).unwrap_or(usize::MAX).min(self.slots.len());
        self.slots.rotate_right(steps);
        self.slots.iter_mut().take(steps).for_each(|slot| *slot = [0; 3]);
        self.slots.iter_mut().skip(slots as usize).for_each(|slot| *slot = [0; 3]);
        self.sums = self.slots.iter().fold([0; 3], plus);
    }

    /// Counts one call in the newest slot.
    #[inline(always)]
    pub(crate) fn record(&mut self, failed: bool, slow: bool) {
        let one = [1, u32::from(failed), u32::from(slow)];
        let [newest, ..] = &mut self.slots;
        *newest = plus(*newest, &one);
        self.sums = plus(self.sums, &one);
    }

    /// The counts as of the latest [`Slots::advance`].
    #[inline(always)]
    pub(crate) const fn sums(&self) -> Counts {
        self.sums
    }

    /// The counts as they are at `now`.
    pub(crate) fn sums_at(&self, now: Timestamp, slot_length: u64, slots: u32) -> Counts {
        let mut then = *self;
        then.advance(now, slot_length, slots);
        then.sums
    }

    /// Counts one call among the latest `size` (1 to [`CALLS`]) and forgets the one before them. For a window that is used
    /// in this way only.
    #[inline(always)]
    pub(crate) fn push(&mut self, failed: bool, slow: bool, size: u32) {
        let [[f0, f1, f2], [f3, s0, s1], [s2, s3, _], ..] = &mut self.slots;
        let [total, failures, slows] = &mut self.sums;
        let gone = shift([f0, f1, f2, f3], failed, size);
        *failures = failures.wrapping_add(u32::from(failed)).wrapping_sub(gone);
        let gone = shift([s0, s1, s2, s3], slow, size);
        *slows = slows.wrapping_add(u32::from(slow)).wrapping_sub(gone);
        *total = total.saturating_add(1).min(size);
    }
}

#[inline(always)]
fn plus(left: Counts, right: &Counts) -> Counts {
    let ([a, b, c], [x, y, z]) = (left, *right);
    [a.saturating_add(x), b.saturating_add(y), c.saturating_add(z)]
}

/// Puts a bit at the lower end of 128, and says which one went out of the lowest `size`.
#[inline(always)]
fn shift([a, b, c, d]: [&mut u32; 4], bit: bool, size: u32) -> u32 {
    let low = u64::from(*a) | u64::from(*b) << 32;
    let high = u64::from(*c) | u64::from(*d) << 32;
    let last = size.wrapping_sub(1);
    let gone = (if last < 64 { low.wrapping_shr(last) } else { high.wrapping_shr(last) }) & 1;
    let high = high << 1 | low >> 63;
    let low = low << 1 | u64::from(bit);
    (*a, *b, *c, *d) = (low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32);
    gone as u32
}

impl Slots {
    /// How many bytes are kept of it.
    pub(crate) const SAVED: usize = 8 + 3 * 4 * (1 + SLOTS as usize);

    /// What is kept of it.
    pub(crate) fn pass(&mut self, pass: &mut Pass<'_>) {
        pass.time(&mut self.start);
        self.sums.iter_mut().chain(self.slots.iter_mut().flatten()).for_each(|count| pass.half(count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::vec::Vec;

    const SECOND: u64 = 1_000_000_000;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn a_slot_is_forgotten_as_a_whole() {
        let mut window = Slots::new(at(SECOND / 2));
        for seconds in 1..=3 {
            window.advance(at(seconds * SECOND), SECOND, 3);
            window.record(seconds == 1, false);
        }
        assert_eq!(window.sums(), [3, 1, 0]);
        // The slots began at 0.5 s, 1.5 s and 2.5 s.
        assert_eq!(window.sums_at(at(3_499_999_999), SECOND, 3), [3, 1, 0]);
        assert_eq!(window.sums_at(at(3_500_000_000), SECOND, 3), [2, 0, 0]);
    }

    #[test]
    fn slots_cover_the_window_when_it_does_not_divide() {
        assert_eq!(slot_length(Span::from_nanos(103), 5), 21);
        assert_eq!(slot_length(Span::from_nanos(10), 5), 2);
        assert_eq!((slot_length(Span::ZERO, 5), slot_length(Span::MAX, 0)), (1, Span::MAX.as_nanos()));
    }

    #[test]
    fn a_clock_that_runs_backwards_counts_in_the_newest_slot() {
        let mut window = Slots::new(at(10 * SECOND));
        window.advance(at(0), SECOND, 2);
        window.record(true, true);
        assert_eq!(window.sums_at(at(0), SECOND, 2), [1, 1, 1]);
    }

    #[test]
    fn the_end_of_time_is_no_end_of_counting() {
        let mut window = Slots::new(at(0));
        window.advance(Timestamp::NEVER, 1, 10);
        window.record(true, false);
        window.advance(Timestamp::LAST, 1, 10);
        assert_eq!(window.sums(), [1, 1, 0]);
    }

    /// Every call there was, against both windows.
    #[test]
    fn a_window_is_the_calls_that_are_not_too_long_ago() {
        for seed in 0..5_000 {
            let mut rng = Rng::new(seed);
            let mut below = |n: u32| rng.next_u32() % n;
            let (slots, length, size, began) =
                (1 + below(10), u64::from(1 + below(50)), 1 + below(128), below(100).into());
            let (mut by_time, mut by_count) = (Slots::new(at(began)), Slots::default());
            let (mut calls, mut now) = (Vec::new(), began);
            for _ in 0..below(300) {
                now += u64::from(if below(40) == 0 { below(2000) } else { below(20) });
                let (failed, slow) = (below(3) == 0, below(5) == 0);
                by_time.advance(at(now), length, slots);
                by_time.record(failed, slow);
                by_count.push(failed, slow, size);
                calls.push(((now - began) / length, failed, slow));
                let later = now + u64::from(below(100));
                let recent = |&&(slot, ..): &&(u64, bool, bool)| slot + u64::from(slots) > (later - began) / length;
                let sums = |calls: &mut dyn Iterator<Item = &(u64, bool, bool)>| {
                    calls.fold([0; 3], |[a, b, c], &(_, failed, slow)| {
                        [a + 1, b + u32::from(failed), c + u32::from(slow)]
                    })
                };
                assert_eq!(by_time.sums_at(at(later), length, slots), sums(&mut calls.iter().filter(recent)), "{seed}");
                assert_eq!(by_count.sums(), sums(&mut calls.iter().rev().take(size as usize)), "{seed}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_numbers_panic(start: u64, sums: [u32; 3], slots: [[u32; 3]; 10], now: u64, length: u64, size: u32) {
            let mut window = Slots { start, sums, unused: 0, slots };
            window.push(true, true, size);
            window.advance(at(now), length, size);
            window.record(true, true);
        }
    }

    #[test]
    fn the_window_is_its_bytes() {
        assert_eq!(size_of::<Slots>(), 144);
    }
}
