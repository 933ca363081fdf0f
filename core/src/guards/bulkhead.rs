//! How many calls run at once, and a short queue in front of them: what keeps one slow dependency from taking every thread.
//!
//! The machine counts and keeps the order; who waits, and for how long, is the host's. A caller that is queued holds a
//! [`QueuePlace`], and asks again with it when a call has left. Newcomers go behind those who wait, and of those the first ones
//! enter first.

use crate::error::{ConfigError, ErrorCode, Given};
use crate::policy::Field;
use crate::time::Span;

/// How many run and how many wait: 16 bytes, `Copy`, plain numbers of which every bit pattern gives an answer.
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
    /// [`ErrorCode::CountRange`] for a `limit` of 0 or a `queue` above 64.
    pub fn new(limit: u32, queue: u32, max_wait: Span) -> Result<Self, ConfigError> {
        if limit == 0 {
            return Err(ConfigError::new(ErrorCode::CountRange, Field::BulkheadLimit, Given::Number(0.0)));
        }
        if queue > PLACES {
            return Err(ConfigError::new(ErrorCode::CountRange, Field::BulkheadQueue, Given::Number(f64::from(queue))));
        }
        Ok(Self { max_wait: max_wait.as_nanos(), limit, queue })
    }

    /// How many calls run at once.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// How many calls wait at most.
    #[must_use]
    pub const fn queue(&self) -> u32 {
        self.queue
    }

    /// How long a call waits at most; its host keeps the time.
    #[must_use]
    pub const fn max_wait(&self) -> Span {
        Span::from_nanos(self.max_wait)
    }
}

/// As many places of the queue as the mask has bits.
const PLACES: u32 = 64;

/// A place in the queue of a [`Bulkhead`]: a number that is given again only after 65,535 others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct QueuePlace(u32);

impl QueuePlace {
    /// The number, for a language that keeps it for the caller.
    #[must_use]
    pub const fn to_raw(self) -> u32 {
        self.0
    }

    /// The place of that number. One that nobody holds is refused.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }
}

/// What a caller may do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// Run, and [`Bulkhead::leave`] afterwards.
    Entered,
    /// Wait, and ask again when a call has left, or [`Bulkhead::leave_queue`].
    Queued(QueuePlace),
    /// Neither: as many run and wait as there may be.
    Refused,
}

/// The calls that run and wait: 16 bytes, `Copy`. Zeroes are an empty one.
///
/// # Contract
/// Who was told [`Entry::Entered`] calls [`Bulkhead::leave`] once; who was told [`Entry::Queued`] calls
/// [`Bulkhead::enter_from`] until it is told something else, or [`Bulkhead::leave_queue`] once. There is no time here. Every
/// bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Bulkhead {
    /// Who waits: bit i is the place `head + i`.
    waiting: u64,
    running: u32,
    /// The number of the first place.
    head: u16,
    /// How many places have been given from there on.
    given: u16,
}

impl Bulkhead {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self { waiting: 0, running: 0, head: 0, given: 0 }
    }

    /// A newcomer asks. It enters when a place is free and nobody waits, else it is queued behind the others while there is
    /// room.
    #[inline]
    pub fn enter(&mut self, config: &BulkheadConfig) -> Entry {
        if self.waiting == 0 && self.running < config.limit {
            self.running = self.running.saturating_add(1);
            return Entry::Entered;
        }
        self.queue_up(config)
    }

    fn queue_up(&mut self, config: &BulkheadConfig) -> Entry {
        let bit = 1_u64.checked_shl(u32::from(self.given)).filter(|_| self.waiting() < config.queue);
        let Some(bit) = bit else { return Entry::Refused };
        self.waiting |= bit;
        let place = self.head.wrapping_add(self.given);
        self.given = self.given.saturating_add(1);
        Entry::Queued(QueuePlace(u32::from(place)))
    }

    /// One that waits asks again. It enters when as many places are free as make it its turn: more than wait before it.
    pub fn enter_from(&mut self, config: &BulkheadConfig, place: QueuePlace) -> Entry {
        let Some(bit) = self.bit(place) else { return Entry::Refused };
        let before = (self.waiting & bit.wrapping_sub(1)).count_ones();
        if before >= config.limit.saturating_sub(self.running) {
            return Entry::Queued(place);
        }
        self.free(bit);
        self.running = self.running.saturating_add(1);
        Entry::Entered
    }

    /// One that ran is done, however it ended.
    #[inline]
    pub const fn leave(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// One that waited waits no longer: its time is over, or it was cancelled. Of a place that nobody holds, nothing.
    pub fn leave_queue(&mut self, place: QueuePlace) {
        if let Some(bit) = self.bit(place) {
            self.free(bit);
        }
    }

    /// How many run.
    #[must_use]
    pub const fn running(&self) -> u32 {
        self.running
    }

    /// How many wait.
    #[must_use]
    pub const fn waiting(&self) -> u32 {
        self.waiting.count_ones()
    }

    /// The first that waits: whom to wake when a call has left.
    #[must_use]
    pub const fn first(&self) -> Option<QueuePlace> {
        if self.waiting == 0 {
            return None;
        }
        Some(QueuePlace(self.head.wrapping_add(self.waiting.trailing_zeros() as u16) as u32))
    }

    /// The bit of a place that somebody holds.
    fn bit(&self, place: QueuePlace) -> Option<u64> {
        let place = u16::try_from(place.0).ok()?;
        let bit = 1_u64.checked_shl(u32::from(place.wrapping_sub(self.head)))?;
        (self.waiting & bit != 0).then_some(bit)
    }

    /// Nobody holds that place any longer. The queue begins with the first that is held.
    fn free(&mut self, bit: u64) {
        self.waiting &= !bit;
        let gone = self.waiting.trailing_zeros().min(u32::from(self.given)) as u16;
        self.waiting = self.waiting.checked_shr(u32::from(gone)).unwrap_or(0);
        self.head = self.head.wrapping_add(gone);
        self.given = self.given.saturating_sub(gone);
    }
}
