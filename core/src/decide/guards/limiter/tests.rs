//! The limiters in examples, against slow and obvious ones, and between threads.

use super::*;
use crate::error::ErrorCode;
use crate::fields::Field;
use core::sync::atomic::{AtomicU32, Ordering};
use proptest::prelude::*;
use std::sync::Mutex;
use std::vec::Vec;

const MS: u64 = 1_000_000;
const SECOND: Span = Span::from_secs(1);

const fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

const fn ms(millis: u64) -> Timestamp {
    at(millis * MS)
}

/// A limiter of one call after the other, and what it says to calls at those milliseconds: nothing, or when to come back.
fn told(config: Result<LimiterConfig, Error>, calls: &[u64]) -> Vec<Option<Timestamp>> {
    let config = config.unwrap();
    let (mut limiter, mut times) = (Limiter::new(&config, ms(0)), [0; 8]);
    calls.iter().map(|&now| limiter.take(&config, &mut times, 1, ms(now)).err()).collect()
}

#[test]
fn gcra_lets_a_burst_through_and_then_one_an_interval() {
    let kind = LimiterConfig::gcra(10, SECOND, 2);
    let expected = [None, None, Some(ms(100)), Some(ms(100)), None, Some(ms(200)), None, None];
    assert_eq!(told(kind, &[0, 0, 0, 99, 100, 150, 1000, 1000]), expected);
}

#[test]
fn a_limit_that_no_nanoseconds_divide_loses_nothing_over_an_hour() {
    let config = LimiterConfig::gcra(7, SECOND, 2).unwrap();
    let (mut limiter, mut now) = (Limiter::new(&config, at(0)), at(0));
    limiter.take(&config, &mut [], 1, now).unwrap();
    for _ in 0..3600 * 7 {
        limiter.take(&config, &mut [], 1, now).unwrap();
        now = limiter.refuses(&config, &[], 1, now).unwrap();
    }
    assert_eq!(now, at(3_600_000_000_000));
}

#[test]
fn a_bucket_lets_through_what_go_lets_through() {
    let kind = LimiterConfig::bucket(3.0, SECOND, 1);
    assert_eq!(told(kind, &[0, 0, 333, 334]), [None, Some(at(333_333_333)), Some(at(333_333_333)), None]);
    let never = LimiterConfig::bucket(0.0, SECOND, 1);
    assert_eq!(told(never, &[0, 5000]), [None, Some(Timestamp::NEVER)]);
}

#[test]
fn a_window_counts_the_last_one_in_proportion() {
    let kind = LimiterConfig::window(4, SECOND);
    // At 1250 ms three quarters of the first window's 4 still count; at 2500 ms half of the second's 1.
    let calls = [0, 0, 900, 999, 999, 1000, 1249, 1250, 1250, 2500, 2500, 2500, 2500];
    let expected = [
        None,
        None,
        None,
        None,
        Some(ms(1250)),
        Some(ms(1250)),
        Some(ms(1250)),
        None,
        Some(ms(1500)),
        None,
        None,
        None,
        Some(ms(3000)),
    ];
    assert_eq!(told(kind, &calls), expected);
}

#[test]
fn a_log_lets_no_more_through_in_any_stretch() {
    let kind = LimiterConfig::log(2, SECOND);
    let expected = [None, None, Some(ms(1000)), Some(ms(1000)), None, Some(ms(1600)), None];
    assert_eq!(told(kind, &[0, 600, 600, 999, 1000, 1599, 1600]), expected);
}

#[test]
fn a_log_of_no_time_limits_nothing() {
    assert_eq!(told(LimiterConfig::log(1, Span::ZERO), &[0, 0, 0]), [None; 3]);
}

