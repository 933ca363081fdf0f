//! How many calls there were lately, and how many of them failed or were slow: over a sliding time in slots, or over the
//! latest calls one by one.
//!
//! A sliding time is kept as counts of up to ten slots, the newest first, that move on when the clock has passed one: a
//! fixed size however many calls there are, and exact but for the width of a slot (spec 23.4). Slots begin when the window
//! is made, not on whole seconds, so that a fleet does not forget in step. The latest calls are kept as bits in the same
//! room, for a window is one or the other.

use crate::decide::guards::save::Pass;
use crate::time::{Span, Timestamp};

/// Into how many slots a time is cut at most.
pub(crate) const SLOTS: u32 = 10;

/// The numbers of calls, of failed calls and of slow calls.
pub(crate) type Counts = [u32; 3];

/// How long each of `slots` slots is, so that they cover `window`: in whole nanoseconds, rounded up, at least one.
pub(crate) const fn slot_length(window: Span, slots: u32) -> u64 {
    let slots = if slots == 0 { 1 } else { slots as u64 };
    let length = window.as_nanos().div_ceil(slots);
    if length == 0 { 1 } else { length }
}

/// The counts of a window: 144 bytes, `Copy`, plain numbers; every bit pattern is valid. Zeroes are an
/// empty window that began at the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct Slots {
    /// When the newest slot began.
    start: u64,
    /// Of all slots together.
    sums: Counts,
    /// No padding: a state is its bytes.
    unused: u32,
    /// The counts of the slots, the newest first, two to a word, the first in the lower half. Or of the latest calls, the
    /// newest at the lower end, 128 bits that say which failed, and 128 that say which were slow.
    words: [u64; WORDS],
}

/// As many as hold the counts of all slots.
const WORDS: usize = SLOTS as usize * 3 / 2;

impl Slots {
    /// An empty window whose first slot begins `now`.
    pub(crate) const fn new(now: Timestamp) -> Self {
        Self { start: now.as_now().as_nanos(), sums: [0; 3], unused: 0, words: [0; WORDS] }
    }

    /// Moves on to the slot of `now`, and forgets slots that are `slots` or more before it. A `now` before the newest slot
    /// counts in the newest.
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
        let steps = usize::try_from(steps).unwrap_or(usize::MAX);
        let mut kept = [[0; 3]; SLOTS as usize];
        for (slot, old) in kept.iter_mut().take(slots as usize).skip(steps).zip(self.slots()) {
            *slot = old;
        }
        self.put(&kept);
    }

    /// Keeps these slots, the newest first.
    fn put(&mut self, kept: &[Counts]) {
        self.sums = kept.iter().fold([0; 3], plus);
        let mut counts = kept.iter().flatten().map(|count| u64::from(*count));
        for word in &mut self.words {
            let (low, high) = (counts.next().unwrap_or(0), counts.next().unwrap_or(0));
            *word = low | high << 32;
        }
    }

    /// Keeps no more slots than there are, and their sums.
    #[cold]
    pub(crate) fn hold_slots(&mut self, slots: u32) {
        let kept = self.slots();
        self.put(kept.get(..slots as usize).unwrap_or(&kept));
    }

    /// Keeps no more than the latest `size` calls, and their sums.
    #[cold]
    pub(crate) fn hold_calls(&mut self, size: u32) {
        let [total, failures, slows] = &mut self.sums;
        *total = size.min(*total);
        let calls = u128::MAX.checked_shr(128_u32.saturating_sub(*total)).unwrap_or(0);
        let [failed_low, failed_high, slow_low, slow_high, ..] = self.words;
        let ones = |low: u64, high: u64| ((u128::from(high) << 64 | u128::from(low)) & calls).count_ones();
        (*failures, *slows) = (ones(failed_low, failed_high), ones(slow_low, slow_high));
    }

    fn slots(&self) -> [Counts; SLOTS as usize] {
        let mut halves = self.words.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        [[0; 3]; SLOTS as usize].map(|slot: Counts| slot.map(|_| halves.next().unwrap_or(0)))
    }

    /// Counts one call in the newest slot.
    #[inline(always)]
    pub(crate) fn record(&mut self, failed: bool, slow: bool) {
        let [first, second, ..] = &mut self.words;
        let one = [1, u32::from(failed), u32::from(slow)];
        let newest = [*first as u32, (*first >> 32) as u32, *second as u32];
        let [calls, failures, slows] = plus(newest, &one).map(u64::from);
        *first = calls | failures << 32;
        *second = *second >> 32 << 32 | slows;
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
        let [failed_low, failed_high, slow_low, slow_high, ..] = &mut self.words;
        let [total, failures, slows] = &mut self.sums;
        let gone = shift([failed_low, failed_high], failed, size);
        *failures = failures.wrapping_add(u32::from(failed)).wrapping_sub(gone);
        let gone = shift([slow_low, slow_high], slow, size);
        *slows = slows.wrapping_add(u32::from(slow)).wrapping_sub(gone);
        *total = total.saturating_add(1).min(size);
    }

    /// True if it has `size` calls and all of them succeeded in time: another such call changes nothing.
    #[inline(always)]
    pub(crate) fn is_clean(&self, size: u32) -> bool {
        let [a, b, c, d, ..] = self.words;
        let [total, failures, slows] = self.sums;
        // One after the other, since what was written in parts is read late as a whole.
        failures == 0 && total == size && slows == 0 && a | b | c | d == 0
    }
}

#[inline(always)]
fn plus(left: Counts, right: &Counts) -> Counts {
    let ([a, b, c], [x, y, z]) = (left, *right);
    [a.saturating_add(x), b.saturating_add(y), c.saturating_add(z)]
}

/// Puts a bit at the lower end of 128, and says which one went out of the lowest `size`.
#[inline(always)]
fn shift([low, high]: [&mut u64; 2], bit: bool, size: u32) -> u32 {
    let last = size.wrapping_sub(1);
    let gone = (if last < 64 { *low } else { *high }).wrapping_shr(last) & 1;
    *high = *high << 1 | *low >> 63;
    *low = *low << 1 | u64::from(bit);
    gone as u32
}

impl Slots {
    /// The number of its saved bytes.
    pub(crate) const SAVED: usize = 8 + 3 * 4 * (1 + SLOTS as usize);

    /// Goes over its saved numbers.
    pub(crate) fn pass(&mut self, pass: &mut Pass<'_>) {
        pass.seen(&mut self.start);
        self.sums.iter_mut().for_each(|count| pass.half(count));
        // As two halves are, the lower one first.
        self.words.iter_mut().for_each(|word| pass.word(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::rng::Rng;
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
        fn no_numbers_panic(start: u64, sums: [u32; 3], words: [u64; 15], now: u64, length: u64, size: u32) {
            let mut window = Slots { start, sums, unused: 0, words };
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
