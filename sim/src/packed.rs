//! States of the core by the million, in as few bytes as they need.
//!
//! A state is an array of numbers, and most of them are the same in the states of all clients: a call without rules counts no
//! failure of a rule, a budget of tokens has no slots. [`Packed`] stores such a word once, and for each state only the words
//! that differ. Its memory grows by chunks, because a list of millions is copied when it grows, and half empty afterwards.

use holdoff_core::{Adaptive, Breaker, Budget, GuardedCall, Stretch};
use std::hint::black_box;

/// How many states a chunk has, as a power of two.
const CHUNK: u32 = 12;
/// The end of the list of free places.
const NONE: u32 = u32::MAX;

/// A state of the core, or one like it.
///
/// # Safety
/// The type is whole words of 8 bytes, at most 64, and as aligned as they are. It has no padding, and every bit pattern is valid.
#[expect(unsafe_code, reason = "a state of the core is its bytes, and its host owns their memory")]
pub(crate) unsafe trait Words: Copy {
    /// How many words a state has.
    const COUNT: usize = size_of::<Self>() / 8;

    /// The state's words.
    fn words(&self) -> &[u64] {
        const { assert!(size_of::<Self>().is_multiple_of(8) && Self::COUNT <= 64 && align_of::<Self>() == 8) };
        // SAFETY: the type is so many words without padding.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), Self::COUNT) }
    }

    /// The state's words, to be changed.
    fn words_mut(&mut self) -> &mut [u64] {
        const { assert!(size_of::<Self>().is_multiple_of(8) && Self::COUNT <= 64 && align_of::<Self>() == 8) };
        // SAFETY: the type is so many words without padding, and every bit pattern is valid.
        unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(self).cast(), Self::COUNT) }
    }
}

macro_rules! states {
    ($($state:ty),*) => { $(
        // SAFETY: the contract of the core's states.
        #[expect(unsafe_code, reason = "the core's states are plain numbers without padding")]
        unsafe impl Words for $state {}
    )* };
}
states!(GuardedCall, Budget, Breaker, Adaptive, Stretch, [u64; 3]);

/// A list of states with free places.
#[derive(Clone, Debug)]
pub(crate) struct Packed<T> {
    /// The first state, for the words that all states share.
    common: Option<T>,
    /// A bit for each word that is stored with each state.
    stored: u64,
    /// How many these are; the first word is always stored, for the list of free places.
    width: usize,
    chunks: Vec<Vec<u64>>,
    /// How many places there are, used and free.
    places: u32,
    /// The first free place, whose first word is the number of the next free one.
    free: u32,
}

impl<T> Default for Packed<T> {
    fn default() -> Self {
        Self { common: None, stored: 1, width: 1, chunks: Vec::new(), places: 0, free: NONE }
    }
}

impl<T: Words> Packed<T> {
    /// Stores a state, and returns its place.
    pub(crate) fn put(&mut self, state: &T) -> u32 {
        self.common.get_or_insert(*state);
        let place = if self.free == NONE {
            if self.places.is_multiple_of(1 << CHUNK) {
                self.chunks.push(Vec::with_capacity(self.width << CHUNK));
            }
            let chunk = self.chunks.last_mut().expect("a chunk that was just made or is not full");
            chunk.resize(chunk.len() + self.width, 0);
            self.places += 1;
            self.places - 1
        } else {
            let next = self.slot_mut(self.free)[0] as u32;
            std::mem::replace(&mut self.free, next)
        };
        self.set(place, state);
        place
    }

    /// Frees a place, for a later state.
    pub(crate) fn free(&mut self, place: u32) {
        let next = std::mem::replace(&mut self.free, place);
        self.slot_mut(place)[0] = next.into();
    }

