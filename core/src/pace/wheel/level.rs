//! A ring of buckets, and which of them hold anything.

use super::key::WheelFull;
use super::pool::{Entry, List};
use super::reserve;
use alloc::vec::Vec;

/// How many bits of a tick one level tells apart.
pub(super) const DIGIT_BITS: u32 = 8;
/// How many buckets a level has.
pub(super) const BUCKETS: usize = 1 << DIGIT_BITS;
pub(super) const LAST_DIGIT: u32 = BUCKETS as u32 - 1;

const WORDS: usize = BUCKETS / 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// The first of the earliest entries, which may have been cancelled since: no entry is earlier.
    pub(super) earliest: Entry,
    pub(super) list: List,
}

impl Bucket {
    pub(super) const EMPTY: Self = Self { earliest: Entry::NOTHING, list: List::EMPTY };
}

#[derive(Debug)]
pub(super) struct Level {
    occupied: [u64; WORDS],
    /// None until the level is used.
    buckets: Vec<Bucket>,
}

impl Level {
    pub(super) const EMPTY: Self = Self { occupied: [0; WORDS], buckets: Vec::new() };

    /// Makes the buckets if there are none yet.
    #[inline(always)]
    pub(super) fn prepare(&mut self) -> Result<(), WheelFull> {
        if self.buckets.is_empty() { self.make() } else { Ok(()) }
    }

    #[cold]
    fn make(&mut self) -> Result<(), WheelFull> {
        reserve::exact(&mut self.buckets, BUCKETS)?;
        self.buckets.resize(BUCKETS, Bucket::EMPTY);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn bucket(&mut self, digit: u32) -> Option<&mut Bucket> {
        self.buckets.get_mut(digit as usize)
    }

    #[inline(always)]
    pub(super) fn is_occupied(&self, digit: u32) -> bool {
        self.occupied.get((digit / 64) as usize).is_some_and(|word| word >> (digit % 64) & 1 == 1)
    }

    #[inline(always)]
    pub(super) fn mark(&mut self, digit: u32) {
        if let Some(word) = self.occupied.get_mut((digit / 64) as usize) {
            *word |= 1 << (digit % 64);
        }
    }

    /// Takes the mark away; whether another bucket holds anything.
    pub(super) fn unmark(&mut self, digit: u32) -> bool {
        if let Some(word) = self.occupied.get_mut((digit / 64) as usize) {
            *word &= !(1 << (digit % 64));
        }
        self.occupied != [0; WORDS]
    }

    /// The first bucket that holds anything.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<u32> {
        let (place, word) = self.occupied.iter().enumerate().find(|(_, word)| **word != 0)?;
        Some((place as u32).wrapping_mul(64).wrapping_add(word.trailing_zeros()))
    }
}
