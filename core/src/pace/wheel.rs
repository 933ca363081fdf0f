//! A timing wheel: one timer for a million retries.
//!
//! A heap answers the same questions, but every insertion and every pop of one walks through memory that no cache holds
//! once there are a million timers, and a cancelled timer stays in it until its time has come. Here a timer moves through
//! a few buckets, each of which is written and read from one end to the other.
//!
//! Times are cut into ticks of 2^20 ns (about a millisecond) and ticks into digits of 8 bits. A timer lies in the level of
//! the highest digit in which its tick differs from the cursor's, in the bucket of that digit. So all buckets of a level
//! are later than all of the levels below it, and the first that holds anything is found by its bit, were it years away.
//! When the earliest timer of a bucket is due, the cursor moves to that timer's tick and the bucket's timers move to the
//! levels below; those of the tick itself are sorted by their exact times, and so are the 268 ms of a bucket above if only
//! a few lie there. A timer is put at the end of its bucket, so that equal times keep their order without a number
//! for it.

mod key;
mod level;
mod next_due;
mod pool;
mod reserve;
mod run;
mod segments;
mod slots;
#[cfg(test)]
mod tests;

use crate::time::Timestamp;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
pub use key::{TimerKey, WheelFull};
use level::{BUCKETS, Bucket, DIGIT_BITS, LAST_DIGIT, Level};
use next_due::NextDue;
use pool::{Entry, Pool};
use slots::Slots;

/// How many bits of a time its tick leaves out.
const TICK_BITS: u32 = 20;
/// As many digits as a tick has.
const LEVELS: usize = (u64::BITS - TICK_BITS).div_ceil(DIGIT_BITS) as usize;
/// Everything is swept when a stamp has none of these bits.
const SWEPT: u32 = (1 << 30) - 1;
/// So few cancelled timers are never worth a sweep.
const FEW: usize = 64;
/// A bucket of the second level with so many timers or fewer is sorted as a whole: hardly any of its ticks has two. More
/// would make it likely that many others come for its 268 ms meanwhile, which then go into the heap.
const MOST_SORTED: usize = 512;

/// The time of a timer that came late, its number among the late ones, and its key; the earliest is the greatest.
type Late = Reverse<(u64, u64, TimerKey)>;

/// Timers, and which of them is due next.
///
/// # Contract
/// [`Wheel::insert`] adds a timer, [`Wheel::cancel`] takes one away, [`Wheel::pop`] takes a due timer: call it
/// until it gives none, then wait until [`Wheel::next_wake`]. A host need ask that only after a wake-up, and may go by what
/// it knows when a timer was inserted: only an earlier one matters. Timers fire by time, equal times in the order of
/// insertion, and never before their time. A time that has passed is due at once, before all that are later;
/// [`Timestamp::NEVER`] never fires and can be cancelled. Time is monotonic: a `now` before the latest one reads as that one
/// (spec 1.3). No memory is needed to pop or to cancel.
///
/// # Cost
/// Inserting and cancelling take constant time, popping does on average: a timer moves at most once through each level below
/// its own, and what a bucket's worth of timers costs is paid by the pop that reaches it. Jumping over years costs no more
/// than jumping over a millisecond. Timers for times that have passed, or for the millisecond (where there are few, the
/// 268 ms) that is being popped, are kept in a heap and take logarithmic time. `next_wake` takes constant time, but where the earliest timer was cancelled it
/// looks at all others of the same bucket (those of the same millisecond, or if there are none before the next 268 ms, of
/// the same 268 ms, and so on) and remembers the next 256. A timer takes about 20 bytes. Cancelled timers take theirs until
/// they are reached or outnumber the pending ones; memory is kept for timers to come until [`Wheel::clear`]. Where there is
/// no memory left at all, timers are popped where they lie, and each pop may look at all others of a bucket.
///
/// ```
/// use holdoff_core::{Timestamp, Wheel};
///
/// let mut wheel = Wheel::new();
/// let late = wheel.insert(Timestamp::from_nanos(2_000_000_000))?;
/// let next_due = wheel.insert(Timestamp::from_nanos(1_000_000_000))?;
/// assert_eq!(wheel.next_wake(), Some(Timestamp::from_nanos(1_000_000_000)));
/// assert_eq!(wheel.pop(Timestamp::from_nanos(999_999_999)), None);
/// assert_eq!(wheel.pop(Timestamp::from_nanos(1_500_000_000)).map(|(key, _)| key), Some(next_due));
/// assert!(wheel.cancel(late));
/// assert_eq!(wheel.next_wake(), None);
/// # Ok::<(), holdoff_core::WheelFull>(())
/// ```
#[derive(Debug)]
pub struct Wheel {
    slots: Slots,
    pool: Pool,
    levels: [Level; LEVELS],
    /// The levels that hold anything, by their bits.
    occupied: u32,
    /// The timers of the bucket that was opened last, sorted, the earliest at the end.
    run: Vec<Entry>,
    /// Timers that came for the cursor's tick or before it: due before all in the buckets, and after equals in the run.
    late: BinaryHeap<Late>,
    /// The number of the next late timer.
    late_count: u64,
    /// The latest tick of the bucket that was opened last. None that lies in a bucket is earlier.
    cursor: u64,
    latest: Timestamp,
    /// The timers after the earliest of a bucket, once they had to be looked for.
    next_due: NextDue,
    /// No timer is due before.
    quiet_until: u64,
    /// Timers that are pending.
    live: usize,
    /// Entries of pending and of cancelled timers.
    entries: usize,
}