#[test]
fn more_than_may_ever_pass_at_once_is_never_let_through() {
    for config in kinds(3, SECOND, 3) {
        let mut limiter = Limiter::new(&config, ms(0));
        let mut times = [0; 3];
        assert_eq!(limiter.take(&config, &mut times, 4, ms(0)), Err(Timestamp::NEVER), "{config:?}");
        assert_eq!(limiter.take(&config, &mut times, 3, ms(0)), Ok(()), "{config:?}");
        assert_eq!(limiter.take(&config, &mut times, 0, ms(0)), Ok(()), "{config:?}");
    }
}

#[test]
fn a_log_in_too_little_room_is_stricter() {
    let config = LimiterConfig::log(3, SECOND).unwrap();
    assert_eq!(config.words(), 3);
    let mut limiter = Limiter::new(&config, ms(0));
    assert_eq!(limiter.take(&config, &mut [], 1, ms(0)), Err(Timestamp::NEVER));
    let mut times = [0; 1];
    assert_eq!(limiter.take(&config, &mut times, 1, ms(0)), Ok(()));
    assert_eq!(limiter.take(&config, &mut times, 1, ms(0)), Err(ms(1000)));
}

#[test]
fn what_is_given_back_at_once_is_as_if_never_taken() {
    for config in kinds(4, Span::from_nanos(7), 4) {
        let (mut limiter, mut times) = (Limiter::new(&config, at(0)), [0; 4]);
        limiter.take(&config, &mut times, 1, at(3)).unwrap();
        let (before, held) = (limiter, times);
        limiter.take(&config, &mut times, 2, at(3)).unwrap();
        limiter.give_back(&config, &mut times, 2, at(3));
        for count in 0..6 {
            let fresh = before.refuses(&config, &held, count, at(3));
            assert_eq!(limiter.refuses(&config, &times, count, at(3)), fresh, "{config:?}");
        }
    }
}

#[test]
fn a_clock_that_runs_backwards_stands_still() {
    for config in kinds(1, SECOND, 1) {
        let (mut limiter, mut times) = (Limiter::new(&config, ms(0)), [0; 1]);
        limiter.take(&config, &mut times, 1, ms(5000)).unwrap();
        let later = limiter.refuses(&config, &times, 1, ms(5000));
        assert_eq!(limiter.take(&config, &mut times, 1, ms(0)).err(), later, "{config:?}");
    }
}

#[test]
fn numbers_that_are_no_limits_are_refused() {
    let broken = |config: Result<LimiterConfig, Error>| {
        let error = config.unwrap_err();
        (error.code, error.field)
    };
    let (per, zero) = (SECOND, Span::ZERO);
    let limit = (ErrorCode::CountRange, Some(Field::LimiterLimit));
    let burst = (ErrorCode::CountRange, Some(Field::LimiterBurst));
    let time = (ErrorCode::ZeroLimit, Some(Field::LimiterPer));
    assert_eq!(broken(LimiterConfig::gcra(0, per, 1)), limit);
    assert_eq!(broken(LimiterConfig::gcra(1, zero, 1)), time);
    assert_eq!(broken(LimiterConfig::gcra(1, per, 0)), burst);
    assert_eq!(broken(LimiterConfig::bucket(1.0, zero, 1)), time);
    assert_eq!(broken(LimiterConfig::bucket(1.0, per, 0)), burst);
    assert_eq!(broken(LimiterConfig::window(0, per)), limit);
    assert_eq!(broken(LimiterConfig::window(1, zero)), time);
    assert_eq!(broken(LimiterConfig::log(0, per)), limit);
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(broken(LimiterConfig::bucket(bad, per, 1)), (ErrorCode::RateRange, Some(Field::LimiterLimit)));
    }
}

#[test]
fn a_configuration_says_what_a_refused_call_does() {
    for config in kinds(3, SECOND, 2) {
        assert_eq!(config.refusal(), Refusal::Stop);
        assert_eq!(config.with_refusal(Refusal::Wait).refusal(), Refusal::Wait);
    }
}

#[test]
fn the_machines_are_their_bytes() {
    assert_eq!((size_of::<Limiter>(), size_of::<LimiterConfig>()), (40, 56));
}

