//! The bulkhead: a limit of calls at once with a queue, so that one slow dependency cannot take every thread.
//!
//! The machine counts and keeps the order; the host does the waiting. A queued caller holds a [`QueuePlace`] and asks again
//! with it when a call has left. Newcomers go to the end of the queue, and the first in the queue enter first. A queue of up to
//! 64 callers is inside the state. The host lends memory for a longer queue, because the core has no heap.

use self::ring::Ring;
use crate::decide::guards::guard::{GuardFields, guard_config};
use crate::error::Error;
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};
use crate::value::checked;

/// How many run and how many wait: 16 bytes, `Copy`, plain numbers; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct BulkheadConfig {
    max_wait: u64,
    limit: u32,
    queue: u32,
}

impl BulkheadConfig {
    /// `limit` calls at once, `queue` more that wait for a place, each `max_wait` at most.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`](crate::ErrorCode::CountRange) for a `limit` of 0 or a `queue` above 65,536.
    pub fn new(limit: u32, queue: u32, max_wait: Span) -> Result<Self, Error> {
        let (limit, queue) = (checked!(BulkheadLimit.count(limit))?, checked!(BulkheadQueue.count(queue))?);
        Ok(Self { max_wait: max_wait.as_nanos(), limit, queue })
    }

    /// How many calls run at once.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The number of words that the bulkhead keeps in the caller's memory: a bit for each place of a queue above 64, else 0.
    pub const fn words(&self) -> usize {
        if self.queue > RING_IN_STATE { self.queue.div_ceil(u64::BITS) as usize } else { 0 }
    }

    /// How long a call waits at most; its host keeps the time.
    pub const fn max_wait(&self) -> Span {
        Span::from_nanos(self.max_wait)
    }
}

/// A place in the queue of a [`Bulkhead`]: a number that is given again only after 65,535 others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct QueuePlace(u32);

impl QueuePlace {
    /// The number, for a language that keeps it for the caller.
    pub const fn as_raw(self) -> u32 {
        self.0
    }

    /// The place of that number. A number that no caller holds is refused.
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }
}

/// The answer to a caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// Run, and [`Bulkhead::leave`] afterwards.
    Entered,
    /// Wait, and ask again when a call has left, or [`Bulkhead::leave_queue`].
    Queued(QueuePlace),
    /// Give up: the bulkhead and its queue are full.
    Refused,
}

/// The longest queue whose places are in the state.
const RING_IN_STATE: u32 = u64::BITS;

/// The calls that run and wait: 24 bytes, `Copy`. Zeroes are an empty one.
///
/// # Contract
/// After [`Entry::Entered`] call [`Bulkhead::leave`] once. After [`Entry::Queued`] call [`Bulkhead::enter_from`] until the
/// answer is another one, or [`Bulkhead::leave_queue`] once. Pass the same [`BulkheadConfig`] each time, and the same `words`:
/// as many as [`BulkheadConfig::words`] says, whatever is in them. With fewer words fewer callers wait. There is no time here. Every
/// bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Bulkhead {
    /// The occupied places of a queue of up to 64.
    places: u64,
    running: u32,
    /// The number of occupied places. If it is not 0, the first place is one of them.
    waiting: u32,
    /// The number of places handed out from the first place on.
    handed_out: u32,
    /// The number of the first place.
    head: u16,
    /// The bit of the first place.
    start: u16,
}

impl Bulkhead {
    /// An empty one.
    pub const fn new() -> Self {
        Self { places: 0, running: 0, waiting: 0, handed_out: 0, head: 0, start: 0 }
    }

    /// A newcomer asks. It enters if the bulkhead has a free place and the queue is empty; otherwise it is queued, or refused
    /// if the queue is full.
    #[inline]
    pub fn enter(&mut self, config: &BulkheadConfig, words: &mut [u64]) -> Entry {
        if self.waiting == 0 && self.running < config.limit {
            self.running = self.running.saturating_add(1);
            return Entry::Entered;
        }
        self.queue_up(config, words)
    }

    fn queue_up(&mut self, config: &BulkheadConfig, words: &mut [u64]) -> Entry {
        if self.waiting >= config.queue {
            return Entry::Refused;
        }
        let offset = self.handed_out;
        if !self.ring(config, words).hand_out() {
            return Entry::Refused;
        }
        self.handed_out = offset.saturating_add(1);
        self.waiting = self.waiting.saturating_add(1);
        Entry::Queued(QueuePlace(u32::from(self.head.wrapping_add(offset as u16))))
    }

