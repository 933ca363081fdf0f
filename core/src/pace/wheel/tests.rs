//! What a wheel promises, and that it keeps it beside a plain list of timers.

use super::*;
use crate::decide::rng::Rng;
use crate::time::Span;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::vec::Vec;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const YEAR: u64 = 31_557_600 * SECOND;
/// As many as it takes to notice what piles up; Miri takes its time.
const MANY: u64 = if cfg!(miri) { 1_000 } else { 200_000 };

const fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

/// All that is due, in the order in which it is popped.
fn popped(wheel: &mut Wheel, now: u64) -> Vec<(TimerKey, Timestamp)> {
    core::iter::from_fn(|| wheel.pop(at(now))).collect()
}

fn keys(wheel: &mut Wheel, now: u64) -> Vec<TimerKey> {
    popped(wheel, now).into_iter().map(|(key, _)| key).collect()
}

fn times(wheel: &mut Wheel, now: u64) -> Vec<u64> {
    popped(wheel, now).into_iter().map(|(_, at)| at.as_nanos()).collect()
}

fn wheel_of(times: &[u64]) -> (Wheel, Vec<TimerKey>) {
    let mut wheel = Wheel::new();
    let keys = times.iter().map(|time| wheel.insert(at(*time)).unwrap()).collect();
    (wheel, keys)
}

#[test]
fn a_wheel_without_timers_has_nothing_to_wake_for() {
    let mut wheel = Wheel::default();
    assert_eq!((wheel.next_wake(), wheel.pop(at(u64::MAX)), wheel.len()), (None, None, 0));
}

#[test]
fn timers_fire_by_time() {
    let (mut wheel, _) = wheel_of(&[30, 10, 5 * SECOND, 20, 40 * YEAR]);
    assert_eq!(times(&mut wheel, 25), [10, 20]);
    assert_eq!((wheel.next_wake(), wheel.len()), (Some(at(30)), 3));
    assert_eq!(times(&mut wheel, u64::MAX), [30, 5 * SECOND, 40 * YEAR]);
    assert!(wheel.is_empty());
}

#[test]
fn equal_times_fire_in_the_order_of_insertion() {
    for time in [0, 7, 300 * MS, 5 * YEAR] {
        let (mut wheel, inserted) = wheel_of(&[time; 50]);
        assert_eq!(keys(&mut wheel, time), inserted);
    }
}

#[test]
fn the_order_of_insertion_survives_the_levels() {
    let mut wheel = Wheel::new();
    let far = wheel.insert(at(200 * SECOND)).unwrap();
    wheel.insert(at(100 * SECOND)).unwrap();
    wheel.insert(at(199 * SECOND)).unwrap();
    assert_eq!(times(&mut wheel, 100 * SECOND), [100 * SECOND]);
    let nearer = wheel.insert(at(200 * SECOND)).unwrap();
    assert_eq!(times(&mut wheel, 199 * SECOND), [199 * SECOND]);
    let near = wheel.insert(at(200 * SECOND)).unwrap();
    assert_eq!(keys(&mut wheel, 200 * SECOND), [far, nearer, near]);
}

#[test]
fn nothing_fires_before_its_nanosecond() {
    let (mut wheel, _) = wheel_of(&[SECOND, SECOND + 1]);
    assert!(times(&mut wheel, SECOND - 1).is_empty());
    assert_eq!(times(&mut wheel, SECOND), [SECOND]);
    assert_eq!(times(&mut wheel, SECOND + 1), [SECOND + 1]);
}

#[test]
fn a_time_that_has_passed_is_due_at_once_and_first() {
    let (mut wheel, _) = wheel_of(&[5 * SECOND, 5 * SECOND + 1]);
    assert_eq!(wheel.pop(at(6 * SECOND)).map(|(_, at)| at), Some(at(5 * SECOND)));
    for time in [2 * SECOND, SECOND, 5 * SECOND + 1, 5 * SECOND] {
        wheel.insert(at(time)).unwrap();
    }
    assert_eq!(wheel.next_wake(), Some(at(SECOND)));
    assert_eq!(times(&mut wheel, 6 * SECOND), [SECOND, 2 * SECOND, 5 * SECOND, 5 * SECOND + 1, 5 * SECOND + 1]);
}

#[test]
fn looking_ahead_does_not_hinder_an_earlier_timer() {
    let (mut wheel, _) = wheel_of(&[YEAR]);
    assert_eq!(wheel.next_wake(), Some(at(YEAR)));
    wheel.insert(at(SECOND)).unwrap();
    assert_eq!(wheel.next_wake(), Some(at(SECOND)));
    assert!(wheel.late.is_empty(), "an earlier timer is an ordinary one");
    assert_eq!(times(&mut wheel, 2 * SECOND), [SECOND]);
}

