//! The keys of timers, and the error of a wheel that is full.

use core::fmt;

/// The name of a timer of a [`Wheel`](crate::Wheel).
///
/// A key is never the key of another timer again before 2^31 others were inserted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct TimerKey(u64);

impl TimerKey {
    /// The word is the slot's while the timer lives.
    pub(super) const fn new(index: u32, word: u32) -> Self {
        Self((word as u64) << 32 | index as u64)
    }

    pub(super) const fn word(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// A number below the most timers that there ever were at once since the wheel was made or cleared, which no other
    /// pending timer has: what belongs to a timer can be kept in an array.
    pub const fn index(self) -> u32 {
        self.0 as u32
    }

    /// The key as one number, never zero, whose lower half is the index.
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// The key that [`Self::as_raw`] gave. Any other number names no timer, or perhaps another's.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for TimerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.index(), self.word() & (u32::MAX >> 1))
    }
}

/// There is no memory for another timer, or there are 2^31 - 1 already. The wheel is as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WheelFull;

impl fmt::Display for WheelFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no room for another timer")
    }
}

impl core::error::Error for WheelFull {}
