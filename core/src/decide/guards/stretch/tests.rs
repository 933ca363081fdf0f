use super::*;
use crate::decide::policy::Policy;
use crate::decide::rng::{Rng, seed_at};
use crate::decide::schedule::Schedule;
use crate::error::ErrorCode;
use crate::fields::Field;
use core::cmp::Reverse;
use proptest::prelude::*;
use std::collections::BinaryHeap;
use std::vec::Vec;

const MS: u64 = 1_000_000;

const fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * MS)
}

fn config(factor: f64, min_calls: u32) -> StretchConfig {
    StretchConfig::new(factor, Span::from_secs(10), min_calls).unwrap()
}

fn after(config: &StretchConfig, calls: &[(u64, bool)]) -> Stretch {
    let mut guard = Stretch::new(config, at(0));
    calls.iter().for_each(|(now, failed)| guard.record(config, at(*now), *failed));
    guard
}

const DELAY: Span = Span::from_millis(100);

#[test]
fn a_delay_is_stretched_by_the_share_that_failed() {
    let config = config(5.0, 1);
    for (calls, expected) in [
        (&[false, false, false, false][..], 100),
        (&[true, false, false, false], 200),
        (&[true, true, false, false], 300),
        (&[true, true, true, true], 500),
    ] {
        let calls: Vec<_> = calls.iter().map(|failed| (0, *failed)).collect();
        assert_eq!(after(&config, &calls).stretch(&config, at(0), DELAY), Span::from_millis(expected), "{calls:?}");
    }
}

#[test]
fn too_few_attempts_change_nothing() {
    let config = config(5.0, 3);
    assert_eq!(after(&config, &[(0, true), (0, true)]).stretch(&config, at(0), DELAY), DELAY);
    assert_eq!(after(&config, &[(0, true); 3]).stretch(&config, at(0), DELAY), Span::from_millis(500));
}

#[test]
fn what_is_a_window_ago_is_forgotten() {
    let config = config(5.0, 1);
    let guard = after(&config, &[(500, true)]);
    assert_eq!(guard.counts(&config, at(9_999)), (1, 1));
    assert_eq!(guard.counts(&config, at(10_000)), (0, 0));
    assert_eq!(guard.stretch(&config, at(10_000), DELAY), DELAY);
}

#[test]
fn a_factor_of_one_changes_nothing() {
    let config = config(1.0, 1);
    assert_eq!(after(&config, &[(0, true)]).stretch(&config, at(0), DELAY), DELAY);
    let odd = Span::from_nanos((1 << 53) + 1);
    assert_eq!(after(&config, &[(0, true)]).stretch(&config, at(0), odd), odd, "to the nanosecond");
}

#[test]
fn the_longest_delay_stays_the_longest() {
    let config = config(1e300, 1);
    assert_eq!(after(&config, &[(0, true)]).stretch(&config, at(0), Span::MAX), Span::MAX);
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let wrong = |factor, window, calls| StretchConfig::new(factor, window, calls).unwrap_err();
    for bad in [0.9, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(wrong(bad, DELAY, 1).code, ErrorCode::FactorRange);
    }
    assert_eq!(wrong(2.0, Span::ZERO, 1).field, Some(Field::StretchWindow));
    assert_eq!(wrong(2.0, DELAY, 0).field, Some(Field::StretchMinCalls));
}

#[test]
fn the_machine_is_its_bytes() {
    assert_eq!((size_of::<Stretch>(), size_of::<StretchConfig>()), (144, 24));
}

/// From the list of all attempts: those whose slot is one of the last ten.
fn model(config: &StretchConfig, created: u64, calls: &[(u64, bool)], now: u64, delay: u64) -> u64 {
    let slot = config.window.div_ceil(10);
    let (mut latest, mut placed) = (created, Vec::new());
    for (when, failed) in calls {
        latest = latest.max(*when);
        placed.push(((latest - created) / slot, *failed));
    }
    let current = (latest.max(now) - created) / slot;
    let counted: Vec<_> = placed.iter().filter(|(at, _)| at + 10 > current).collect();
    let failed = counted.iter().filter(|(_, failed)| *failed).count();
    if counted.len() < config.min_calls as usize || failed == 0 {
        return delay;
    }
    let share = failed as f64 / counted.len() as f64;
    (delay as f64 * (1.0 + (config.factor() - 1.0) * share)) as u64
}