#[test]
fn never_fires_never_and_can_be_cancelled() {
    let mut wheel = Wheel::new();
    let never = wheel.insert(Timestamp::NEVER).unwrap();
    wheel.insert(Timestamp::LAST).unwrap();
    assert_eq!(wheel.next_wake(), Some(Timestamp::LAST));
    assert_eq!(popped(&mut wheel, u64::MAX).len(), 1);
    assert_eq!((wheel.next_wake(), wheel.len()), (None, 1));
    assert!(wheel.cancel(never));
    assert!(wheel.is_empty());
}

#[test]
fn a_cancelled_timer_is_neither_popped_nor_waited_for() {
    let (mut wheel, inserted) = wheel_of(&[SECOND, 2 * SECOND, 2 * SECOND, 3 * SECOND]);
    assert!(wheel.cancel(inserted[0]));
    assert_eq!((wheel.next_wake(), wheel.len()), (Some(at(2 * SECOND)), 3));
    assert!(wheel.cancel(inserted[1]));
    assert_eq!(keys(&mut wheel, 3 * SECOND), inserted[2..]);
}

#[test]
fn a_timer_that_is_due_already_can_still_be_cancelled() {
    let (mut wheel, inserted) = wheel_of(&[SECOND, SECOND, SECOND]);
    assert_eq!(wheel.pop(at(SECOND)).map(|(key, _)| key), Some(inserted[0]));
    assert!(wheel.cancel(inserted[1]));
    assert_eq!(wheel.next_wake(), Some(at(SECOND)));
    assert_eq!(keys(&mut wheel, SECOND), inserted[2..]);
}

#[test]
fn a_key_ends_with_its_timer() {
    let (mut wheel, inserted) = wheel_of(&[10, 20]);
    assert!(wheel.cancel(inserted[1]) && !wheel.cancel(inserted[1]));
    assert_eq!(wheel.pop(at(10)).map(|(key, _)| key), Some(inserted[0]));
    assert!(!wheel.cancel(inserted[0]));
    let next = wheel.insert(at(30)).unwrap();
    assert_eq!(next.index(), 0, "the index is given again");
    assert!(!wheel.cancel(inserted[0]), "the key is not");
    assert!(!wheel.cancel(TimerKey::from_raw(0)) && !wheel.cancel(TimerKey::from_raw(u64::MAX)));
    assert!(!wheel.cancel(TimerKey::from_raw(1)), "a free slot is no timer");
    assert!(wheel.cancel(TimerKey::from_raw(next.as_raw())));
}

#[test]
fn keys_are_apart_even_when_their_stamps_begin_anew() {
    let mut wheel = Wheel::from(u32::MAX >> 1, Timestamp::ZERO, 0);
    let last = wheel.insert(at(1)).unwrap();
    assert!(wheel.cancel(last));
    let first = wheel.insert(at(1)).unwrap();
    assert_eq!((last.index(), first.index()), (0, 0));
    assert!(!wheel.cancel(last) && wheel.cancel(first));
}

#[test]
fn a_cleared_wheel_knows_no_key_and_keeps_no_memory() {
    let (mut wheel, inserted) = wheel_of(&[10; 1000]);
    wheel.clear();
    assert_eq!((wheel.len(), wheel.next_wake(), wheel.pool.chunks()), (0, None, (0, 0)));
    let new: Vec<_> = (0..1000).map(|_| wheel.insert(at(20)).unwrap()).collect();
    assert!(inserted.iter().all(|key| !wheel.cancel(*key)));
    assert_eq!(keys(&mut wheel, 20), new);
}

#[test]
fn a_clock_that_goes_back_reads_as_the_latest_time() {
    let (mut wheel, inserted) = wheel_of(&[10, 20, 30]);
    assert_eq!(keys(&mut wheel, 10), inserted[..1]);
    assert!(keys(&mut wheel, 0).is_empty());
    assert_eq!(wheel.pop(at(20)).map(|(key, _)| key), Some(inserted[1]));
    let past = wheel.insert(at(15)).unwrap();
    assert_eq!(keys(&mut wheel, 0), [past]);
}

#[test]
fn indices_are_dense() {
    let mut wheel = Wheel::new();
    for round in 0..100_u64 {
        let inserted: Vec<_> = (0..64).map(|number| wheel.insert(at((round + number) * SECOND)).unwrap()).collect();
        assert!(inserted.iter().all(|key| key.index() < 64));
        assert!(inserted.iter().all(|key| wheel.cancel(*key)));
    }
}

