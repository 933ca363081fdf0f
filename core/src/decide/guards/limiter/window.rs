//! A sliding window by two counters: this fixed window's calls, and the last one's in proportion to how much of it the
//! sliding window still covers. The estimate is that the last window's calls were spread evenly (Cloudflare, 2017).

use crate::time::Timestamp;

/// The two windows at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Windows {
    pub(super) start: u64,
    pub(super) last: u32,
    pub(super) this: u32,
}

impl Windows {
    /// The same at `now`: windows follow each other in steps of `per` from the first one on.
    #[inline(always)]
    pub(super) fn at(self, per: u64, now: u64) -> Self {
        let elapsed = now.saturating_sub(self.start);
        if elapsed < per { self } else { self.rolled(per, elapsed) }
    }

    #[cold]
    fn rolled(self, per: u64, elapsed: u64) -> Self {
        let rest = elapsed.checked_rem(per).unwrap_or(0);
        let start = self.start.saturating_add(elapsed.saturating_sub(rest));
        let last = if elapsed.saturating_sub(rest) == per { self.this } else { 0 };
        Self { start, last, this: 0 }
    }

    /// These windows after `count` more calls at `now`, which is in this window, or when those may be made.
    pub(super) fn take(self, limit: u32, per: u64, count: u32, now: u64) -> Result<Self, Timestamp> {
        let this = self.this.saturating_add(count);
        let left = per.saturating_sub(now.saturating_sub(self.start));
        let wide = |count: u32, time: u64| u128::from(count).saturating_mul(u128::from(time));
        // last * left / per + this <= limit, in whole numbers.
        if wide(self.last, left).saturating_add(wide(this, per)) <= wide(limit, per) {
            return Ok(Self { this, ..self });
        }
        Err(self.opens(limit, per, count))
    }

    #[cold]
    fn opens(self, limit: u32, per: u64, count: u32) -> Timestamp {
        let Some(free) = limit.checked_sub(count) else { return Timestamp::NEVER };
        // The calls of the window before; only as many may still count as fit beside `this`.
        let (start, before, times) = match free.checked_sub(self.this) {
            Some(times) => (self.start, self.last, times),
            None => (self.start.saturating_add(per), self.this, free),
        };
        let product = u128::from(times).saturating_mul(u128::from(per));
        let covered = product.checked_div(u128::from(before)).unwrap_or(0);
        let covered = u64::try_from(covered).unwrap_or(u64::MAX);
        Timestamp::from_nanos(start.saturating_add(per.saturating_sub(covered))).as_now()
    }

    /// The same without `count` calls, first of this window, then of the last.
    pub(super) const fn without(self, count: u32) -> Self {
        let rest = count.saturating_sub(self.this);
        Self { start: self.start, last: self.last.saturating_sub(rest), this: self.this.saturating_sub(count) }
    }
}
