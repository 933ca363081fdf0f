use super::*;
use crate::error::ErrorCode;
use crate::fields::Field;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::vec;
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
    assert_eq!([0; 2].map(|_| bulkhead.enter(&config, &mut [])), [Entry::Entered; 2]);
    let place = queued(bulkhead.enter(&config, &mut []));
    assert_eq!(bulkhead.enter(&config, &mut []), Entry::Refused);
    assert_eq!(bulkhead.enter_from(&config, &mut [], place), Entry::Queued(place));
    bulkhead.leave();
    assert_eq!(bulkhead.enter_from(&config, &mut [], place), Entry::Entered);
    assert_eq!((bulkhead.running(), bulkhead.waiting()), (2, 0));
}

#[test]
fn a_newcomer_does_not_overtake_those_who_wait() {
    let (config, mut bulkhead) = (config(1, 4), Bulkhead::new());
    bulkhead.enter(&config, &mut []);
    let [first, second] = [0; 2].map(|_| queued(bulkhead.enter(&config, &mut [])));
    bulkhead.leave();
    let third = queued(bulkhead.enter(&config, &mut []));
    assert_eq!(bulkhead.first(), Some(first));
    assert_eq!(bulkhead.enter_from(&config, &mut [], third), Entry::Queued(third));
    assert_eq!(bulkhead.enter_from(&config, &mut [], second), Entry::Queued(second));
    assert_eq!(bulkhead.enter_from(&config, &mut [], first), Entry::Entered);
}

#[test]
fn with_two_places_free_the_second_may_come_before_the_first() {
    let (config, mut bulkhead) = (config(2, 4), Bulkhead::new());
    bulkhead.enter(&config, &mut []);
    bulkhead.enter(&config, &mut []);
    let [first, second, third] = [0; 3].map(|_| queued(bulkhead.enter(&config, &mut [])));
    bulkhead.leave();
    bulkhead.leave();
    assert_eq!(bulkhead.enter_from(&config, &mut [], third), Entry::Queued(third));
    assert_eq!(bulkhead.enter_from(&config, &mut [], second), Entry::Entered);
    assert_eq!(bulkhead.enter_from(&config, &mut [], third), Entry::Queued(third));
    assert_eq!(bulkhead.enter_from(&config, &mut [], first), Entry::Entered);
}

#[test]
fn who_has_left_the_queue_takes_no_place_with_it() {
    let (config, mut bulkhead) = (config(1, 2), Bulkhead::new());
    bulkhead.enter(&config, &mut []);
    let [first, second] = [0; 2].map(|_| queued(bulkhead.enter(&config, &mut [])));
    bulkhead.leave_queue(&config, &mut [], first);
    bulkhead.leave_queue(&config, &mut [], first);
    assert_eq!(bulkhead.enter_from(&config, &mut [], first), Entry::Refused);
    let third = queued(bulkhead.enter(&config, &mut []));
    assert_eq!(bulkhead.enter(&config, &mut []), Entry::Refused);
    bulkhead.leave();
    assert_eq!(bulkhead.enter_from(&config, &mut [], third), Entry::Queued(third));
    assert_eq!(bulkhead.enter_from(&config, &mut [], second), Entry::Entered);
}

#[test]
fn a_place_that_was_left_is_not_given_to_another() {
    let (config, mut bulkhead) = (config(1, 64), Bulkhead::new());
    bulkhead.enter(&config, &mut []);
    let first = queued(bulkhead.enter(&config, &mut []));
    let left = queued(bulkhead.enter(&config, &mut []));
    bulkhead.leave_queue(&config, &mut [], left);
    assert_ne!(queued(bulkhead.enter(&config, &mut [])), left);
    bulkhead.leave_queue(&config, &mut [], left);
    assert_eq!(bulkhead.waiting(), 2);
    // 64 places from the first that waits on are all there are.
    for _ in 3..64 {
        let place = queued(bulkhead.enter(&config, &mut []));
        bulkhead.leave_queue(&config, &mut [], place);
    }
    assert_eq!(bulkhead.enter(&config, &mut []), Entry::Refused);
    bulkhead.leave_queue(&config, &mut [], first);
    assert!(matches!(bulkhead.enter(&config, &mut []), Entry::Queued(_)));
}

#[test]
fn numbers_that_are_no_bulkhead_are_refused() {
    let broken = |limit, queue| {
        let error = BulkheadConfig::new(limit, queue, Span::ZERO).unwrap_err();
        (error.code, error.field)
    };
    assert_eq!(broken(0, 0), (ErrorCode::CountRange, Some(Field::BulkheadLimit)));
    assert_eq!(broken(1, 65_537), (ErrorCode::CountRange, Some(Field::BulkheadQueue)));
    let config = config(u32::MAX, 64);
    assert_eq!((config.limit(), config.queue, config.max_wait()), (u32::MAX, 64, Span::from_secs(1)));
}

#[test]
fn the_machine_is_its_bytes() {
    assert_eq!((size_of::<Bulkhead>(), size_of::<BulkheadConfig>()), (24, 16));
}

/// The waiting callers in their order, and all callers that ever got a place.
#[derive(Default)]
struct Model {
    running: u32,
    line: VecDeque<u64>,
    given: u64,
}

impl Model {
    /// How many places there are from the first that waits on.
    fn places(queue: u32) -> u64 {
        if queue <= 64 { 64 } else { queue.next_multiple_of(64).into() }
    }