fn kinds(limit: u32, per: Span, burst: u32) -> [LimiterConfig; 4] {
    [
        LimiterConfig::gcra(limit, per, burst),
        LimiterConfig::bucket(f64::from(limit), per, burst),
        LimiterConfig::window(limit, per),
        LimiterConfig::log(limit, per),
    ]
    .map(Result::unwrap)
}

/// Every call that passed since the beginning: what a limiter must know, kept the long way.
struct Model {
    config: LimiterConfig,
    begun: u64,
    passed: Vec<(u64, u32)>,
}

impl Model {
    /// Whether `count` calls may pass at `now`, by all that did.
    fn lets_through(&self, count: u32, now: u64) -> bool {
        let now = self.passed.last().map_or(now, |&(latest, _)| now.max(latest));
        let sum = |from: u64, to: u64| -> u64 {
            let within = self.passed.iter().filter(|(when, _)| (from..to).contains(when));
            within.map(|&(_, calls)| u64::from(calls)).sum()
        };
        let LimiterConfig { limit, per, burst, .. } = self.config;
        match self.config.kind {
            // In any stretch of time up to now there are at most a burst and what the limit adds in it.
            GCRA => {
                let mut calls = u64::from(count);
                let mut fits = count <= burst;
                for &(when, more) in self.passed.iter().rev() {
                    calls += u64::from(more);
                    let limit = u64::from(limit);
                    fits &= calls * per <= u64::from(burst) * per + (now - when) * limit;
                }
                fits
            }
            BUCKET => {
                let limit = self.config.rate;
                let (mut tokens, mut latest) = (f64::from(burst), self.begun);
                for &(when, calls) in self.passed.iter().chain([&(now, count)]) {
                    let elapsed = when - latest;
                    let spans = (elapsed / per) as f64 + (elapsed % per) as f64 / per as f64;
                    tokens = (tokens + spans * limit).min(f64::from(burst)) - f64::from(calls);
                    latest = when;
                }
                count <= burst && ((-tokens / limit) * per as f64) < 1.0
            }
            WINDOW => {
                let limit = u64::from(limit);
                let start = now - (now - self.begun) % per;
                let this = sum(start, u64::MAX) + u64::from(count);
                let last = sum(start.saturating_sub(per).max(self.begun), start);
                last * (per - (now - start)) + this * per <= limit * per
            }
            _ => {
                let within = self.passed.iter().filter(|(when, _)| now - when < per);
                within.map(|&(_, calls)| calls).sum::<u32>() + count <= limit
            }
        }
    }
}

/// A small generator, so that a sequence is told by its seed.
pub(in crate::decide::guards) struct Dice(pub(in crate::decide::guards) u64);

impl Dice {
    pub(in crate::decide::guards) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) * bound) >> 31
    }
}

