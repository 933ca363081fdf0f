use super::*;
use crate::decide::rng::Rng;
use crate::error::ErrorCode;
use proptest::prelude::*;
use std::vec::Vec;

const MS: u64 = 1_000_000;

const fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * MS)
}

fn cubic() -> AdaptiveConfig {
    AdaptiveConfig::default().with_refusal(Refusal::Wait)
}

fn aimd(initial_rate: f64) -> AdaptiveConfig {
    AdaptiveConfig::aimd(0.5, 1.0, 0.1, 20.0, initial_rate).unwrap()
}

fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= 1e-9 * expected.abs()
}

#[test]
fn nothing_is_limited_before_the_first_throttling() {
    let mut guard = Adaptive::new(&cubic(), at(0));
    assert!((0..1000).all(|_| guard.take(&cubic(), 1.0, at(0)).is_ok()));
    guard.update(&cubic(), at(0), true);
    assert_eq!(guard.take(&cubic(), 1.0, at(100)), Err(at(2000)));
}

/// The numbers of the SDKs' own test, some of them.
#[test]
fn the_rate_falls_by_beta_and_recovers_along_a_cubic_curve() {
    let mut guard = Adaptive::new(&cubic(), at(0));
    let answers = [
        (200, false, 0.0, 0.5),
        (400, false, 0.0, 0.5),
        (600, false, 4.8, 0.5),
        (800, false, 4.8, 0.5),
        (1000, false, 4.16, 0.5),
        (1200, false, 4.16, 0.6912),
        (1400, false, 4.16, 1.0976),
        (1600, false, 5.632, 1.6384),
        (1800, false, 5.632, 2.3328),
        (2000, true, 4.3264, 3.02848),
        (2200, false, 4.3264, 3.486_639_173_470_26),
    ];
    for (now, throttled, measured, rate) in answers {
        guard.update(&cubic(), at(now), throttled);
        assert!(close(guard.measured(), measured) && close(guard.rate(), rate), "{now}: {guard:?}");
    }
}

#[test]
fn all_who_ask_at_once_are_told_the_same_time() {
    let mut guard = Adaptive::new(&cubic(), at(0));
    guard.update(&cubic(), at(0), true);
    for _ in 0..10 {
        assert_eq!(guard.take(&cubic(), 1.0, at(100)), Err(at(2000)));
    }
    assert!(guard.tokens(at(100)) > 0.0);
    assert_eq!(guard.take(&cubic(), 1.0, at(2100)), Ok(()));
}

#[test]
fn whoever_waits_as_told_gets_the_token() {
    let config = aimd(3.0);
    let mut guard = Adaptive::new(&config, at(0));
    let mut now = at(0);
    for _ in 0..1000 {
        if let Err(until) = guard.take(&config, 1.0, now) {
            assert!(until > now);
            assert_eq!(guard.look(&config, 1.0, until), until);
            now = until;
            assert_eq!(guard.take(&config, 1.0, now), Ok(()));
        }
    }
    assert!(now >= at(330_000) && now < at(333_000), "{now:?}");
}

#[test]
fn less_than_a_nanosecond_short_is_granted() {
    let start = AdaptiveStart {
        rate: 10.0,
        tokens: 1.0 - 5e-9,
        measured: 0.0,
        last_max_rate: 0.0,
        throttled_at: at(0),
        limits: true,
    };
    let mut guard = Adaptive::started(&cubic(), start, at(0));
    assert_eq!(guard.take(&cubic(), 1.0, at(0)), Ok(()));
    assert_eq!(guard.tokens(at(0)), 0.0);
    let mut guard = Adaptive::started(&cubic(), AdaptiveStart { tokens: 1.0 - 15e-9, ..start }, at(0));
    assert_eq!(guard.take(&cubic(), 1.0, at(0)), Err(Timestamp::from_nanos(1)));
}

#[test]
fn more_than_there_can_be_is_never_there() {
    let mut guard = Adaptive::new(&aimd(10.0), at(0));
    assert_eq!(guard.take(&aimd(10.0), 100.0, at(1000)), Err(Timestamp::NEVER));
    assert_eq!(guard.take(&aimd(10.0), 10.0, at(1000)), Ok(()));
}

#[test]
fn an_additive_rate_grows_by_answers_and_is_cut_by_throttling() {
    let config = aimd(10.0);
    let mut guard = Adaptive::new(&config, at(0));
    let rates = [false, false, true, true, false].map(|throttled| {
        guard.update(&config, at(1), throttled);
        guard.rate()
    });
    assert_eq!(rates, [11.0, 12.0, 6.0, 3.0, 4.0]);
    (0..100).for_each(|_| guard.update(&config, at(2), false));
    assert_eq!(guard.rate(), 20.0);
    (0..100).for_each(|_| guard.update(&config, at(3), true));
    assert_eq!(guard.rate(), 0.1);
}