impl Wheel {
    /// Without timers and without memory.
    pub const fn new() -> Self {
        Self::from(0, Timestamp::ZERO, 0)
    }

    /// Without timers and without memory, for a program with several wheels: each wheel counts its keys from another number, so
    /// that the keys of one name no timers of another.
    pub const fn numbered(wheel: u32) -> Self {
        // By the golden ratio, so that wheels with consecutive numbers are far from each other.
        Self::from(wheel.wrapping_mul(0x9e37_79b9) >> 1, Timestamp::ZERO, 0)
    }

    const fn from(stamp: u32, latest: Timestamp, cursor: u64) -> Self {
        Self {
            slots: Slots::new(stamp),
            pool: Pool::new(),
            levels: [Level::EMPTY; LEVELS],
            occupied: 0,
            run: Vec::new(),
            late: BinaryHeap::new(),
            late_count: 0,
            cursor,
            latest,
            next_due: NextDue::new(),
            quiet_until: u64::MAX,
            live: 0,
            entries: 0,
        }
    }

    /// Adds a timer that is due `at`.
    ///
    /// # Errors
    /// [`WheelFull`] when there is no memory for it.
    #[inline]
    pub fn insert(&mut self, at: Timestamp) -> Result<TimerKey, WheelFull> {
        let at = at.as_nanos();
        let key = self.slots.take()?;
        if key.word() & SWEPT == 0 {
            // Cancelled timers go before their keys are given again: they would live again by them.
            self.sweep();
        }
        if self.entries == 0 {
            // Nothing lies by the old cursor, and by a near one it moves through fewer levels.
            self.cursor = self.latest.as_nanos() >> TICK_BITS;
        }
        if let Err(full) = self.put(Entry { at, key }) {
            self.slots.free(key);
            return Err(full);
        }
        self.live = self.live.wrapping_add(1);
        self.entries = self.entries.wrapping_add(1);
        if at < self.quiet_until {
            self.quiet_until = at;
        }
        if self.next_due.concerns(at) {
            self.next_due.tell(Entry { at, key });
        }
        Ok(key)
    }