#[test]
fn a_jump_over_years_costs_few_steps() {
    let (mut wheel, _) = wheel_of(&[1, 100 * YEAR, 500 * YEAR]);
    assert_eq!(times(&mut wheel, 500 * YEAR), [1, 100 * YEAR, 500 * YEAR]);
    // Whatever the cursor skipped, it left nothing open.
    assert_eq!(wheel.occupied, 0);
}

#[test]
fn overdue_timers_in_any_order_do_not_slow_each_other_down() {
    let (mut wheel, _) = wheel_of(&[YEAR]);
    assert_eq!(wheel.pop(at(YEAR)).map(|(_, at)| at), Some(at(YEAR)));
    let mut rng = Rng::new(7);
    let mut inserted: Vec<u64> = (0..MANY).map(|_| u64::from(rng.next_u32()) * SECOND % YEAR).collect();
    inserted.iter().for_each(|time| _ = wheel.insert(at(*time)).unwrap());
    inserted.sort_unstable();
    assert_eq!(times(&mut wheel, YEAR), inserted);
}

/// Calls that time out in half a minute and are done after a few milliseconds: each timer is cancelled, none fires.
#[test]
fn cancelled_timers_do_not_pile_up() {
    let mut wheel = Wheel::new();
    let mut under_way = std::collections::VecDeque::new();
    for call in 0..MANY {
        let now = call * 10_000;
        under_way.push_back(wheel.insert(at(now + 30 * SECOND)).unwrap());
        if under_way.len() > 100 {
            assert!(wheel.cancel(under_way.pop_front().unwrap()));
        }
        assert_eq!(wheel.pop(at(now)), None);
        assert!(wheel.entries <= 2 * wheel.len() + FEW);
    }
    let (chunks, _) = wheel.pool.chunks();
    assert!(chunks < 100, "{chunks} chunks for 100 timers");
}

/// Far timers that are cancelled where nothing is ever popped.
#[test]
fn far_timers_that_come_and_go_do_not_pile_up() {
    let mut wheel = Wheel::new();
    let mut rng = Rng::new(7);
    for _ in 0..MANY {
        let key = wheel.insert(at(u64::from(rng.next_u32()) * SECOND)).unwrap();
        assert!(wheel.cancel(key));
    }
    assert!(wheel.entries <= FEW);
    assert!(wheel.pool.chunks().0 <= FEW + 1);
}

/// A host that asks when to wake after each cancellation of the earliest, where all lie in one bucket.
#[test]
fn the_next_timers_are_known_after_each_cancellation_of_the_earliest() {
    let mut rng = Rng::new(7);
    let mut beside = Beside::new();
    let mut within = |milliseconds: u32| 20 * SECOND + u64::from(rng.next_u32() % milliseconds) * MS;
    (0..2_000).for_each(|_| beside.insert(within(200)));
    for round in 0..6_000 {
        beside.cancel(0);
        beside.look();
        match round % 4 {
            0 => beside.insert(within(10)),
            1 => beside.insert(within(200)),
            _ => {}
        }
        beside.look();
    }
    assert!(beside.pop(21 * SECOND, 1) || beside.keys.is_empty());
}

#[test]
fn what_was_cancelled_is_gone_before_its_key_comes_again() {
    let mut wheel = Wheel::new();
    let far = wheel.insert(at(YEAR)).unwrap();
    assert!(wheel.cancel(far));
    assert_eq!(wheel.entries, 1, "it is too little to be worth a sweep");
    // As many others come and go at the same index.
    let mut later = Wheel { slots: Slots::new((1 << 30) - 1), ..wheel };
    for _ in 0..2 {
        let key = later.insert(at(SECOND)).unwrap();
        assert!(later.cancel(key));
    }
    assert_eq!(later.entries, 1, "only the latest is left");
}

#[test]
fn chunks_are_used_again() {
    let mut wheel = Wheel::new();
    let mut most = 0;
    for second in 0..50 {
        (0..1000).for_each(|number| _ = wheel.insert(at((second * 1000 + number) * MS)).unwrap());
        assert_eq!(popped(&mut wheel, (second + 1) * SECOND).len(), 1000);
        let (all, free) = wheel.pool.chunks();
        assert_eq!(all, free);
        most = if second == 2 { all } else { most };
        assert!(second < 3 || all <= most);
    }
}

#[test]
fn a_long_run_gives_its_memory_back() {
    let (mut wheel, _) = wheel_of(&[SECOND; 3 * run::MOST_REUSED]);
    wheel.insert(at(2 * SECOND)).unwrap();
    assert_eq!(popped(&mut wheel, SECOND).len(), 3 * run::MOST_REUSED);
    assert!(wheel.run.capacity() > run::MOST_REUSED);
    assert_eq!(popped(&mut wheel, 2 * SECOND).len(), 1);
    assert!(wheel.run.capacity() <= run::MOST_REUSED);
}

