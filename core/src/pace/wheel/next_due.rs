//! The next timers after the earliest, so that hosts may cancel the earliest and ask for the next again and again.

use super::pool::Entry;
use super::reserve;
use alloc::vec::Vec;

/// How many are known at most.
const KNOWN: usize = 256;
/// So few are looked at faster than told.
const FEW: usize = 32;

/// Some of the earliest timers, the earliest at the end, perhaps cancelled since. All timers in buckets that are due before
/// `until` are here; others may be, too.
#[derive(Debug)]
pub(super) struct NextDue {
    entries: Vec<Entry>,
    until: u64,
}

impl NextDue {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), until: 0 }
    }

    /// Says if a new timer that is due then belongs here.
    #[inline(always)]
    pub(super) const fn concerns(&self, at: u64) -> bool {
        at < self.until
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.until = 0;
    }

    /// The earliest that lives; those before it are forgotten.
    pub(super) fn first(&mut self, lives: impl Fn(&Entry) -> bool) -> Option<Entry> {
        while let Some(entry) = self.entries.last() {
            if lives(entry) {
                return Some(*entry);
            }
            self.entries.pop();
        }
        self.until = 0;
        None
    }

    /// Begins anew with the earliest of a bucket's `count` entries, which come by [`Self::tell`] in their order. Without
    /// memory for them it knows none.
    pub(super) fn begin(&mut self, count: usize) {
        self.clear();
        if count > FEW && reserve::exact(&mut self.entries, KNOWN).is_ok() {
            self.until = u64::MAX;
        }
    }

    /// An entry that is due before `until`: of equal ones the first that was told is the earliest.
    pub(super) fn tell(&mut self, entry: Entry) {
        let place = self.entries.partition_point(|other| other.at > entry.at);
        if self.entries.len() < KNOWN {
            self.entries.insert(place, entry);
        } else if let Some(before) = place.checked_sub(1)
            && let Some(earlier) = self.entries.get_mut(..place)
        {
            // The latest gives way, those in between move by one.
            earlier.rotate_left(1);
            if let Some(held) = self.entries.get_mut(before) {
                *held = entry;
            }
        }
        if self.entries.len() == KNOWN {
            self.until = self.entries.first().map_or(0, |latest| latest.at);
        }
    }

    /// No more of the bucket's entries come.
    pub(super) fn end(&mut self) {
        if self.entries.len() < KNOWN {
            self.until = self.entries.first().map_or(0, |latest| latest.at);
        }
    }
}