    /// The state at a place; `None` if no state was ever there.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<T> {
        let mut state = self.common?;
        let words = state.words_mut();
        let mut left = self.stored;
        for &word in self.slot(place)? {
            words[left.trailing_zeros() as usize] = word;
            left &= left - 1;
        }
        Some(state)
    }

    /// Replaces the state at a place.
    pub(crate) fn set(&mut self, place: u32, state: &T) {
        let words = state.words();
        if let Some(common) = &self.common {
            let both = words.iter().zip(common.words()).enumerate();
            let differs = both.fold(0, |bits, (at, (word, common))| bits | u64::from(word != common) << at);
            if differs & !self.stored != 0 {
                self.store(differs);
            }
        }
        let mut left = self.stored;
        for slot in self.slot_mut(place) {
            *slot = words[left.trailing_zeros() as usize];
            left &= left - 1;
        }
    }

    /// Reads from the memory of a place, so that it is near when the place is used. A processor waits for many such reads at once.
    pub(crate) fn touch(&self, place: u32) {
        if let Some((first, last)) = self.slot(place).and_then(|slot| Some((slot.first()?, slot.last()?))) {
            black_box(first ^ last);
        }
    }

    /// Stores these words, too, with each state.
    #[cold]
    fn store(&mut self, more: u64) {
        let Some(common) = self.common else { return };
        let (before, width_before) = (self.stored, self.width);
        self.stored |= more;
        self.width = self.stored.count_ones() as usize;
        for chunk in &mut self.chunks {
            let mut wide = Vec::with_capacity(self.width << CHUNK);
            for slot in chunk.chunks_exact(width_before) {
                let mut slot = slot.iter();
                let mut left = self.stored;
                while left != 0 {
                    let at = left.trailing_zeros();
                    let is_old = before >> at & 1 == 1;
                    wide.extend(if is_old { slot.next() } else { common.words().get(at as usize) });
                    left &= left - 1;
                }
            }
            *chunk = wide;
        }
    }

    fn range(&self, place: u32) -> std::ops::Range<usize> {
        let first = (place % (1 << CHUNK)) as usize * self.width;
        first..first + self.width
    }

    fn slot(&self, place: u32) -> Option<&[u64]> {
        self.chunks.get((place >> CHUNK) as usize)?.get(self.range(place))
    }

    fn slot_mut(&mut self, place: u32) -> &mut [u64] {
        let range = self.range(place);
        &mut self.chunks[(place >> CHUNK) as usize][range]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_out_as_they_went_in_whatever_their_words_are() {
        let mut packed = Packed::default();
        let states: Vec<[u64; 3]> = (0..10_000).map(|n| [7, n / 5000, u64::from(n == 9000)]).collect();
        let places: Vec<u32> = states.iter().map(|state| packed.put(state)).collect();
        assert!(places.iter().zip(&states).all(|(&place, state)| packed.get(place) == Some(*state)));
        assert_eq!(packed.width, 3);
        packed.set(places[1], &[1, 2, 3]);
        assert_eq!((packed.get(places[1]), packed.get(places[0])), (Some([1, 2, 3]), Some([7, 0, 0])));
    }

    #[test]
    fn words_that_all_states_share_are_stored_once() {
        let mut packed = Packed::default();
        let places: Vec<u32> = (0..10_000).map(|n| packed.put(&[n, 8, 9])).collect();
        assert_eq!((packed.width, packed.get(places[17])), (1, Some([17, 8, 9])));
    }

    #[test]
    fn a_freed_place_is_taken_again_and_no_other_state_moves() {
        let mut packed = Packed::default();
        let places: Vec<u32> = (0..10_000).map(|n| packed.put(&[n, n, n])).collect();
        packed.free(places[5000]);
        packed.free(places[3]);
        assert_eq!((packed.put(&[1; 3]), packed.put(&[2; 3]), packed.put(&[3; 3])), (places[3], places[5000], 10_000));
        assert_eq!((packed.get(places[5000]), packed.get(places[5001])), (Some([2; 3]), Some([5001; 3])));
    }
}
