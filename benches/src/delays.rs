//! The next delay alone: eight from a new state on, or one more of a state that has reached the cap. Each delay is used,
//! because a program sleeps one before it asks for the next.

use crate::floor::{Floor, Numbers};
use holdoff_core::{Backoff, Call, Decision, Failure, Jitter, Policy, Retry, Schedule, Step, Ticket, Timestamp};
use std::hint::black_box;
use std::time::Duration;

/// The first delay, which doubles.
pub const INITIAL: Duration = Duration::from_millis(100);
/// The longest delay.
pub const MAX: Duration = Duration::from_secs(10);

/// Ours, for ever.
#[must_use]
pub fn policy() -> Policy {
    let backoff = Backoff::exponential(INITIAL, 2.0).max(MAX);
    Policy::options().backoff(backoff).forever().build().unwrap_or_default()
}

/// The kinds of policies beside [`policy`], by their names in the rows: each is one stage and goes on for ever.
pub const KINDS: [&str; 12] = [
    "deadline",
    "no jitter",
    "equal jitter",
    "additive jitter",
    "proportional jitter",
    "decorrelated",
    "decorrelated v2",
    "factor 1.5",
    "linear",
    "constant",
    "fibonacci",
    "polynomial",
];

/// The policy of a kind, by its index in [`KINDS`]: [`policy`] with another backoff, jitter or limit.
#[must_use]
pub fn kind(index: usize) -> Policy {
    let (backoff, jitter) = match KINDS[index] {
        "no jitter" => (Backoff::exponential(INITIAL, 2.0), Jitter::None),
        "equal jitter" => (Backoff::exponential(INITIAL, 2.0), Jitter::Equal),
        "additive jitter" => (Backoff::exponential(INITIAL, 2.0), Jitter::Additive { factor: 0.5 }),
        "proportional jitter" => (Backoff::exponential(INITIAL, 2.0), Jitter::Proportional { factor: 0.25 }),
        "decorrelated" => (Backoff::decorrelated(INITIAL), Jitter::None),
        "decorrelated v2" => (Backoff::decorrelated_v2(INITIAL), Jitter::None),
        "factor 1.5" => (Backoff::exponential(INITIAL, 1.5), Jitter::Full),
        "linear" => (Backoff::linear(INITIAL, INITIAL), Jitter::Full),
        "constant" => (Backoff::constant(INITIAL), Jitter::None),
        "fibonacci" => (Backoff::fibonacci(INITIAL), Jitter::Full),
        "polynomial" => (Backoff::polynomial(INITIAL, 2.0), Jitter::Full),
        _ => (Backoff::exponential(INITIAL, 2.0), Jitter::Full),
    };
    let mut options = *Policy::options().backoff(backoff.max(MAX)).jitter(jitter).forever();
    if KINDS[index] == "deadline" {
        options.deadline(Duration::from_secs(86_400));
    }
    options.build().expect("checked numbers")
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