#[test]
fn a_timer_without_memory_is_refused_and_changes_nothing() {
    let mut wheel = Wheel::new();
    reserve::refuse(true);
    let refused = [at(5), at(SECOND)].map(|at| wheel.insert(at));
    reserve::refuse(false);
    assert_eq!(refused, [Err(WheelFull); 2]);
    assert_eq!((wheel.len(), wheel.next_wake(), wheel.pop(at(10))), (0, None, None));
    let kept = wheel.insert(at(SECOND)).unwrap();
    reserve::refuse(true);
    // There is room for a few, and then for no more.
    let more = (0..10_000).take_while(|_| wheel.insert(at(2 * SECOND)).is_ok()).count();
    reserve::refuse(false);
    assert!((1..100).contains(&more));
    assert_eq!(wheel.len(), 1 + more);
    assert_eq!(keys(&mut wheel, SECOND), [kept]);
}

#[test]
fn popping_without_memory_pops_all_the_same() {
    let mut rng = Rng::new(7);
    let expected: Vec<u64> = (0..500).map(|_| u64::from(rng.next_u32()) * 1000).collect();
    let (mut wheel, _) = wheel_of(&expected);
    let mut sorted = expected.clone();
    sorted.sort_unstable();
    reserve::refuse(true);
    let got = times(&mut wheel, u64::MAX);
    reserve::refuse(false);
    assert_eq!(got, sorted);
}

/// All timers in one ordered map.
#[derive(Default)]
struct Model {
    timers: BTreeMap<(u64, u64), u64>,
    inserted: u64,
    latest: u64,
}

/// A wheel beside its model, and the keys by the timer's number.
struct Beside {
    wheel: Wheel,
    model: Model,
    keys: HashMap<u64, TimerKey>,
    /// The keys of timers that are no more.
    gone: Vec<TimerKey>,
    most: usize,
}

impl Beside {
    fn new() -> Self {
        let (wheel, model) = (Wheel::new(), Model::default());
        Self { wheel, model, keys: HashMap::new(), gone: Vec::new(), most: 0 }
    }

    fn insert(&mut self, time: u64) {
        let number = self.model.inserted;
        if let Ok(key) = self.wheel.insert(at(time)) {
            self.model.timers.insert((time, number), number);
            self.model.inserted += 1;
            assert!(self.keys.values().all(|other| other.index() != key.index()));
            self.keys.insert(number, key);
            self.most = self.most.max(self.keys.len());
            assert!((key.index() as usize) < self.most, "indices are dense");
        }
    }

    /// Cancels the pending timer at a place, by time.
    fn cancel(&mut self, place: usize) {
        let Some((&timer, _)) = self.model.timers.iter().nth(place % self.model.timers.len().max(1)) else {
            return;
        };
        self.model.timers.remove(&timer);
        let key = self.keys.remove(&timer.1).unwrap();
        assert!(self.wheel.cancel(key));
        self.gone.push(key);
    }

    fn cancel_gone(&mut self, place: usize) {
        if !self.gone.is_empty() {
            let place = place % self.gone.len();
            assert!(!self.wheel.cancel(self.gone[place]));
        }
    }

    /// Pops at most so many at a time; whether there were as many.
    fn pop(&mut self, now: u64, most: usize) -> bool {
        self.model.latest = self.model.latest.max(now.min(u64::MAX - 1));
        for _ in 0..most {
            let due = self.model.timers.first_key_value().map(|(timer, _)| *timer);
            let due = due.filter(|(time, _)| *time <= self.model.latest);
            let expected = due.map(|timer| (self.keys[&timer.1], at(timer.0)));
            assert_eq!(self.wheel.pop(at(now)), expected);
            let Some(timer) = due else { return false };
            self.model.timers.remove(&timer);
            self.gone.push(self.keys.remove(&timer.1).unwrap());
        }
        true
    }

    fn clear(&mut self) {
        self.wheel.clear();
        self.model.timers.clear();
        self.gone.extend(self.keys.drain().map(|(_, key)| key));
        self.most = 0;
    }

    fn look(&mut self) {
        let next = self.model.timers.first_key_value().map(|((time, _), _)| *time).filter(|time| *time < u64::MAX);
        assert_eq!(self.wheel.next_wake(), next.map(at));
    }