    /// The number of the place, `None` for entering, or an error for being refused.
    fn enter(&mut self, limit: u32, queue: u32) -> Result<Option<u64>, ()> {
        if self.line.is_empty() && self.running < limit {
            self.running += 1;
            return Ok(None);
        }
        let far = self.line.front().is_some_and(|first| self.given - first >= Self::places(queue));
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
        let (limit, queue) = (1 + below(3) as u32, [0, 1, 3, 64, 65, 128, 129][below(7) as usize]);
        let config = config(limit, queue);
        // Whatever is in the words that are lent is of no interest.
        let words = &mut [seed.wrapping_mul(0x5851_f42d_4c95_7f2d); 3][..config.words()];
        // Near the end of the numbers, so that they wrap.
        let first = 65_536 - below(4) as u16 as u64 * 10;
        let mut bulkhead = Bulkhead { head: first as u16, start: below(65) as u16, ..Bulkhead::new() };
        let mut model = Model { given: first, ..Model::default() };
        let mut places: Vec<(QueuePlace, u64)> = Vec::new();
        let steps = if seed.is_multiple_of(50) { 600 } else { 24 };
        for step in 0..steps {
            let shown = |model: &Model| std::format!("seed {seed}, step {step}: {limit} {queue} {:?}", model.line);
            let (given, expected) = match below(8) {
                0..4 => (bulkhead.enter(&config, words), model.enter(limit, queue)),
                4 | 5 if !places.is_empty() => {
                    let (place, number) = places[below(places.len() as u64) as usize];
                    (bulkhead.enter_from(&config, words, place), model.enter_from(limit, number))
                }
                6 if !places.is_empty() => {
                    let (place, number) = places[below(places.len() as u64) as usize];
                    bulkhead.leave_queue(&config, words, place);
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

#[test]
fn the_longest_queue_keeps_the_order_when_half_of_it_leaves() {
    let config = config(8, 65_536);
    assert_eq!(config.words(), 1024);
    let words = &mut vec![u64::MAX; config.words()][..];
    let mut bulkhead = Bulkhead { head: 60_000, start: 12_345, ..Bulkhead::new() };
    (0..8).for_each(|_| assert_eq!(bulkhead.enter(&config, words), Entry::Entered));
    let mut line: VecDeque<QueuePlace> = (0..65_536).map(|_| queued(bulkhead.enter(&config, words))).collect();
    assert_eq!(bulkhead.enter(&config, words), Entry::Refused);
    let mut odd = 0_u32;
    line.retain(|&place| {
        odd = odd.wrapping_mul(5).wrapping_add(3);
        let stays = odd >> 30 < 2 && place.as_raw() > 9000;
        if !stays {
            bulkhead.leave_queue(&config, words, place);
        }
        stays
    });
    while let Some(last) = line.back().copied() {
        assert_eq!((bulkhead.waiting(), bulkhead.first()), (line.len() as u32, line.front().copied()));
        (0..8).for_each(|_| bulkhead.leave());
        if line.len() > 8 {
            assert_eq!(bulkhead.enter_from(&config, words, line[8]), Entry::Queued(line[8]));
            assert_eq!(bulkhead.enter_from(&config, words, last), Entry::Queued(last));
        }
        for place in line.drain(..line.len().min(8)) {
            assert_eq!(bulkhead.enter_from(&config, words, place), Entry::Entered);
        }
    }
    (0..8).for_each(|_| bulkhead.leave());
    assert_eq!((bulkhead.running(), bulkhead.waiting(), bulkhead.first()), (0, 0, None));
}

#[test]
fn with_fewer_words_fewer_callers_wait() {
    let (config, mut bulkhead) = (config(1, 1000), Bulkhead::new());
    assert_eq!(bulkhead.enter(&config, &mut []), Entry::Entered);
    assert_eq!(bulkhead.enter(&config, &mut []), Entry::Refused);
    let words = &mut [0; 2];
    (0..128).for_each(|number| assert_eq!(queued(bulkhead.enter(&config, words)).as_raw(), number));
    assert_eq!(bulkhead.enter(&config, words), Entry::Refused);
}

proptest! {
    #[test]
    fn no_numbers_panic(
        places: u64, mut words in prop::collection::vec(any::<u64>(), 0..4), fields: [u32; 6], [head, start]: [u16; 2]
    ) {
        let [limit, queue, running, place, handed_out, waiting] = fields;
        for (queue, handed_out, waiting) in [
            (queue, handed_out, waiting), (queue % 300, handed_out % 300, waiting % 300), (queue % 65_537, handed_out, 1)
        ] {
            let config = BulkheadConfig { max_wait: 0, limit, queue };
            let mut bulkhead = Bulkhead { places, running, waiting, handed_out, head, start };
            for place in [QueuePlace(place), QueuePlace(place % 65_536), QueuePlace(u32::from(head) + place % 300)] {
                bulkhead.enter(&config, &mut words);
                bulkhead.enter_from(&config, &mut words, place);
                bulkhead.leave_queue(&config, &mut words, place);
                let _ = bulkhead.first();
                bulkhead.leave();
            }
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
                    let mut entry = shared.lock().unwrap().0.enter(&config, &mut []);
                    while let Entry::Queued(place) = entry {
                        std::thread::yield_now();
                        entry = shared.lock().unwrap().0.enter_from(&config, &mut [], place);
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