#[test]
fn a_limiter_does_as_one_that_remembers_everything() {
    for seed in 0..100_000 {
        let dice = &mut Dice(seed * 0x9e37_79b9);
        let (limit, burst) = (1 + dice.below(6) as u32, 1 + dice.below(5) as u32);
        let per = [1 + dice.below(20), 100 + dice.below(900), 1_000_000_000][dice.below(3) as usize];
        let config = kinds(limit, Span::from_nanos(per), burst)[(seed % 4) as usize];
        let mut now = dice.below(3 * per);
        let mut model = Model { config, begun: now, passed: Vec::new() };
        let (mut limiter, mut times) = (Limiter::new(&config, at(now)), [0; 8]);
        for step in 0..14 {
            now += [0, dice.below(per), dice.below(2 * per) / u64::from(limit)][dice.below(3) as usize];
            let told = now.saturating_sub([0, 0, 0, per / 2][dice.below(4) as usize]).max(model.begun);
            let count = [1, 1, 1, dice.below(u64::from(limit) + 2) as u32][dice.below(4) as usize];
            let shown =
                || std::format!("seed {seed}, step {step}: {config:?}, {count} at {told}, after {:?}", model.passed);
            let (before, held) = (limiter, times);
            let answer = limiter.take(&config, &mut times, count, at(told));
            assert_eq!(answer.is_ok(), model.lets_through(count, told), "{}", shown());
            assert_eq!(answer.err(), before.refuses(&config, &held, count, at(told)), "{}", shown());
            match answer {
                Ok(()) => {
                    let latest = model.passed.last().map_or(told, |&(latest, _)| told.max(latest));
                    model.passed.push((latest, count));
                    let back = dice.below(4 * u64::from(count) + 4) as u32;
                    // A bucket that is full of what dripped in has no room for it.
                    if back <= count && config.kind != BUCKET {
                        limiter.give_back(&config, &mut times, back, at(told));
                        model.passed.last_mut().unwrap().1 -= back;
                    }
                }
                Err(again) => {
                    assert_eq!((limiter, times), (before, held), "{}", shown());
                    if again.is_never() {
                        assert!((0..50).all(|spans| !model.lets_through(count, told + spans * per)), "{}", shown());
                    } else {
                        let again = again.as_nanos();
                        assert!(again > told && model.lets_through(count, again), "{}, {again}", shown());
                        let sharp = config.kind != BUCKET;
                        assert!(!(sharp && model.lets_through(count, again - 1)), "{}, {again}", shown());
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_numbers_panic(words: [u64; 8], halves: [u32; 8], kind in 0u8..6, mut times: [u64; 3], size in 0usize..4) {
        let [rate, per, interval, capacity, word, latest, now, again] = words;
        let [interval_rest, capacity_rest, limit, burst, first, second, count, _] = halves;
        let rate = f64::from_bits(rate);
        // A log writes as many times as there are calls.
        let count = if kind == LOG { count % 8 } else { count };
        let (refusal, unused) = (0, [0; 6]);
        let config = LimiterConfig {
            rate, per, interval, capacity, interval_rest, capacity_rest, limit, burst, kind, refusal, unused,
        };
        let mut limiter = Limiter { word, latest, counts: [first, second], ..Limiter::default() };
        for now in [now, again, 0, u64::MAX] {
            let _ = limiter.take(&config, &mut times[..size], count, at(now));
            limiter.give_back(&config, &mut times[..size], count, at(now));
        }
    }

    #[test]
    fn checked_numbers_never_panic_at_the_end_of_time(limit: u32, per: u64, burst: u32, now: u64, count: u32) {
        for config in kinds(limit.max(1), Span::from_nanos(per.max(1)), burst.max(1)) {
            let mut limiter = Limiter::new(&config, at(now));
            for now in [now, now.saturating_add(per), u64::MAX] {
                let count = count.min(if config.words() > 0 { 4 } else { u32::MAX });
                if let Err(again) = limiter.take(&config, &mut [0; 4], count, at(now)) {
                    prop_assert!(again > at(now).as_now() || now == u64::MAX || again == Timestamp::LAST);
                }
                limiter.give_back(&config, &mut [0; 4], count / 2, at(now));
            }
        }
    }
}

/// Eight threads that each try a thousand times, at the number of the try in microseconds; how many got through.
fn hammered(take: impl Fn(Timestamp) -> bool + Sync) -> u32 {
    let passed = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for now in 0..1000 {
                    passed.fetch_add(u32::from(take(at(now * 1000))), Ordering::Relaxed);
                }
            });
        }
    });
    passed.into_inner()
}

#[test]
fn threads_share_any_limiter_under_a_lock() {
    for config in kinds(4321, SECOND, 4321) {
        let shared = Mutex::new((Limiter::new(&config, at(0)), std::vec![0; config.words()]));
        let passed = hammered(|_| {
            let (limiter, times) = &mut *shared.lock().unwrap();
            limiter.take(&config, times, 1, at(0)).is_ok()
        });
        assert_eq!(passed, 4321, "{config:?}");
    }
}
