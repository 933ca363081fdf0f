use super::*;
use crate::decide::rng::Rng;
use crate::error::ErrorCode;
use crate::fields::Field;
use proptest::prelude::*;
use std::vec::Vec;

const MS: u64 = 1_000_000;

fn after(records: impl IntoIterator<Item = u64>, percentile: f64) -> Latency {
    let mut latency = Latency::new();
    records.into_iter().for_each(|took| latency.record(Span::from_nanos(took), percentile));
    latency
}

#[test]
fn without_records_there_is_no_estimate() {
    assert_eq!(Latency::new().quantile(), None);
}

#[test]
fn the_first_record_is_the_first_estimate() {
    assert_eq!(after([7 * MS], 0.95).quantile(), Some(Span::from_millis(7)));
}

#[test]
fn a_longer_time_moves_it_up_by_the_share_and_another_down_by_the_rest() {
    assert_eq!(after([1000, 2000], 0.9).quantile(), Some(Span::from_nanos(1045)));
    assert_eq!(after([1000, 1000], 0.9).quantile(), Some(Span::from_nanos(995)));
    assert_eq!(after([1000, 0], 0.5).quantile(), Some(Span::from_nanos(975)));
}

#[test]
fn an_estimate_of_nothing_begins_again() {
    assert_eq!(after([0, 5000], 0.5).quantile(), Some(Span::from_nanos(5000)));
}

#[test]
fn it_settles_near_the_quantile_whatever_that_is() {
    for percentile in [0.5, 0.9, 0.95] {
        let mut rng = Rng::new(7);
        let mut latency = Latency::new();
        let (mut below, mut all) = (0_u32, 0_u32);
        for n in 0..40_000 {
            // An exponential distribution with a mean of 10 ms.
            let took = Span::from_nanos((-libm::log(1.0 - rng.uniform()) * 1e7) as u64);
            if n >= 1000 {
                all += 1;
                below += u32::from(latency.quantile().unwrap() >= took);
            }
            latency.record(took, percentile);
        }
        let share = f64::from(below) / f64::from(all);
        assert!((share - percentile).abs() < 0.02, "{percentile}: {share}");
    }
}

#[test]
fn it_follows_a_server_that_slows_down_and_recovers() {
    let times = |took: u64| core::iter::repeat_n(took, 100);
    let slow = after(times(10 * MS).chain(times(100 * MS)), 0.95);
    assert!(slow.quantile().unwrap() >= Span::from_millis(90), "{slow:?}");
    let fast = after(times(100 * MS).chain(core::iter::repeat_n(10 * MS, 1500)), 0.95);
    assert!(fast.quantile().unwrap() <= Span::from_millis(11), "{fast:?}");
}

#[test]
fn the_percentile_is_used_from_twenty_records_on() {
    let config = HedgeConfig::new(Span::from_millis(50), Some(0.95), 2).unwrap();
    assert_eq!(config.delay(&after([MS; 19], 0.95)), Span::from_millis(50));
    assert!(config.delay(&after([MS; 20], 0.95)) < Span::from_millis(2));
    let fixed = HedgeConfig::new(Span::from_millis(50), None, 2).unwrap();
    assert_eq!(fixed.delay(&after([MS; 20], 0.95)), Span::from_millis(50));
    assert_eq!((config.percentile(), fixed.percentile()), (Some(0.95), None));
    assert_eq!((config.attempts(), config.fixed_delay()), (2, Span::from_millis(50)));
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    for bad in [0.0, -0.1, 1.1, 95.0, f64::NAN] {
        let error = HedgeConfig::new(Span::ZERO, Some(bad), 2).unwrap_err();
        assert_eq!((error.code, error.field), (ErrorCode::ShareRange, Some(Field::HedgePercentile)));
    }
    for bad in [0, 9, u32::MAX] {
        let error = HedgeConfig::new(Span::ZERO, None, bad).unwrap_err();
        assert_eq!((error.code, error.field), (ErrorCode::CountRange, Some(Field::HedgeAttempts)));
    }
}

#[test]
fn the_machine_is_its_bytes() {
    assert_eq!((size_of::<Latency>(), size_of::<HedgeConfig>()), (16, 24));
}

/// The rule on the whole list of times.
fn model(times: &[u64], p: f64) -> Option<u64> {
    let mut estimate: Option<f64> = None;
    for took in times {
        let took = *took as f64;
        estimate = Some(match estimate {
            Some(q) if q >= 1.0 && took > q => q + q * 0.05 * p,
            Some(q) if q >= 1.0 => q - q * 0.05 * (1.0 - p),
            _ => took,
        });
    }
    estimate.map(|q| q as u64)
}

#[test]
fn a_hundred_thousand_random_histories_are_as_the_model_says() {
    for seed in 0..100_000 {
        let mut rng = Rng::new(seed);
        let p = [0.5, 0.9, 0.95, 0.99, 1.0][(rng.next_u32() % 5) as usize];
        let config = HedgeConfig::new(Span::from_nanos(77), Some(p), 3).unwrap();
        let (mut latency, mut times) = (Latency::new(), Vec::new());
        for n in 1..=rng.next_u32() % 30 {
            times.push(u64::from(rng.next_u32() >> (rng.next_u32() % 32)));
            latency.record(Span::from_nanos(*times.last().unwrap()), p);
            let expected = model(&times, p);
            assert_eq!(latency.quantile().map(Span::as_nanos), expected, "seed {seed}: {times:?}");
            let delay = if n >= 20 { expected.unwrap() } else { 77 };
            assert_eq!(config.delay(&latency).as_nanos(), delay, "seed {seed}: {times:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_numbers_panic(estimate: u64, records: u32, took: u64, percentile: u64, delay: u64, attempts: u32) {
        let mut latency = Latency { estimate: f64::from_bits(estimate), records, unused: 0 };
        latency.record(Span::from_nanos(took), f64::from_bits(percentile));
        let config = HedgeConfig { delay, percentile: f64::from_bits(percentile), attempts, unused: 0 };
        prop_assert!(config.delay(&latency) <= Span::MAX);
        prop_assert!((1..=8).contains(&config.attempts()));
    }
}
