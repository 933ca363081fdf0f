//! The bulkhead: a limit of calls at once with a short queue, so that one slow dependency cannot take every thread.
//!
//! The machine counts and keeps the order; the host does the waiting. A queued caller holds a [`QueuePlace`] and asks again
//! with it when a call has left. Newcomers go to the end of the queue, and the first in the queue enter first.

use crate::error::Error;
use crate::time::Span;
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
    /// [`ErrorCode::CountRange`](crate::ErrorCode::CountRange) for a `limit` of 0 or a `queue` above 64.
    pub fn new(limit: u32, queue: u32, max_wait: Span) -> Result<Self, Error> {
        let (limit, queue) = (checked!(BulkheadLimit.count(limit))?, checked!(BulkheadQueue.count(queue))?);
        Ok(Self { max_wait: max_wait.as_nanos(), limit, queue })
    }

    /// How many calls run at once.
    pub const fn limit(&self) -> u32 {
        self.limit
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

/// The calls that run and wait: 16 bytes, `Copy`. Zeroes are an empty one.
///
/// # Contract
/// After [`Entry::Entered`] call [`Bulkhead::leave`] once. After [`Entry::Queued`] call [`Bulkhead::enter_from`] until the
/// answer is another one, or [`Bulkhead::leave_queue`] once. There is no time here. Every
/// bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Bulkhead {
    /// The occupied places of the queue: bit i is the place `head + i`.
    waiting: u64,
    running: u32,
    /// The number of the first place.
    head: u16,
    /// The number of places handed out from there on.
    handed_out: u16,
}

impl Bulkhead {
    /// An empty one.
    pub const fn new() -> Self {
        Self { waiting: 0, running: 0, head: 0, handed_out: 0 }
    }

    /// A newcomer asks. It enters if the bulkhead has a free place and the queue is empty; otherwise it is queued, or refused
    /// if the queue is full.
    #[inline]
    pub fn enter(&mut self, config: &BulkheadConfig) -> Entry {
        if self.waiting == 0 && self.running < config.limit {
            self.running = self.running.saturating_add(1);
            return Entry::Entered;
        }
        self.queue_up(config)
    }

    fn queue_up(&mut self, config: &BulkheadConfig) -> Entry {
        let bit = 1_u64.checked_shl(u32::from(self.handed_out)).filter(|_| self.waiting() < config.queue);
        let Some(bit) = bit else { return Entry::Refused };
        self.waiting |= bit;
        let place = self.head.wrapping_add(self.handed_out);
        self.handed_out = self.handed_out.saturating_add(1);
        Entry::Queued(QueuePlace(u32::from(place)))
    }

    /// A queued caller asks again. It enters if more places are free than callers wait before it.
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

