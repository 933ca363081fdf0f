//! The next delay alone: eight from a new state on, or one more of a state that has reached the cap. Each delay is used,
//! because a program sleeps one before it asks for the next.

use crate::floor::{Floor, Numbers};
use holdoff_core::{Call, Decision, Failure, Policy, Retry, Schedule, Step, Ticket, Timestamp};
use std::hint::black_box;
use std::time::Duration;

/// The first delay, which doubles.
pub const INITIAL: Duration = Duration::from_millis(100);
/// The longest delay.
pub const MAX: Duration = Duration::from_secs(10);

/// Ours, for ever.
#[must_use]
pub fn policy() -> Policy {
    let backoff = holdoff_core::Backoff::exponential(INITIAL, 2.0).max(MAX);
    Policy::options().backoff(backoff).forever().build().unwrap_or_default()
}

/// The floor's.
#[must_use]
pub fn numbers() -> Numbers {
    Numbers { initial: INITIAL.as_nanos() as u64, max: MAX.as_nanos() as u64, retries: u32::MAX }
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

/// Eight delays of a new floor, exact or not.
#[inline(always)]
pub fn eight_by_floor<const EXACT: bool>(numbers: &Numbers, seed: u64) {
    let mut floor = Floor::<EXACT>::new(numbers, seed);
    for _ in 0..8 {
        black_box(floor.delay());
    }
}

/// Eight failures of a new `Call`, each with the attempt that follows it.
#[inline(always)]
pub fn eight_by_call(policy: &Policy, seed: u64) {
    let (mut now, mut ticket) = (Timestamp::ZERO, Ticket::FIRST);
    let mut call = Call::underway(seed, now);
    for _ in 0..8 {
        if let Step::Sleep { until, .. } = call.fail(policy, ticket, now, Failure::TRANSIENT) {
            now = black_box(until);
        }
        if let Step::Attempt { ticket: next, .. } = call.tick(policy, now) {
            ticket = next;
        }
    }
}

/// Eight delays of an iterator.
#[inline(always)]
pub fn eight_of<T>(delays: impl Iterator<Item = T>) {
    for delay in delays.take(8) {
        black_box(delay);
    }
}
