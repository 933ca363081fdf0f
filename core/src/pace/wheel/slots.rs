//! Which timers live: one word each, so that cancelling looks at nothing else.

use super::key::{TimerKey, WheelFull};
use super::segments::Segments;

/// Set in the word of a slot that holds a timer. Without it the word is the next free slot.
const LIVE: u32 = 1 << 31;
/// The end of the free slots, and more slots than there can be.
const END: u32 = LIVE - 1;

#[derive(Debug)]
pub(super) struct Slots {
    words: Segments<u32, 11>,
    free: u32,
    /// The stamp of the next timer, below [`LIVE`]. One count for all slots, so that it outlives them.
    stamp: u32,
}

impl Slots {
    pub(super) const fn new(stamp: u32) -> Self {
        Self { words: Segments::new(), free: END, stamp }
    }

    pub(super) const fn stamp(&self) -> u32 {
        self.stamp
    }

    /// A slot for a new timer.
    #[inline]
    pub(super) fn take(&mut self) -> Result<TimerKey, WheelFull> {
        let word = LIVE | self.stamp;
        let slot = if self.free == END {
            let slot = self.words.len() as u32;
            if slot >= END {
                return Err(WheelFull);
            }
            self.words.push(word)?;
            slot
        } else {
            let slot = self.free;
            let held = self.words.get_mut(slot).ok_or(WheelFull)?;
            self.free = *held;
            *held = word;
            slot
        };
        self.stamp = self.stamp.wrapping_add(1) & !LIVE;
        Ok(TimerKey::new(slot, word))
    }

    /// Says if a timer lives.
    #[inline(always)]
    pub(super) fn holds(&self, key: TimerKey) -> bool {
        self.words.get(key.index()).is_some_and(|word| *word == key.word() && key.word() & LIVE != 0)
    }

    /// Ends a timer; whether it lived.
    #[inline(always)]
    pub(super) fn free(&mut self, key: TimerKey) -> bool {
        match self.words.get_mut(key.index()) {
            Some(word) if *word == key.word() && key.word() & LIVE != 0 => {
                *word = self.free;
                self.free = key.index();
                true
            }
            _ => false,
        }
    }
}