    /// A queued caller asks again. It enters if more places are free than callers wait before it.
    pub fn enter_from(&mut self, config: &BulkheadConfig, words: &mut [u64], place: QueuePlace) -> Entry {
        match self.has_turn(config, words, place) {
            None => Entry::Refused,
            Some(false) => Entry::Queued(place),
            Some(true) => {
                let offset = self.offset(place);
                self.free(config, words, offset);
                self.running = self.running.saturating_add(1);
                Entry::Entered
            }
        }
    }

    /// True if the caller at that place would enter; `None` if no caller holds the place.
    pub(crate) fn has_turn(&mut self, config: &BulkheadConfig, words: &mut [u64], place: QueuePlace) -> Option<bool> {
        let free = config.limit.saturating_sub(self.running);
        let (waiting, offset) = (self.waiting, self.offset(place));
        let ring = self.ring(config, words);
        // The count is the last resort: no more callers wait before it than places, and than callers besides it.
        let enters = || free > 0 && (offset < free || waiting <= free || ring.occupied_before(offset, free) < free);
        ring.is_occupied(offset).then(enters)
    }

    /// A call that entered is done, however it ended.
    #[inline]
    pub const fn leave(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// A queued caller gives up its place. A place that no caller holds changes nothing.
    pub fn leave_queue(&mut self, config: &BulkheadConfig, words: &mut [u64], place: QueuePlace) {
        let offset = self.offset(place);
        if self.ring(config, words).is_occupied(offset) {
            self.free(config, words, offset);
        }
    }

    /// True if nobody runs or waits (spec 21.5).
    pub const fn is_at_rest(&self, _: &BulkheadConfig, _: &[u64], _: Timestamp) -> bool {
        self.running == 0 && self.waiting == 0
    }

    /// The number of calls that run.
    pub const fn running(&self) -> u32 {
        self.running
    }

    /// The number of callers in the queue.
    pub const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The first place of the queue: its caller is the one to wake when a call has left.
    pub const fn first(&self) -> Option<QueuePlace> {
        if self.waiting == 0 { None } else { Some(QueuePlace(self.head as u32)) }
    }

    /// The caller to wake when a call or a waiter has left: that of the first place of the queue, if it can enter. When it has
    /// entered, wake the next one: callers that overtake it use up the places behind it.
    pub const fn entrant(&self, config: &BulkheadConfig) -> Option<QueuePlace> {
        if self.running < config.limit { self.first() } else { None }
    }

    /// The places of the queue as bits.
    fn ring<'a>(&'a mut self, config: &BulkheadConfig, words: &'a mut [u64]) -> Ring<'a> {
        let words = match config.words() {
            0 => core::slice::from_mut(&mut self.places),
            needed => {
                let length = needed.min(words.len());
                words.split_at_mut(length).0
            }
        };
        Ring::new(words, self.start.into(), self.handed_out)
    }

    /// How many places were handed out from the first one on before this one.
    fn offset(&self, place: QueuePlace) -> u32 {
        u16::try_from(place.0).map_or(u32::MAX, |place| place.wrapping_sub(self.head).into())
    }

    /// Frees an occupied place. The queue begins with the first occupied place.
    fn free(&mut self, config: &BulkheadConfig, words: &mut [u64], offset: u32) {
        self.waiting = self.waiting.saturating_sub(1);
        let is_empty = self.waiting == 0;
        let mut ring = self.ring(config, words);
        ring.free(offset);
        let gone = match offset {
            _ if is_empty => ring.handed_out(),
            0 => ring.free_at_start(),
            _ => return,
        };
        let start = ring.bit(gone);
        self.start = start as u16;
        self.head = self.head.wrapping_add(gone as u16);
        self.handed_out = self.handed_out.saturating_sub(gone);
    }
}

mod ring;

guard_config!(BulkheadConfig: Section::BULKHEAD, Bulkhead = |_, _, _| Bulkhead::new(), words by "bulkhead.queue";

    fn of_fields(_: u8, fields: &dyn GuardFields) -> Result<Self, Error> {
        let (limit, queue) = (fields.count(Field::BulkheadLimit), fields.count(Field::BulkheadQueue));
        Self::new(limit, queue, fields.span(Field::BulkheadMaxWait))
    }
);

#[cfg(test)]
mod tests;
