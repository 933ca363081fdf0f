//! What the options take.

use super::*;

fn refused(options: BreakerOptions) -> (ErrorCode, Field) {
    let error = options.build().unwrap_err();
    (error.code, error.field.unwrap())
}

fn count(size: u32, min_calls: u32, failure_rate: f64, slow_rate: Option<f64>) -> BreakerOptions {
    let trip = Trip::Count { size, min_calls, failure_rate, slow_rate };
    BreakerOptions { trip, slow_after: Some(Span::from_secs(1)), ..BreakerOptions::default() }
}

fn time(window: Span, slots: u32, min_calls: u32) -> BreakerOptions {
    let trip = Trip::Time { window, slots, min_calls, failure_rate: 0.5, slow_rate: None };
    BreakerOptions { trip, ..BreakerOptions::default() }
}

fn open_for(open_for: Backoff) -> BreakerOptions {
    BreakerOptions { open_for, ..BreakerOptions::default() }
}

#[test]
fn the_default_configuration_is_that_of_the_default_options() {
    assert_eq!(BreakerOptions::default().build(), Ok(BreakerConfig::default()));
}

#[test]
fn counts_have_their_ranges() {
    let trip = Trip::Consecutive { failures: 0 };
    assert_eq!(
        refused(BreakerOptions { trip, ..BreakerOptions::default() }),
        (ErrorCode::CountRange, Field::BreakerFailures)
    );
    for size in [0, 129] {
        assert_eq!(refused(count(size, 1, 0.5, None)), (ErrorCode::CountRange, Field::BreakerSize));
    }
    for min_calls in [0, 21] {
        assert_eq!(refused(count(20, min_calls, 0.5, None)), (ErrorCode::CountRange, Field::BreakerMinCalls));
    }
    for slots in [0, 11] {
        assert_eq!(refused(time(Span::MAX, slots, 1)), (ErrorCode::CountRange, Field::BreakerSlots));
    }
    assert_eq!(refused(time(Span::MAX, 1, 0)), (ErrorCode::CountRange, Field::BreakerMinCalls));
    let options = BreakerOptions::default();
    assert_eq!(refused(BreakerOptions { probes: 0, ..options }), (ErrorCode::CountRange, Field::BreakerProbes));
    assert_eq!(refused(BreakerOptions { successes: 0, ..options }), (ErrorCode::CountRange, Field::BreakerSuccesses));
}

#[test]
fn shares_are_above_zero_and_at_most_one() {
    for bad in [0.0, -0.5, 1.1, f64::NAN] {
        assert_eq!(refused(count(20, 1, bad, None)), (ErrorCode::ShareRange, Field::BreakerFailureRate));
        assert_eq!(refused(count(20, 1, 1.0, Some(bad))), (ErrorCode::ShareRange, Field::BreakerSlowRate));
    }
}

#[test]
fn a_window_needs_a_length_and_slow_calls_a_time() {
    assert_eq!(refused(time(Span::ZERO, 1, 1)), (ErrorCode::ZeroLimit, Field::BreakerWindow));
    let slow = BreakerOptions { slow_after: None, ..count(20, 1, 0.5, Some(0.5)) };
    assert_eq!(refused(slow), (ErrorCode::FieldMissing, Field::BreakerSlowAfter));
}

#[test]
fn what_the_kind_has_no_use_for_is_refused() {
    let slow = BreakerOptions { slow_after: Some(Span::ZERO), ..BreakerOptions::default() };
    assert_eq!(refused(slow), (ErrorCode::NotForKind, Field::BreakerSlowAfter));
    let streak = BreakerOptions { reopen: Reopen::Streak, ..count(20, 1, 0.5, None) };
    assert_eq!(refused(streak), (ErrorCode::NotForKind, Field::BreakerReopen));
}

#[test]
fn open_times_are_a_backoff_that_is_not_random() {
    let (initial, max) = (Span::from_secs(2), Span::from_secs(1));
    let cases = [
        (Backoff::Linear { initial, increment: initial, max }, ErrorCode::MaxBelowInitial, Field::BreakerOpenMax),
        (
            Backoff::Exponential { initial, factor: -1.0, max: initial },
            ErrorCode::FactorRange,
            Field::BreakerOpenFactor,
        ),
        (
            Backoff::Polynomial { initial, exponent: f64::NAN, max: initial },
            ErrorCode::ExponentRange,
            Field::BreakerOpenExponent,
        ),
        (Backoff::Decorrelated { initial, factor: 3.0, max: initial }, ErrorCode::NotForKind, Field::BreakerOpenKind),
        (Backoff::DecorrelatedV2 { initial, max: initial }, ErrorCode::NotForKind, Field::BreakerOpenKind),
    ];
    for (backoff, code, field) in cases {
        assert_eq!(refused(open_for(backoff)), (code, field));
    }
    for jitter in [-0.1, f64::INFINITY, f64::NAN] {
        let error = refused(BreakerOptions { jitter, ..BreakerOptions::default() });
        assert_eq!(error, (ErrorCode::RateRange, Field::BreakerJitter));
    }
}

#[test]
fn the_failures_that_open_a_full_window_are_those_whose_quotient_does() {
    for size in 1..=128_u32 {
        for share in 1..=size {
            let exact = f64::from(share) / f64::from(size);
            for failure_rate in [exact, exact.next_down(), exact.next_up().min(1.0)] {
                let trip = Trip::Count { size, min_calls: 1, failure_rate, slow_rate: None };
                let config = BreakerOptions { trip, ..BreakerOptions::default() }.build().unwrap();
                for failed in 0..=size {
                    let opens = f64::from(failed) / f64::from(size) >= failure_rate;
                    assert_eq!(failed >= config.failures, opens, "{failed} of {size} at {failure_rate}");
                    assert_eq!(config.trips([size, failed, 0]), opens);
                }
            }
        }
    }
}

#[test]
fn the_configuration_is_its_bytes() {
    assert_eq!(size_of::<BreakerConfig>(), 112);
}