    /// A call that entered is done, however it ended.
    #[inline]
    pub const fn leave(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// A queued caller gives up its place. A place that no caller holds changes nothing.
    pub fn leave_queue(&mut self, place: QueuePlace) {
        if let Some(bit) = self.bit(place) {
            self.free(bit);
        }
    }

    /// The number of calls that run.
    pub const fn running(&self) -> u32 {
        self.running
    }

    /// The number of callers in the queue.
    pub const fn waiting(&self) -> u32 {
        self.waiting.count_ones()
    }

    /// The first place of the queue: its caller is the one to wake when a call has left.
    pub const fn first(&self) -> Option<QueuePlace> {
        if self.waiting == 0 {
            return None;
        }
        Some(QueuePlace(self.head.wrapping_add(self.waiting.trailing_zeros() as u16) as u32))
    }

    /// The bit of an occupied place.
    fn bit(&self, place: QueuePlace) -> Option<u64> {
        let place = u16::try_from(place.0).ok()?;
        let bit = 1_u64.checked_shl(u32::from(place.wrapping_sub(self.head)))?;
        (self.waiting & bit != 0).then_some(bit)
    }

    /// Frees a place. The queue begins with the first occupied place.
    fn free(&mut self, bit: u64) {
        self.waiting &= !bit;
        let gone = self.waiting.trailing_zeros().min(u32::from(self.handed_out)) as u16;
        self.waiting = self.waiting.checked_shr(u32::from(gone)).unwrap_or(0);
        self.head = self.head.wrapping_add(gone);
        self.handed_out = self.handed_out.saturating_sub(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;
    use crate::fields::Field;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::sync::Mutex;
    use std::vec::Vec;

    fn config(limit: u32, queue: u32) -> BulkheadConfig {
        BulkheadConfig::new(limit, queue, Span::from_secs(1)).unwrap()
    }

    fn queued(entry: Entry) -> QueuePlace {
        match entry {
            Entry::Queued(place) => place,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn as_many_run_as_there_may_and_the_next_ones_queue_up() {
        let (config, mut bulkhead) = (config(2, 1), Bulkhead::new());
        assert_eq!([0; 2].map(|_| bulkhead.enter(&config)), [Entry::Entered; 2]);
        let place = queued(bulkhead.enter(&config));
        assert_eq!(bulkhead.enter(&config), Entry::Refused);
        assert_eq!(bulkhead.enter_from(&config, place), Entry::Queued(place));
        bulkhead.leave();
        assert_eq!(bulkhead.enter_from(&config, place), Entry::Entered);
        assert_eq!((bulkhead.running(), bulkhead.waiting()), (2, 0));
    }

    #[test]
    fn a_newcomer_does_not_overtake_those_who_wait() {
        let (config, mut bulkhead) = (config(1, 4), Bulkhead::new());
        bulkhead.enter(&config);
        let [first, second] = [0; 2].map(|_| queued(bulkhead.enter(&config)));
        bulkhead.leave();
        let third = queued(bulkhead.enter(&config));
        assert_eq!(bulkhead.first(), Some(first));
        assert_eq!(bulkhead.enter_from(&config, third), Entry::Queued(third));
        assert_eq!(bulkhead.enter_from(&config, second), Entry::Queued(second));
        assert_eq!(bulkhead.enter_from(&config, first), Entry::Entered);
    }

    #[test]
    fn with_two_places_free_the_second_may_come_before_the_first() {
        let (config, mut bulkhead) = (config(2, 4), Bulkhead::new());
        bulkhead.enter(&config);
        bulkhead.enter(&config);
        let [first, second, third] = [0; 3].map(|_| queued(bulkhead.enter(&config)));
        bulkhead.leave();
        bulkhead.leave();
        assert_eq!(bulkhead.enter_from(&config, third), Entry::Queued(third));
        assert_eq!(bulkhead.enter_from(&config, second), Entry::Entered);
        assert_eq!(bulkhead.enter_from(&config, third), Entry::Queued(third));
        assert_eq!(bulkhead.enter_from(&config, first), Entry::Entered);
    }

    #[test]
    fn who_has_left_the_queue_takes_no_place_with_it() {
        let (config, mut bulkhead) = (config(1, 2), Bulkhead::new());
        bulkhead.enter(&config);
        let [first, second] = [0; 2].map(|_| queued(bulkhead.enter(&config)));
        bulkhead.leave_queue(first);
        bulkhead.leave_queue(first);
        assert_eq!(bulkhead.enter_from(&config, first), Entry::Refused);
        let third = queued(bulkhead.enter(&config));
        assert_eq!(bulkhead.enter(&config), Entry::Refused);
        bulkhead.leave();
        assert_eq!(bulkhead.enter_from(&config, third), Entry::Queued(third));
        assert_eq!(bulkhead.enter_from(&config, second), Entry::Entered);
    }

    #[test]
    fn a_place_that_was_left_is_not_given_to_another() {
        let (config, mut bulkhead) = (config(1, 64), Bulkhead::new());
        bulkhead.enter(&config);
        let first = queued(bulkhead.enter(&config));
        let left = queued(bulkhead.enter(&config));
        bulkhead.leave_queue(left);
        assert_ne!(queued(bulkhead.enter(&config)), left);
        bulkhead.leave_queue(left);
        assert_eq!(bulkhead.waiting(), 2);
        // 64 places from the first that waits on are all there are.
        for _ in 3..64 {
            let place = queued(bulkhead.enter(&config));
            bulkhead.leave_queue(place);
        }
        assert_eq!(bulkhead.enter(&config), Entry::Refused);
        bulkhead.leave_queue(first);
        assert!(matches!(bulkhead.enter(&config), Entry::Queued(_)));
    }

    #[test]
    fn numbers_that_are_no_bulkhead_are_refused() {
        let broken = |limit, queue| {
            let error = BulkheadConfig::new(limit, queue, Span::ZERO).unwrap_err();
            (error.code, error.field)
        };
        assert_eq!(broken(0, 0), (ErrorCode::CountRange, Some(Field::BulkheadLimit)));
        assert_eq!(broken(1, 65), (ErrorCode::CountRange, Some(Field::BulkheadQueue)));
        let config = config(u32::MAX, 64);
        assert_eq!((config.limit(), config.queue, config.max_wait()), (u32::MAX, 64, Span::from_secs(1)));
    }

    #[test]
    fn the_machine_is_its_bytes() {
        assert_eq!((size_of::<Bulkhead>(), size_of::<BulkheadConfig>()), (16, 16));
    }

    /// The waiting callers in their order, and all callers that ever got a place.
    #[derive(Default)]
    struct Model {
        running: u32,
        line: VecDeque<u64>,
        given: u64,
    }

    impl Model {
        /// The number of the place, `None` for entering, or an error for being refused.
        fn enter(&mut self, limit: u32, queue: u32) -> Result<Option<u64>, ()> {
            if self.line.is_empty() && self.running < limit {
                self.running += 1;
                return Ok(None);
            }
            let far = self.line.front().is_some_and(|first| self.given - first >= 64);
            if far || self.line.len() >= queue as usize {
                return Err(());
            }
            self.line.push_back(self.given);
            self.given += 1;
            Ok(Some(self.given - 1))
        }

        fn enter_from(&mut self, limit: u32, number: u64) -> Result<Option<u64>, ()> {
            let rank = self.line.iter().position(|&other| other == number).ok_or(())?;
            if self.running + rank as u32 >= limit {
                return Ok(Some(number));
            }
            self.line.remove(rank);
            self.running += 1;
            Ok(None)
        }
    }

    #[test]
    fn a_bulkhead_does_as_a_line_of_people() {
        for seed in 0..100_000_u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut below = |bound: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 33) * bound) >> 31
            };
            let (limit, queue) = (1 + below(3) as u32, [0, 1, 3, 64][below(4) as usize]);
            let config = config(limit, queue);
            // Near the end of the numbers, so that they wrap.
            let first = 65_536 - below(4) as u16 as u64 * 10;
            let mut bulkhead = Bulkhead { head: first as u16, ..Bulkhead::new() };
            let mut model = Model { given: first, ..Model::default() };
            let mut places: Vec<(QueuePlace, u64)> = Vec::new();
            let steps = if seed.is_multiple_of(50) { 300 } else { 24 };
            for step in 0..steps {
                let shown = |model: &Model| std::format!("seed {seed}, step {step}: {limit} {queue} {:?}", model.line);
                let (given, expected) = match below(8) {
                    0..4 => (bulkhead.enter(&config), model.enter(limit, queue)),
                    4 | 5 if !places.is_empty() => {
                        let (place, number) = places[below(places.len() as u64) as usize];
                        (bulkhead.enter_from(&config, place), model.enter_from(limit, number))
                    }
                    6 if !places.is_empty() => {
                        let (place, number) = places[below(places.len() as u64) as usize];
                        bulkhead.leave_queue(place);
                        model.line.retain(|&other| other != number);
                        continue;
                    }
                    _ => {
                        bulkhead.leave();
                        model.running = model.running.saturating_sub(1);
                        continue;
                    }
                };
                match (given, expected) {
                    (Entry::Entered, Ok(None)) | (Entry::Refused, Err(())) => {}
                    (Entry::Queued(place), Ok(Some(number))) => {
                        assert_eq!(place.as_raw(), (number % 65_536) as u32, "{}", shown(&model));
                        places.push((QueuePlace::from_raw(place.as_raw()), number));
                    }
                    (given, expected) => panic!("{}: {given:?}, {expected:?}", shown(&model)),
                }
                assert_eq!(bulkhead.running(), model.running, "{}", shown(&model));
                assert_eq!(bulkhead.waiting() as usize, model.line.len(), "{}", shown(&model));
                let head = model.line.front().map(|number| (number % 65_536) as u32);
                assert_eq!(bulkhead.first().map(QueuePlace::as_raw), head, "{}", shown(&model));
            }
        }
    }

    proptest! {
        #[test]
        fn no_numbers_panic(waiting: u64, words: [u32; 4], [head, given]: [u16; 2]) {
            let [limit, queue, running, place] = words;
            let config = BulkheadConfig { max_wait: 0, limit, queue };
            let mut bulkhead = Bulkhead { waiting, running, head, handed_out: given };
            for place in [QueuePlace(place), QueuePlace(place % 65_536), QueuePlace(u32::from(head) + place % 64)] {
                bulkhead.enter(&config);
                bulkhead.enter_from(&config, place);
                bulkhead.leave_queue(place);
                let _ = bulkhead.first();
                bulkhead.leave();
            }
        }
    }

    #[test]
    fn threads_never_run_more_than_there_may_and_each_gets_its_turn() {
        let config = config(3, 8);
        let shared = Mutex::new((Bulkhead::new(), 0_u32));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let mut entry = shared.lock().unwrap().0.enter(&config);
                        while let Entry::Queued(place) = entry {
                            std::thread::yield_now();
                            entry = shared.lock().unwrap().0.enter_from(&config, place);
                        }
                        assert_eq!(entry, Entry::Entered);
                        assert!(shared.lock().unwrap().0.running() <= 3);
                        let mut shared = shared.lock().unwrap();
                        shared.0.leave();
                        shared.1 += 1;
                    }
                });
            }
        });
        let (bulkhead, ran) = shared.into_inner().unwrap();
        assert_eq!((ran, bulkhead.running(), bulkhead.waiting()), (4000, 0, 0));
    }
}