    /// Takes a timer away, and says if it was pending. A timer that fired or was cancelled before is not.
    #[inline]
    pub fn cancel(&mut self, key: TimerKey) -> bool {
        let lived = self.slots.free(key);
        if lived {
            self.live = self.live.wrapping_sub(1);
            if self.entries.wrapping_sub(self.live) > self.live.max(FEW) {
                self.sweep();
            }
        }
        lived
    }

    /// Takes the next timer that is due at `now`, and says when it was.
    #[inline]
    pub fn pop(&mut self, now: Timestamp) -> Option<(TimerKey, Timestamp)> {
        let now = self.seen(now).as_nanos();
        if now < self.quiet_until {
            return None;
        }
        if self.late.is_empty()
            && let Some(entry) = self.run.pop_if(|entry| entry.at <= now)
        {
            self.entries = self.entries.wrapping_sub(1);
            if self.slots.free(entry.key) {
                self.live = self.live.wrapping_sub(1);
                // Most of the time this answers the next question.
                self.quiet_until = self.run.last().map_or(entry.at, |next| next.at);
                return Some((entry.key, Timestamp::from_nanos(entry.at)));
            }
        }
        self.pop_due(now)
    }

    /// When the next timer is due: exactly, and of those only that are pending. None when there is none, or none that ever
    /// fires. Moves no timer, so that an earlier one may still come.
    pub fn next_wake(&mut self) -> Option<Timestamp> {
        let at = match self.front_pending() {
            Some(at) => Some(at),
            None => self.bucket_pending().map(|entry| entry.at),
        };
        at.map(Timestamp::from_nanos).filter(|at| !at.is_never())
    }

    /// How many timers are pending, those included that never fire.
    pub const fn len(&self) -> usize {
        self.live
    }

    /// Says if no timer is pending.
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Cancels all timers and gives their memory back. The keys that there were stay unknown.
    pub fn clear(&mut self) {
        *self = Self::from(self.slots.stamp(), self.latest, self.cursor);
    }

    /// The latest time that was seen, this one included. Branches and no maximum: a host that asks each millisecond must not
    /// wait each time for what it wrote the time before.
    #[inline(always)]
    const fn seen(&mut self, now: Timestamp) -> Timestamp {
        if now.as_nanos() <= self.latest.as_nanos() {
            return self.latest;
        }
        let now = now.as_now();
        self.latest = now;
        now
    }

    /// Puts an entry where it belongs by the cursor.
    #[inline]
    fn put(&mut self, entry: Entry) -> Result<(), WheelFull> {
        let tick = entry.at >> TICK_BITS;
        if tick <= self.cursor && !(tick == self.cursor && self.is_cursor_bucket_waiting()) {
            return self.put_late(entry);
        }
        self.put_in_bucket(tick, entry)
    }

    #[inline(always)]
    fn put_in_bucket(&mut self, tick: u64, entry: Entry) -> Result<(), WheelFull> {
        let highest = u64::BITS.wrapping_sub((tick ^ self.cursor | 1).leading_zeros()).wrapping_sub(1);
        let number = highest / DIGIT_BITS;
        let digit = digit(tick, number);
        let level = self.levels.get_mut(number as usize).ok_or(WheelFull)?;
        level.prepare()?;
        let bucket = level.bucket(digit).ok_or(WheelFull)?;
        self.pool.push(&mut bucket.list, entry.at, entry.key)?;
        if bucket.list.count() == 1 {
            bucket.earliest = entry;
            level.mark(digit);
            self.occupied |= 1 << number;
        } else if entry.at < bucket.earliest.at {
            bucket.earliest = entry;
        }
        Ok(())
    }

    /// Says if the cursor's tick could not be sorted for want of memory, and still lies in its bucket.
    #[cold]
    fn is_cursor_bucket_waiting(&self) -> bool {
        self.levels.first().is_some_and(|level| level.is_occupied(digit(self.cursor, 0)))
    }

    #[cold]
    fn put_late(&mut self, entry: Entry) -> Result<(), WheelFull> {
        reserve::heap(&mut self.late)?;
        self.late.push(Reverse((entry.at, self.late_count, entry.key)));
        self.late_count = self.late_count.wrapping_add(1);
        Ok(())
    }