    fn check(&self) {
        assert_eq!(self.wheel.len(), self.model.timers.len());
        assert_eq!(self.wheel.is_empty(), self.model.timers.is_empty());
        assert!(self.wheel.entries <= 2 * self.most + FEW, "cancelled timers do not pile up");
        let latest = self.wheel.latest.as_nanos() >> TICK_BITS;
        assert!(self.wheel.cursor <= latest | u64::from(LAST_DIGIT), "the cursor is not ahead by more than a bucket");
    }
}

/// Some distance in time, from none to years, by its number of bits.
fn distance(rng: &mut Rng) -> u64 {
    let bits = rng.next_u32() % 63;
    let word = u64::from(rng.next_u32()) << 32 | u64::from(rng.next_u32());
    word >> 63_u32.saturating_sub(bits).max(1)
}

/// One of a hundred things that can happen to a wheel.
fn happen(beside: &mut Beside, rng: &mut Rng, now: &mut u64) {
    let place = rng.next_u32() as usize;
    match rng.next_u32() % 100 {
        0..=29 => beside.insert(now.saturating_add(distance(rng))),
        30..=37 => beside.insert(now.saturating_add(u64::from(rng.next_u32() % 8))),
        38..=44 => beside.insert(now.saturating_sub(distance(rng))),
        45 => beside.insert(u64::MAX - u64::from(rng.next_u32() % 3)),
        46..=55 => {
            let others = beside.model.timers.keys().nth(place % beside.model.timers.len().max(1)).copied();
            beside.insert(others.map_or(*now, |timer| timer.0));
        }
        56..=68 => beside.cancel(place),
        69..=73 => beside.cancel(0),
        74..=76 => beside.cancel_gone(place),
        77..=81 => _ = beside.pop(*now, 3),
        82..=90 => {
            *now = now.saturating_add(distance(rng) >> 8);
            while beside.pop(*now, 5) {}
        }
        91..=94 => {
            let next = beside.model.timers.first_key_value().map(|((time, _), _)| *time);
            *now = next.map_or(*now, |next| next.max(*now));
            beside.pop(*now, 1);
        }
        95..=96 => beside.look(),
        97 => _ = beside.pop(now.saturating_sub(distance(rng)), 2),
        98 if place.is_multiple_of(50) => beside.clear(),
        98 if place % 50 == 1 => {
            // A jump that leaves room for a few more.
            *now = now.saturating_add(distance(rng)).min(1 << 63);
            beside.pop(*now, usize::MAX);
        }
        _ => {}
    }
    beside.check();
}

const OPERATIONS: usize = if cfg!(miri) { 2_000 } else { 100_000 };

/// A hundred thousand things, looking after each of them or only now and then, since looking tidies up.
fn stays_beside_its_model(seed: u64, look_every: u32, refuses: bool) {
    let mut rng = Rng::new(seed);
    let mut beside = Beside::new();
    let mut now = distance(&mut rng);
    for _ in 0..OPERATIONS {
        if refuses && rng.next_u32().is_multiple_of(64) {
            reserve::refuse(rng.next_u32().is_multiple_of(2));
        }
        happen(&mut beside, &mut rng, &mut now);
        if now > 1 << 62 {
            now = 0;
            beside = Beside::new();
        }
        if rng.next_u32().is_multiple_of(look_every) {
            beside.look();
        }
    }
    reserve::refuse(false);
    while beside.pop(u64::MAX, 1) {}
    beside.look();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 4 }))]

    #[test]
    fn it_is_an_ordered_map(seed: u64) {
        stays_beside_its_model(seed, 1, false);
    }

    #[test]
    fn it_is_an_ordered_map_without_being_looked_at(seed: u64) {
        stays_beside_its_model(seed, 50, false);
    }

    #[test]
    fn it_is_an_ordered_map_when_memory_comes_and_goes(seed: u64) {
        stays_beside_its_model(seed, 20, true);
    }
}

#[test]
fn a_long_life_of_calls_keeps_its_order() {
    let calls = if cfg!(miri) { 200 } else { 10_000 };
    let mut rng = Rng::new(7);
    let mut wheel = Wheel::new();
    let mut delay = || Span::from_millis(1 + u64::from(rng.next_u32()) % 60_000).as_nanos();
    (0..calls).for_each(|_| _ = wheel.insert(at(delay())).unwrap());
    let (mut now, mut last) = (0, 0);
    for _ in 0..10 * calls {
        now = now.max(wheel.next_wake().unwrap().as_nanos());
        let (_, due) = wheel.pop(at(now)).unwrap();
        assert!(due.as_nanos() == now && now >= last);
        last = now;
        wheel.insert(at(now + delay())).unwrap();
    }
    assert_eq!(wheel.len(), calls);
}
