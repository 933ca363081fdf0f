//! A list that never moves what is in it.

use super::key::WheelFull;
use super::reserve;
use alloc::vec::Vec;

/// How many values the first segment has room for at first.
const FEW: usize = 4;

/// A list in segments of 2^`BITS` values: growing copies nothing and leaves at most one segment unused. Only the first
/// segment grows as a list does, so that few values take little.
#[derive(Debug)]
pub(super) struct Segments<T, const BITS: u32> {
    segments: Vec<Vec<T>>,
    len: usize,
    /// How many values there is room for.
    capacity: usize,
}

impl<T, const BITS: u32> Segments<T, BITS> {
    const SIZE: usize = 1 << BITS;
    const MASK: usize = Self::SIZE - 1;

    pub(super) const fn new() -> Self {
        Self { segments: Vec::new(), len: 0, capacity: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.segments.get((index >> BITS) as usize)?.get(index as usize & Self::MASK)
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.segments.get_mut((index >> BITS) as usize)?.get_mut(index as usize & Self::MASK)
    }

    /// Makes room for `more` values.
    #[inline]
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), WheelFull> {
        while self.capacity.wrapping_sub(self.len) < more {
            self.grow()?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn push(&mut self, value: T) -> Result<(), WheelFull> {
        self.reserve(1)?;
        let segment = self.segments.get_mut(self.len >> BITS).ok_or(WheelFull)?;
        segment.push(value);
        self.len = self.len.wrapping_add(1);
        Ok(())
    }

    #[cold]
    fn grow(&mut self) -> Result<(), WheelFull> {
        if let [first] = &mut *self.segments
            && self.capacity < Self::SIZE
        {
            let wanted = self.capacity.saturating_mul(2).min(Self::SIZE);
            reserve::exact(first, wanted.saturating_sub(first.len()))?;
            self.capacity = wanted;
            return Ok(());
        }
        let size = if self.segments.is_empty() { FEW.min(Self::SIZE) } else { Self::SIZE };
        let mut segment = Vec::new();
        reserve::exact(&mut segment, size)?;
        reserve::amortised(&mut self.segments, 1)?;
        self.segments.push(segment);
        self.capacity = self.capacity.saturating_add(size);
        Ok(())
    }
}