    fn pop_due(&mut self, now: u64) -> Option<(TimerKey, Timestamp)> {
        loop {
            while let Some((at, is_late)) = self.front() {
                if at > now {
                    self.quiet_until = at;
                    return None;
                }
                let popped = self.pop_front(is_late)?;
                if self.slots.free(popped.key) {
                    self.live = self.live.wrapping_sub(1);
                    return Some((popped.key, Timestamp::from_nanos(at)));
                }
            }
            let Some((number, digit)) = self.first_bucket() else {
                self.quiet_until = u64::MAX;
                return None;
            };
            let at = self.bucket(number, digit)?.earliest.at;
            if at > now {
                self.quiet_until = at;
                return None;
            }
            if self.open(number, digit).is_err() {
                return self.pop_in_place(now);
            }
        }
    }

    /// The earliest time in the run and among the late ones, pending or not, and whether it is a late one's.
    #[inline(always)]
    fn front(&self) -> Option<(u64, bool)> {
        let run = self.run.last().map(|entry| entry.at);
        if self.late.is_empty() {
            return run.map(|at| (at, false));
        }
        let late = self.late.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        match run {
            Some(run) if run <= late => Some((run, false)),
            _ => Some((late, true)),
        }
    }

    fn pop_front(&mut self, is_late: bool) -> Option<Entry> {
        self.entries = self.entries.wrapping_sub(1);
        if is_late { self.late.pop().map(|Reverse((at, _, key))| Entry { at, key }) } else { self.run.pop() }
    }

    /// The first bucket that holds anything, if any: its level and its digit.
    #[inline(always)]
    fn first_bucket(&self) -> Option<(u32, u32)> {
        let number = self.occupied.trailing_zeros();
        let digit = self.levels.get(number as usize)?.first()?;
        Some((number, digit))
    }

    #[inline(always)]
    fn bucket(&mut self, number: u32, digit: u32) -> Option<&mut Bucket> {
        self.levels.get_mut(number as usize)?.bucket(digit)
    }

    /// Takes all there is out of a bucket.
    #[inline(always)]
    fn take_bucket(&mut self, number: u32, digit: u32) -> Bucket {
        let taken =
            self.bucket(number, digit).map_or(Bucket::EMPTY, |bucket| core::mem::replace(bucket, Bucket::EMPTY));
        if self.levels.get_mut(number as usize).is_some_and(|level| !level.unmark(digit)) {
            self.occupied &= !(1 << number);
        }
        taken
    }

    /// Opens the first bucket: sorts it into the run, or spreads it over the levels below. Without memory nothing happens.
    fn open(&mut self, number: u32, digit: u32) -> Result<(), WheelFull> {
        let Bucket { earliest, list } = *self.bucket(number, digit).ok_or(WheelFull)?;
        let tick = earliest.at >> TICK_BITS;
        if number == 0 || number == 1 && list.count() <= MOST_SORTED {
            run::reserve(&mut self.run, list.count())?;
            self.cursor = if number == 0 { tick } else { tick | u64::from(LAST_DIGIT) };
            self.take_bucket(number, digit);
            let bits = TICK_BITS.wrapping_add(number.wrapping_mul(DIGIT_BITS));
            run::fill(&mut self.run, &mut self.pool, list, &self.slots, bits);
            self.entries = self.entries.wrapping_sub(list.count().wrapping_sub(self.run.len()));
            return Ok(());
        }
        // Each bucket below may need a chunk that is not full; full chunks take the memory of chunks that were read.
        let below = (number as usize).wrapping_mul(BUCKETS);
        self.pool.reserve(below.min(list.count()).saturating_add(1))?;
        self.levels.iter_mut().take(number as usize).try_for_each(Level::prepare)?;
        self.cursor = tick;
        let mut list = self.take_bucket(number, digit).list;
        while list.count() > 0 {
            let (chunk, count) = (*self.pool.first_chunk(&list), list.in_first());
            self.pool.shift(&mut list);
            for entry in chunk.iter().take(count) {
                self.put_in_bucket(entry.at >> TICK_BITS, *entry)?;
            }
        }
        Ok(())
    }