#[test]
fn a_hundred_thousand_random_histories_are_as_the_model_says() {
    for seed in 0..100_000 {
        let mut rng = Rng::new(seed);
        let window = Span::from_nanos(1 + u64::from(rng.next_u32() % 2000));
        let config = StretchConfig::new(1.0 + rng.uniform() * 9.0, window, 1 + rng.next_u32() % 4).unwrap();
        let created = u64::from(rng.next_u32());
        let (mut guard, mut calls, mut now) =
            (Stretch::new(&config, Timestamp::from_nanos(created)), Vec::new(), created);
        for _ in 0..=rng.next_u32() % 12 {
            let gap = u64::from(rng.next_u32() % 1000) >> (rng.next_u32() % 10);
            now = if rng.next_u32().is_multiple_of(10) { now.saturating_sub(gap) } else { now + gap };
            let failed = rng.next_u32().is_multiple_of(2);
            guard.record(&config, Timestamp::from_nanos(now), failed);
            calls.push((now, failed));
            let look = now + u64::from(rng.next_u32() % 300);
            let delay = u64::from(rng.next_u32());
            let got = guard.stretch(&config, Timestamp::from_nanos(look), Span::from_nanos(delay)).as_nanos();
            assert_eq!(got, model(&config, created, &calls, look, delay), "seed {seed}: {calls:?}, {look}");
        }
    }
}

/// A server whose answers fail with the share that is given for the second, and who calls it.
struct Simulation {
    stretch: Option<StretchConfig>,
    /// The share of attempts that fail in each second; as many seconds as there are shares.
    broken: fn(u64) -> f64,
    seconds: u64,
    /// Workers that each begin the next call a tenth of a second after the last one is over.
    workers: u32,
    /// Calls that begin each second whatever became of the others, and must be over two seconds later.
    calls: u32,
}

#[derive(Default, Debug)]
struct Load {
    attempts: u64,
    succeeded: u64,
    given_up: u64,
    /// Attempts in each second.
    by_second: Vec<u64>,
}

/// One call of a worker or, with a deadline, of nobody in particular.
struct Running {
    schedule: Schedule,
    deadline: Option<u64>,
}

impl Simulation {
    fn run(&self) -> Load {
        const TENTH: u64 = 100 * MS;
        let policy = Policy::options().attempts(6).build().unwrap();
        let config = self.stretch.unwrap_or(config(1.0, 1));
        let mut shared = Stretch::new(&config, at(0));
        let (mut rng, mut seeds) = (Rng::new(2026), 0);
        let mut fresh = |deadline| {
            seeds += 1;
            Running { schedule: Schedule::new(&policy, seed_at(2026, seeds)), deadline }
        };
        let mut running: Vec<Running> = Vec::new();
        let mut queue = BinaryHeap::new();
        for worker in 0..u64::from(self.workers) {
            queue.push(Reverse((worker * TENTH / u64::from(self.workers), running.len())));
            running.push(fresh(None));
        }
        for call in 0..u64::from(self.calls) * self.seconds {
            let begins = call * 1000 * MS / u64::from(self.calls);
            queue.push(Reverse((begins, running.len())));
            running.push(fresh(Some(begins + 2000 * MS)));
        }
        let mut load = Load { by_second: std::vec![0; self.seconds as usize], ..Load::default() };
        while let Some(Reverse((now, who))) = queue.pop() {
            let second = now / (1000 * MS);
            if second >= self.seconds {
                break;
            }
            load.attempts += 1;
            load.by_second[second as usize] += 1;
            let failed = rng.uniform() < (self.broken)(second);
            let time = Timestamp::from_nanos(now);
            shared.record(&config, time, failed);
            let delay = if failed { running[who].schedule.next() } else { None };
            let delay = delay.map(|delay| shared.stretch(&config, time, delay).as_nanos());
            let deadline = running[who].deadline;
            match delay.filter(|delay| deadline.is_none_or(|deadline| now + delay < deadline)) {
                Some(delay) => queue.push(Reverse((now + delay, who))),
                None => {
                    *(if failed { &mut load.given_up } else { &mut load.succeeded }) += 1;
                    if deadline.is_none() {
                        running[who] = fresh(None);
                        queue.push(Reverse((now + TENTH, who)));
                    }
                }
            }
        }
        load
    }
}

