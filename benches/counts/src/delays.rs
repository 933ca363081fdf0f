//! The next delay alone: eight from a new state on, or one more of a state that has reached the cap. Each delay is used,
//! because a program sleeps one before it asks for the next.

use crate::Path;
use crate::floor::{Floor, Numbers};
use holdoff_core::{Backoff, Decision, Failure, Policy, Retry, Schedule, Timestamp};
use std::hint::black_box;
use std::time::Duration;

const INITIAL: Duration = Duration::from_millis(100);
const MAX: Duration = Duration::from_secs(10);

pub(crate) const PATHS: [Path; 5] = [
    Path { work: "8 delays", who: "floor", run: eight_by_floor },
    Path { work: "8 delays", who: "retry", run: eight_by_retry },
    Path { work: "8 delays", who: "schedule", run: eight_by_schedule },
    Path { work: "1 delay, capped", who: "floor", run: capped_by_floor },
    Path { work: "1 delay, capped", who: "retry", run: capped_by_retry },
];

/// 100 ms, doubling up to 10 s, for ever; full jitter.
#[must_use]
pub fn policy() -> Policy {
    let backoff = Backoff::exponential(INITIAL, 2.0).max(MAX);
    black_box(Policy::builder().backoff(backoff).forever().build().unwrap_or_default())
}

/// The same for the floor.
#[must_use]
pub fn numbers() -> Numbers {
    black_box(Numbers { initial: INITIAL.as_nanos() as u64, max: MAX.as_nanos() as u64, retries: u32::MAX })
}

#[inline(always)]
fn decide(retry: &mut Retry, policy: &Policy, now: &mut Timestamp) -> u64 {
    if let Decision::Sleep { until, .. } = retry.on_failure(policy, *now, Failure::TRANSIENT) {
        *now = until;
    }
    now.as_nanos()
}

/// Eight decisions of a new `Retry`.
#[inline(always)]
pub fn eight(policy: &Policy, seed: u64) {
    let (mut retry, mut now) = (Retry::new(seed, Timestamp::ZERO), Timestamp::ZERO);
    for _ in 0..8 {
        black_box(decide(&mut retry, policy, &mut now));
    }
}

/// The same by a host that keeps the state in memory, as one has to that sleeps between two decisions.
#[inline(always)]
pub fn eight_kept(policy: &Policy, seed: u64) {
    let (mut retry, mut now) = (Retry::new(seed, Timestamp::ZERO), Timestamp::ZERO);
    for _ in 0..8 {
        black_box(decide(black_box(&mut retry), policy, &mut now));
    }
}

#[inline(never)]
fn eight_by_retry(times: u32) {
    let policy = policy();
    for _ in 0..times {
        eight(&policy, black_box(7));
    }
}

#[inline(never)]
fn eight_by_schedule(times: u32) {
    let policy = policy();
    for _ in 0..times {
        for delay in Schedule::new(&policy, black_box(7)).take(8) {
            black_box(delay);
        }
    }
}

#[inline(never)]
fn eight_by_floor(times: u32) {
    let numbers = numbers();
    for _ in 0..times {
        let mut floor = Floor::new(&numbers, black_box(7));
        for _ in 0..8 {
            black_box(floor.delay());
        }
    }
}

/// So many decisions of a `Retry` that has reached the cap.
#[inline(always)]
pub fn capped(policy: &Policy, times: u32) {
    let (mut retry, mut now) = (Retry::new(black_box(7), Timestamp::ZERO), Timestamp::ZERO);
    for _ in 0..8 + times {
        black_box(decide(&mut retry, policy, &mut now));
    }
}

#[inline(never)]
fn capped_by_retry(times: u32) {
    capped(&policy(), times);
}

#[inline(never)]
fn capped_by_floor(times: u32) {
    let mut floor = Floor::new(&numbers(), black_box(7));
    for _ in 0..8 + times {
        black_box(floor.delay());
    }
}