#[test]
fn what_was_not_used_comes_back() {
    let config = aimd(2.0);
    let mut guard = Adaptive::new(&config, at(0));
    assert_eq!(guard.take(&config, 2.0, at(0)), Ok(()));
    guard.give_back(&config, 1.0, at(0));
    assert_eq!(guard.take(&config, 1.0, at(0)), Ok(()));
    guard.give_back(&config, 100.0, at(0));
    assert_eq!(guard.tokens(at(0)), 2.0);
}

#[test]
fn many_throttlings_at_once_leave_the_lowest_rate_and_it_recovers() {
    let mut guard = Adaptive::new(&cubic(), at(0));
    (0..50).for_each(|now| guard.update(&cubic(), at(now), true));
    assert_eq!(guard.rate(), 0.5);
    let (mut taken, mut now) = (0, 50);
    for _ in 0..200 {
        now += 100;
        while taken < 1000 && guard.take(&cubic(), 1.0, at(now)).is_ok() {
            taken += 1;
            guard.update(&cubic(), at(now), false);
        }
    }
    assert!(taken > 100, "{taken}");
}

#[test]
fn a_clock_that_runs_backwards_fills_nothing_twice() {
    let config = aimd(1.0);
    let mut guard = Adaptive::new(&config, at(5000));
    assert_eq!(guard.take(&config, 1.0, at(5000)), Ok(()));
    assert_eq!(guard.take(&config, 1.0, at(1000)), Err(at(6000)));
    assert_eq!(guard.take(&config, 1.0, at(5999)), Err(at(6000)));
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let cubic = |beta, scale, smooth, min_rate| {
        AdaptiveConfig::cubic(beta, scale, smooth, min_rate).map_err(|error| (error.code, error.field))
    };
    use ErrorCode::{RateRange, ShareRange};
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(cubic(bad, 0.4, 0.8, 0.5), Err((ShareRange, Some(Field::AdaptiveBeta))));
        assert_eq!(cubic(0.7, bad, 0.8, 0.5), Err((RateRange, Some(Field::AdaptiveScale))));
        assert_eq!(cubic(0.7, 0.4, bad, 0.5), Err((ShareRange, Some(Field::AdaptiveSmooth))));
        assert_eq!(cubic(0.7, 0.4, 0.8, bad), Err((RateRange, Some(Field::AdaptiveMinRate))));
    }
    let aimd = |min_rate, max_rate, initial_rate| {
        AdaptiveConfig::aimd(0.5, 1.0, min_rate, max_rate, initial_rate).map_err(|error| error.field)
    };
    assert_eq!(aimd(1.0, 0.5, 1.0), Err(Some(Field::AdaptiveMaxRate)));
    assert_eq!(aimd(1.0, 2.0, 3.0), Err(Some(Field::AdaptiveInitialRate)));
    assert!(aimd(1.0, 1.0, 1.0).is_ok());
}

#[test]
fn the_default_has_the_numbers_of_the_aws_sdks_and_gives_up() {
    assert_eq!(AdaptiveConfig::cubic(0.7, 0.4, 0.8, 0.5), Ok(AdaptiveConfig::default()));
    assert_eq!((AdaptiveConfig::default().refusal(), cubic().refusal()), (Refusal::Stop, Refusal::Wait));
}

#[test]
fn the_machine_is_its_bytes() {
    assert_eq!((size_of::<Adaptive>(), size_of::<AdaptiveConfig>()), (80, 64));
}

/// What happened, for the model.
#[derive(Clone, Copy, Debug)]
enum Event {
    Take(f64),
    Update(bool),
    Back(f64),
}

/// The same from the whole history each time: the published algorithm, line by line.
fn replay(config: &AdaptiveConfig, created: u64, events: &[(u64, Event)]) -> (f64, f64, f64, Option<Result<(), u64>>) {
    let AdaptiveConfig { beta, scale, increase, min_rate, max_rate, initial_rate, .. } = *config;
    let (mut enabled, mut rate, mut tokens) = match config.kind {
        AIMD => (true, initial_rate, f64::max(initial_rate, 1.0)),
        _ => (false, 0.0, 0.0),
    };
    let (mut last_max, mut throttled_at, mut filled, mut answer) = (0.0, created, created, None);
    let mut now = created;
    let mut answers: Vec<u64> = Vec::new();
    let seconds = |from: u64, to: u64| (to - from) as f64 / 1e9;
    for &(when, event) in events {
        // What is not limited is not looked at, its time neither.
        now = if enabled || matches!(event, Event::Update(_)) { now.max(when) } else { now };
        let fill = |tokens: f64, rate: f64| f64::min(tokens + seconds(filled, now) * rate, f64::max(rate, 1.0));
        answer = None;
        match event {
            Event::Take(cost) if enabled => {
                tokens = fill(tokens, rate);
                filled = now;
                let wait = ((cost - tokens) / rate * 1e9) as i64;
                answer = Some(if cost <= tokens || wait == 0 && cost <= f64::max(rate, 1.0) {
                    tokens = f64::max(tokens - cost, 0.0);
                    Ok(())
                } else if cost > f64::max(rate, 1.0) {
                    Err(u64::MAX)
                } else {
                    Err(now + wait as u64)
                });
            }
            Event::Take(_) => answer = Some(Ok(())),
            Event::Back(cost) if enabled => {
                tokens = f64::min(fill(tokens, rate) + cost, f64::max(rate, 1.0));
                filled = now;
            }
            Event::Back(_) => {}
            Event::Update(throttled) => {
                answers.push((now - created) / 500_000_000);
                let measured = measured(&answers, config.smooth);
                let next = match config.kind {
                    AIMD if throttled => f64::max(rate * beta, min_rate),
                    AIMD => f64::min(rate + increase, max_rate),
                    _ => {
                        let calculated = if throttled {
                            last_max = if enabled { f64::min(measured, rate) } else { measured };
                            throttled_at = now;
                            enabled = true;
                            last_max * beta
                        } else {
                            let t = seconds(throttled_at, now) - libm::cbrt(last_max * (1.0 - beta) / scale);
                            scale * (t * t * t) + last_max
                        };
                        f64::max(f64::min(calculated, 2.0 * measured), min_rate)
                    }
                };
                tokens = f64::min(fill(tokens, rate), f64::max(next, 1.0));
                filled = now;
                rate = next;
            }
        }
    }
    (rate, measured(&answers, config.smooth), tokens, answer)
}

