//! `failsafe`: breakers, which read the clock themselves, and the delays of their open times: whole seconds, full jitter from
//! the thread's generator, for ever. No retry, and no window of a number of calls.

use crate::delays::MAX;
use crate::guards::{OPEN, operation};
use crate::loops::{self, NoTime};
use backon::{BlockingRetryable as _, ExponentialBuilder};
use failsafe::backoff::FullJittered;
use failsafe::{CircuitBreaker, Config, Error, failure_policy};
use std::time::Duration;

/// Its delays, from the first one on: from one second. Cloned for each call.
#[must_use]
pub fn delays() -> FullJittered {
    failsafe::backoff::full_jittered(Duration::from_secs(1), MAX)
}

/// Opened by five failures in a row.
pub fn consecutive() -> impl CircuitBreaker {
    let policy = failure_policy::consecutive_failures(5, failsafe::backoff::constant(OPEN));
    Config::new().failure_policy(policy).build()
}

/// Opened by half of the calls of ten seconds.
pub fn rate() -> impl CircuitBreaker {
    let backoff = failsafe::backoff::constant(OPEN);
    let policy = failure_policy::success_rate_over_time_window(0.5, 128, Duration::from_secs(10), backoff);
    Config::new().failure_policy(policy).build()
}

/// A call through one of those.
#[inline(always)]
pub fn call(breaker: &impl CircuitBreaker) -> Option<Result<u32, u32>> {
    match breaker.call(operation) {
        Ok(value) => Some(Ok(value)),
        Err(Error::Inner(error)) => Some(Err(error)),
        Err(Error::Rejected) => None,
    }
}

/// Each attempt of backon's loop through one of those.
#[inline(always)]
pub fn call_by_backon(
    breaker: &impl CircuitBreaker,
    settings: &ExponentialBuilder,
    mut failures: u32,
    seed: u64,
) -> Result<u32, u32> {
    let attempt = || breaker.call(|| loops::operation(&mut failures));
    attempt.retry(settings.with_jitter_seed(seed)).sleep(NoTime).call().map_err(|error| match error {
        Error::Inner(error) => error,
        Error::Rejected => 0,
    })
}