#[test]
fn workers_ask_a_half_broken_server_less_than_half_as_often() {
    let run = |stretch| Simulation { stretch, broken: |_| 0.5, seconds: 60, workers: 100, calls: 0 }.run();
    let (without, with) = (run(None), run(Some(config(10.0, 10))));
    let ratio = with.attempts as f64 / without.attempts as f64;
    assert!((0.2..0.5).contains(&ratio), "{ratio} of {without:?}");
    // What fails for good stays as rare: one call in 2^6.
    for load in [without, with] {
        let share = load.given_up as f64 / (load.given_up + load.succeeded) as f64;
        assert!((0.005..0.03).contains(&share), "{load:?}");
    }
}

#[test]
fn calls_with_a_deadline_retry_a_broken_server_less() {
    let run = |stretch| Simulation { stretch, broken: |_| 1.0, seconds: 60, workers: 0, calls: 100 }.run();
    let (without, with) = (run(None), run(Some(config(10.0, 10))));
    let per_call = |load: &Load| load.attempts as f64 / 6000.0;
    assert!(per_call(&without) > 4.0, "{}", per_call(&without));
    assert!(per_call(&with) < 0.7 * per_call(&without), "{} and {}", per_call(&with), per_call(&without));
}

#[test]
fn a_healthy_server_is_asked_as_often_as_without() {
    let run = |stretch| Simulation { stretch, broken: |_| 0.0, seconds: 20, workers: 100, calls: 0 }.run();
    let (without, with) = (run(None), run(Some(config(10.0, 10))));
    assert_eq!((without.attempts, with.attempts), (20_000, 20_000));
}

#[test]
fn a_window_after_recovery_the_load_is_back() {
    let broken = |second| if second < 20 { 0.9 } else { 0.0 };
    let run = |stretch| Simulation { stretch, broken, seconds: 40, workers: 100, calls: 0 }.run();
    let (without, with) = (run(None), run(Some(config(10.0, 10))));
    let during = |load: &Load| load.by_second[10..20].iter().sum::<u64>();
    let later = |load: &Load| load.by_second[32..].iter().sum::<u64>();
    assert!(during(&with) * 2 < during(&without), "{} and {}", during(&with), during(&without));
    assert!(later(&with) as f64 > 0.95 * later(&without) as f64, "{} and {}", later(&with), later(&without));
}

proptest! {
    #[test]
    fn no_numbers_panic(factor: u64, window: u64, min_calls: u32, times: [u64; 3], delay: u64) {
        let config = StretchConfig { factor: f64::from_bits(factor), window, min_calls, unused: 0 };
        let [created, now, look] = times.map(Timestamp::from_nanos);
        let mut guard = Stretch::new(&config, created);
        guard.record(&config, now, true);
        prop_assert!(guard.stretch(&config, look, Span::from_nanos(delay)) <= Span::MAX);
    }

    #[test]
    fn a_delay_never_shrinks_and_stays_below_the_factor(
        calls in prop::collection::vec((0u64..20_000, any::<bool>()), 0..50), factor in 1.0f64..100.0, delay in 0u64..1 << 40
    ) {
        let config = config(factor, 1);
        let got = after(&config, &calls).stretch(&config, at(20_000), Span::from_nanos(delay)).as_nanos();
        prop_assert!(got >= delay && got as f64 <= delay as f64 * factor);
    }
}