/// The measured rate after answers in these half seconds: each half second that ended with an answer counts once, with all
/// the answers since the one before it.
fn measured(answers: &[u64], smooth: f64) -> f64 {
    let (mut measured, mut last, mut count) = (0.0, 0, 0);
    for half in answers {
        count += 1;
        if *half > last {
            let current = f64::from(count) / ((*half - last) as f64 / 2.0);
            measured = current * smooth + measured * (1.0 - smooth);
            (last, count) = (*half, 0);
        }
    }
    measured
}

#[test]
fn a_hundred_thousand_random_histories_are_as_the_model_says() {
    let configs = [AdaptiveConfig::default(), AdaptiveConfig::aimd(0.7, 0.5, 2.0, 8.0, 3.0).unwrap()];
    for seed in 0..100_000 {
        let mut rng = Rng::new(seed);
        let config = &configs[(seed % 2) as usize];
        let created = u64::from(rng.next_u32());
        let mut guard = Adaptive::new(config, Timestamp::from_nanos(created));
        let (mut now, mut history) = (created, Vec::new());
        for _ in 0..=rng.next_u32() % 16 {
            let gap =
                u64::from(rng.next_u32()) % [2, 1_000_000, 300_000_000, 2_000_000_000][(rng.next_u32() % 4) as usize];
            now = if rng.next_u32().is_multiple_of(10) { now.saturating_sub(gap) } else { now + gap };
            let event = match rng.next_u32() % 8 {
                0..=2 => Event::Take(f64::from(rng.next_u32() % 4)),
                3 => Event::Back(f64::from(rng.next_u32() % 3)),
                kind => Event::Update(kind == 4),
            };
            history.push((now, event));
            let time = Timestamp::from_nanos(now);
            let answer = match event {
                Event::Take(cost) => Some(guard.take(config, cost, time).map_err(Timestamp::as_nanos)),
                Event::Update(throttled) => {
                    guard.update(config, time, throttled);
                    None
                }
                Event::Back(cost) => {
                    guard.give_back(config, cost, time);
                    None
                }
            };
            let got = (guard.rate(), guard.measured(), guard.tokens, answer);
            assert_eq!(got, replay(config, created, &history), "seed {seed}: {history:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_numbers_panic(words: [u64; 16], cost: u64, now: u64, throttled: bool) {
        let real = |at: usize| f64::from_bits(words[at]);
        let config = AdaptiveConfig {
            beta: real(0), scale: real(1), smooth: real(2), increase: real(3), min_rate: real(4), max_rate: real(5),
            initial_rate: real(6), kind: words[7] as u8, refusal: words[8] as u8, unused: [0; 6],
        };
        let mut guard = Adaptive {
            latest: words[9], half_at: words[10], throttled_at: words[11], rate: real(12), tokens: real(13),
            measured: real(14), last_max_rate: real(15), answers: u32::MAX, limits: words[0] as u32 % 2,
            line: Line::default(),
        };
        let now = Timestamp::from_nanos(now);
        guard.update(&config, now, throttled);
        let _ = guard.take(&config, f64::from_bits(cost), now);
        guard.give_back(&config, f64::from_bits(cost), now);
        let _ = (guard.tokens(now), guard.look(&config, 1.0, now), config.refusal());
    }

    #[test]
    fn no_more_is_taken_than_the_rate_allows(
        gaps in prop::collection::vec(0u64..500, 1..60), rate in 1u32..20
    ) {
        let config = aimd(f64::from(rate));
        let (mut guard, mut now, mut taken) = (Adaptive::new(&config, at(0)), 0, 0_u64);
        for gap in gaps {
            now += gap;
            taken += u64::from(guard.take(&config, 1.0, at(now)).is_ok());
            prop_assert!(taken as f64 <= f64::from(rate) * (1.0 + now as f64 / 1e3) + 1e-6);
        }
    }
}
