//! The next delay alone: eight from a new state on, or one more of a state that has reached the cap. Each delay is used,
//! because a program sleeps one before it asks for the next.

use crate::floor::{Floor, Numbers};
use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use holdoff_core::{Decision, Failure, Policy, Retry, Schedule, Timestamp};
use std::hint::black_box;
use std::time::Duration;

/// 100 ms, doubling up to 10 s, for ever.
const INITIAL: Duration = Duration::from_millis(100);
const MAX: Duration = Duration::from_secs(10);

/// Ours.
#[must_use]
pub fn policy() -> Policy {
    let backoff = holdoff_core::Backoff::exponential(INITIAL, 2.0).max(MAX);
    Policy::builder().backoff(backoff).forever().build().unwrap_or_default()
}

/// The floor's.
#[must_use]
pub fn numbers() -> Numbers {
    Numbers { initial: INITIAL.as_nanos() as u64, max: MAX.as_nanos() as u64, retries: u32::MAX }
}

/// backon's, at its first delay.
#[must_use]
#[inline(always)]
pub fn backon(seed: u64) -> ExponentialBackoff {
    let builder = ExponentialBuilder::new().with_min_delay(INITIAL).with_max_delay(MAX);
    builder.with_factor(2.0).with_jitter().without_max_times().with_jitter_seed(seed).build()
}

/// One decision of a `Retry`.
#[inline(always)]
pub fn decide(retry: &mut Retry, policy: &Policy, now: &mut Timestamp) -> u64 {
    if let Decision::Sleep { until, .. } = retry.on_failure(policy, *now, Failure::TRANSIENT) {
        *now = until;
    }
    now.as_nanos()
}

/// Eight decisions of a new `Retry`.
#[inline(always)]
pub fn eight_by_retry(policy: &Policy, seed: u64) {
    let (mut retry, mut now) = (Retry::new(seed, Timestamp::ZERO), Timestamp::ZERO);
    for _ in 0..8 {
        black_box(decide(&mut retry, policy, &mut now));
    }
}

/// Eight delays of a new `Schedule`.
#[inline(always)]
pub fn eight_by_schedule(policy: &Policy, seed: u64) {
    for delay in Schedule::new(policy, seed).take(8) {
        black_box(delay);
    }
}

/// Eight delays of a new floor.
#[inline(always)]
pub fn eight_by_floor(numbers: &Numbers, seed: u64) {
    let mut floor = Floor::new(numbers, seed);
    for _ in 0..8 {
        black_box(floor.delay());
    }
}

/// Eight delays of a new backon.
#[inline(always)]
pub fn eight_by_backon(seed: u64) {
    for delay in backon(seed).take(8) {
        black_box(delay);
    }
}