    /// Pops without memory: the earliest timer of the first bucket where it lies.
    #[cold]
    fn pop_in_place(&mut self, now: u64) -> Option<(TimerKey, Timestamp)> {
        let Entry { at, key } = self.bucket_pending()?;
        if at > now {
            self.quiet_until = at;
            return None;
        }
        self.slots.free(key);
        self.live = self.live.wrapping_sub(1);
        Some((key, Timestamp::from_nanos(at)))
    }

    /// The earliest pending time in the run and among the late timers. Drops cancelled ones on the way.
    fn front_pending(&mut self) -> Option<u64> {
        while let Some((at, is_late)) = self.front() {
            let key = if is_late { self.late.peek()?.0.2 } else { self.run.last()?.key };
            if self.slots.holds(key) {
                return Some(at);
            }
            self.pop_front(is_late);
        }
        None
    }

    /// The earliest pending timer in a bucket. If the known earliest is gone, looks at the others of the bucket.
    fn bucket_pending(&mut self) -> Option<Entry> {
        let Self { next_due, slots, .. } = self;
        if let Some(entry) = next_due.first(|entry| slots.holds(entry.key)) {
            return Some(entry);
        }
        loop {
            let (number, digit) = self.first_bucket()?;
            let earliest = self.bucket(number, digit)?.earliest;
            if self.slots.holds(earliest.key) {
                return Some(earliest);
            }
            let count = self.bucket(number, digit)?.list.count();
            self.next_due.begin(count);
            self.tidy(number, digit);
            self.next_due.end();
        }
    }

    /// Drops what was cancelled from a bucket.
    fn tidy(&mut self, number: u32, digit: u32) {
        let Self { slots, pool, levels, entries, next_due, .. } = self;
        let Some(bucket) = levels.get_mut(number as usize).and_then(|level| level.bucket(digit)) else {
            return;
        };
        let had = bucket.list.count();
        let mut earliest = Entry::NOTHING;
        let mut is_first = true;
        pool.retain(&mut bucket.list, |entry| {
            let keep = slots.holds(entry.key);
            if keep && (is_first || entry.at < earliest.at) {
                earliest = *entry;
                is_first = false;
            }
            if keep && next_due.concerns(entry.at) {
                next_due.tell(*entry);
            }
            keep
        });
        bucket.earliest = earliest;
        let left = bucket.list.count();
        *entries = entries.wrapping_sub(had.wrapping_sub(left));
        if left == 0 {
            self.take_bucket(number, digit);
        }
    }

    /// Drops everything that was cancelled.
    #[cold]
    fn sweep(&mut self) {
        let levels = self.occupied;
        self.next_due.clear();
        for number in (0..LEVELS as u32).filter(|number| levels >> number & 1 == 1) {
            for digit in 0..BUCKETS as u32 {
                if self.levels.get(number as usize).is_some_and(|level| level.is_occupied(digit)) {
                    self.tidy(number, digit);
                }
            }
        }
        let Self { slots, run, late, entries, .. } = self;
        let had = run.len().wrapping_add(late.len());
        run.retain(|entry| slots.holds(entry.key));
        late.retain(|Reverse((.., key))| slots.holds(*key));
        *entries = entries.wrapping_sub(had.wrapping_sub(run.len().wrapping_add(late.len())));
    }
}

impl Default for Wheel {
    fn default() -> Self {
        Self::new()
    }
}

/// The digit of a tick that a level goes by.
#[inline(always)]
const fn digit(tick: u64, level: u32) -> u32 {
    (tick >> level.wrapping_mul(DIGIT_BITS)) as u32 & LAST_DIGIT
}
