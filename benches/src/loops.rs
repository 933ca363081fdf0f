//! The whole loop: an operation that fails so many times, with four attempts allowed and no time to sleep.

use crate::floor::{Floor, Numbers};
use backon::{BlockingRetryable as _, ExponentialBuilder};
use holdoff_core::{Call, Decision, Failure, Policy, Retry, Step, Ticket, Timestamp};
use std::hint::black_box;
use std::time::Duration;

/// Four attempts, 100 ms doubling up to 10 s.
#[must_use]
pub fn policy() -> Policy {
    let backoff = holdoff_core::Backoff::exponential(Duration::from_millis(100), 2.0).max(Duration::from_secs(10));
    Policy::builder().backoff(backoff).attempts(4).build().unwrap_or_default()
}

/// The same for the floor.
#[must_use]
pub fn numbers() -> Numbers {
    Numbers { initial: 100_000_000, max: 10_000_000_000, retries: 3 }
}

/// What is retried: counts down its failures. Out of line, as an operation worth retrying is.
#[inline(never)]
fn operation(failures: &mut u32) -> Result<u32, u32> {
    let left = black_box(*failures);
    if left > 0 {
        *failures = left - 1;
        return Err(left);
    }
    Ok(left)
}

/// The operation alone, called until it succeeds.
#[inline(always)]
pub fn bare(mut failures: u32) -> Result<u32, u32> {
    loop {
        if let Ok(value) = operation(&mut failures) {
            return Ok(value);
        }
    }
}

/// By hand, with the floor's state.
#[inline(always)]
pub fn floor(numbers: &Numbers, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut floor = Floor::new(numbers, seed);
    loop {
        match operation(&mut failures) {
            Ok(value) => return Ok(value),
            Err(error) => match floor.delay() {
                Some(delay) => {
                    black_box(delay);
                }
                None => return Err(error),
            },
        }
    }
}

/// By hand, with a `Retry` made after the first failure.
#[inline(always)]
pub fn by_retry(policy: &Policy, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut error = match operation(&mut failures) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let (mut retry, mut now) = (Retry::new(seed, Timestamp::ZERO), Timestamp::ZERO);
    loop {
        match retry.on_failure(policy, now, Failure::TRANSIENT) {
            Decision::Sleep { until, .. } => now = black_box(until),
            Decision::GiveUp { .. } => return Err(error),
        }
        match operation(&mut failures) {
            Ok(value) => return Ok(value),
            Err(next) => error = next,
        }
    }
}

/// A host's loop over a `Call`, underway since the first failure.
#[inline(always)]
pub fn by_call(policy: &Policy, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut error = match operation(&mut failures) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mut now = Timestamp::ZERO;
    let mut call = Call::underway(seed, now);
    let mut ticket = Ticket::FIRST;
    loop {
        let Step::Sleep { until, .. } = call.fail(policy, ticket, now, Failure::TRANSIENT) else { return Err(error) };
        now = black_box(until);
        let Step::Attempt { ticket: next, .. } = call.tick(policy, now) else { return Err(error) };
        ticket = next;
        match operation(&mut failures) {
            Ok(value) => return Ok(value),
            Err(next) => error = next,
        }
    }
}

/// Does not wait, on a clock that stands: what is left is the loop.
#[derive(Clone, Copy, Debug)]
pub struct NoTime;

impl holdoff::Sleeper for NoTime {
    #[inline(always)]
    fn now(&self) -> Timestamp {
        black_box(Timestamp::ZERO)
    }

    #[inline(always)]
    fn sleep(&self, duration: Duration, _: Option<&holdoff::CancelToken>) {
        black_box(duration);
    }
}

impl backon::BlockingSleeper for NoTime {
    #[inline(always)]
    fn sleep(&self, duration: Duration) {
        black_box(duration);
    }
}

/// The crate's own loop, its clock standing.
#[inline(always)]
pub fn by_holdoff(policy: &Policy, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let retrying = holdoff::retry(policy, || operation(&mut failures)).seed(seed).sleeper(NoTime);
    retrying.call().map_err(|stopped| stopped.into_error().unwrap_or(0))
}

/// The crate's own loop by the machine's clock, which it reads once a failure.
#[inline(always)]
pub fn by_holdoff_and_clock(policy: &Policy, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let retrying = holdoff::retry(policy, || operation(&mut failures)).seed(seed);
    let retrying = retrying.sleeper(|delay: Duration| {
        black_box(delay);
    });
    retrying.call().map_err(|stopped| stopped.into_error().unwrap_or(0))
}

/// backon's loop.
#[inline(always)]
pub fn by_backon(mut failures: u32, seed: u64) -> Result<u32, u32> {
    let builder = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(10))
        .with_factor(2.0)
        .with_max_times(3)
        .with_jitter()
        .with_jitter_seed(seed);
    (|| operation(&mut failures)).retry(builder).sleep(NoTime).call()
}
