//! The exact sliding window: when each call that still counts was made, in a ring of the caller's memory.

use crate::time::Timestamp;

/// Where in the ring the calls are that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Log {
    pub(super) head: u32,
    pub(super) len: u32,
}

impl Log {
    /// The length of the ring: the part of `times` that is used.
    fn ring(limit: u32, times: &[u64]) -> u32 {
        limit.min(u32::try_from(times.len()).unwrap_or(u32::MAX))
    }

    /// When the call at that place was made, the oldest being 0.
    fn stamp(self, size: u32, times: &[u64], index: u32) -> u64 {
        times.get(slot(self.head, index, size)).copied().unwrap_or(0)
    }

    /// The log without the calls that have left the window, after which `count` more fit, or when they will.
    pub(super) fn look(self, limit: u32, per: u64, times: &[u64], count: u32, now: u64) -> Result<Self, Timestamp> {
        let size = Self::ring(limit, times);
        let Some(free) = size.checked_sub(count) else { return Err(Timestamp::NEVER) };
        let mut log = Self { head: slot(self.head, 0, size) as u32, len: self.len.min(size) };
        while log.len > 0 {
            let leaves = log.stamp(size, times, 0).saturating_add(per);
            if leaves > now {
                break;
            }
            log = Self { head: slot(log.head, 1, size) as u32, len: log.len.saturating_sub(1) };
        }
        match log.len.checked_sub(free) {
            None | Some(0) => Ok(log),
            Some(excess) => {
                let last = log.stamp(size, times, excess.saturating_sub(1));
                Err(Timestamp::from_nanos(last.saturating_add(per)).as_now())
            }
        }
    }

    /// Writes `count` calls at `now` behind the others of a log that has space for them.
    pub(super) fn push(mut self, limit: u32, times: &mut [u64], count: u32, now: u64) -> Self {
        let size = Self::ring(limit, times);
        for _ in 0..count {
            if let Some(stamp) = times.get_mut(slot(self.head, self.len, size)) {
                *stamp = now;
            }
            self.len = self.len.saturating_add(1);
        }
        self
    }

    /// The log without its newest `count` calls.
    pub(super) const fn without(self, count: u32) -> Self {
        Self { head: self.head, len: self.len.saturating_sub(count) }
    }
}

/// Where in a ring of that size the entry is, the oldest at `head` being 0.
#[inline(always)]
fn slot(head: u32, index: u32, size: u32) -> usize {
    let (sum, size) = (u64::from(head).wrapping_add(u64::from(index)), u64::from(size));
    // A log of this ring is never further round than once; one of another ring may be, which costs a division.
    let once = sum.wrapping_sub(size);
    let place = if sum < size {
        sum
    } else if once < size {
        once
    } else {
        sum.checked_rem(size).unwrap_or(0)
    };
    place as usize
}
