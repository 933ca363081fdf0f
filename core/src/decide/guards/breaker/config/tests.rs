//! The values that the options of a breaker take.

use super::*;
use crate::error::ErrorCode;
use crate::fields::Field;
use crate::{Options, Value};

fn config(fields: &[(Field, Value<'_>)]) -> Result<BreakerConfig, crate::Error> {
    Ok(Options::NEW.with_fields(fields)?.breaker()?.unwrap())
}

fn refused(kind: &str, fields: &[(Field, Value<'_>)]) -> (ErrorCode, Field) {
    let error = config(&[&[(Field::BreakerKind, kind.into())], fields].concat()).unwrap_err();
    (error.code, error.field.unwrap())
}

#[test]
fn the_default_configuration_is_that_of_the_default_options() {
    assert_eq!(config(&[(Field::BreakerKind, "consecutive".into())]), Ok(BreakerConfig::default()));
}

#[test]
fn counts_have_their_ranges() {
    for (kind, field, wrong) in [
        ("consecutive", Field::BreakerFailures, 0),
        ("consecutive", Field::BreakerProbes, 0),
        ("consecutive", Field::BreakerSuccesses, 0),
        ("count", Field::BreakerSize, 0),
        ("count", Field::BreakerSize, 129),
        ("count", Field::BreakerMinCalls, 0),
        ("count", Field::BreakerMinCalls, 101),
        ("time", Field::BreakerMinCalls, 0),
        ("time", Field::BreakerSlots, 0),
        ("time", Field::BreakerSlots, 11),
    ] {
        assert_eq!(refused(kind, &[(field, wrong.into())]), (ErrorCode::CountRange, field), "{wrong}");
    }
}

#[test]
fn shares_are_above_zero_and_at_most_one() {
    for bad in [0.0, -0.5, 1.1, f64::NAN] {
        for field in [Field::BreakerFailureRate, Field::BreakerSlowRate] {
            let fields = [(Field::BreakerSlowAfter, 1.into()), (field, bad.into())];
            assert_eq!(refused("count", &fields), (ErrorCode::ShareRange, field));
        }
    }
}

#[test]
fn a_window_needs_a_length_and_slow_calls_a_time() {
    assert_eq!(refused("time", &[(Field::BreakerWindow, 0.into())]), (ErrorCode::ZeroLimit, Field::BreakerWindow));
    let slow = refused("count", &[(Field::BreakerSlowRate, 0.5.into())]);
    assert_eq!(slow, (ErrorCode::FieldMissing, Field::BreakerSlowAfter));
}

#[test]
fn what_the_kind_has_no_use_for_is_refused() {
    for (kind, field, value) in [
        ("consecutive", Field::BreakerSlowAfter, 0.into()),
        ("count", Field::BreakerReopen, "streak".into()),
        ("none", Field::BreakerOpenFor, 1.into()),
    ] {
        assert_eq!(refused(kind, &[(field, value)]), (ErrorCode::NotForKind, field));
    }
}

#[cfg(feature = "powers")]
#[test]
fn open_times_are_a_backoff_that_is_not_random() {
    for (kind, field, value, code) in [
        ("linear", Field::BreakerOpenMax, 1.into(), ErrorCode::MaxBelowInitial),
        ("exponential", Field::BreakerOpenFactor, (-1.0).into(), ErrorCode::FactorRange),
        ("polynomial", Field::BreakerOpenExponent, f64::NAN.into(), ErrorCode::ExponentRange),
        ("constant", Field::BreakerOpenFactor, 2.0.into(), ErrorCode::NotForKind),
        ("constant", Field::BreakerOpenKind, "decorrelated".into(), ErrorCode::UnknownWord),
    ] {
        let fields = [(Field::BreakerOpenKind, kind.into()), (field, value)];
        assert_eq!(refused("consecutive", &fields), (code, field), "{kind}");
    }
    for jitter in [-0.1, f64::INFINITY, f64::NAN] {
        let error = refused("consecutive", &[(Field::BreakerJitter, jitter.into())]);
        assert_eq!(error, (ErrorCode::RateRange, Field::BreakerJitter));
    }
}

#[test]
fn the_failures_that_open_a_full_window_are_those_whose_quotient_does() {
    for size in 1..=128_u32 {
        for share in 1..=size {
            let exact = f64::from(share) / f64::from(size);
            for failure_rate in [exact, exact.next_down(), exact.next_up().min(1.0)] {
                let count = [(Field::BreakerKind, "count".into()), (Field::BreakerSize, size.into())];
                let rates = [(Field::BreakerMinCalls, 1.into()), (Field::BreakerFailureRate, failure_rate.into())];
                let config = config(&[count, rates].concat()).unwrap();
                for failed in 0..=size {
                    let opens = f64::from(failed) / f64::from(size) >= failure_rate;
                    assert_eq!(config.trips([size, failed, 0]), opens, "{failed} of {size} at {failure_rate}");
                }
            }
        }
    }
}

#[test]
fn the_configuration_is_its_bytes() {
    assert_eq!(size_of::<BreakerConfig>(), 168);
}
