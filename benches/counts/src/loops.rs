//! The whole loop: an operation that fails so many times, with four attempts allowed and no time to sleep.

use crate::Path;
use crate::floor::{Floor, Numbers};
use holdoff_core::{Backoff, Call, Decision, Failure, Policy, Retry, Step, Ticket, Timestamp};
use std::hint::black_box;
use std::time::Duration;

macro_rules! paths {
    ($($failures:literal $work:literal),*) => {
        [$(
            Path { work: $work, who: "bare", run: |times| by_bare(times, $failures) },
            Path { work: $work, who: "floor", run: |times| by_floor(times, $failures) },
            Path { work: $work, who: "retry", run: |times| by_retry(times, $failures) },
            Path { work: $work, who: "call", run: |times| by_call(times, $failures) },
            Path { work: $work, who: "holdoff", run: |times| by_holdoff(times, $failures) },
        )*]
    };
}

pub(crate) const PATHS: [Path; 15] = paths![0 "loop, 0 failures", 1 "loop, 1 failures", 3 "loop, 3 failures"];

/// Four attempts, 100 ms doubling up to 10 s.
#[must_use]
pub fn policy() -> Policy {
    let backoff = Backoff::exponential(Duration::from_millis(100), 2.0).max(Duration::from_secs(10));
    black_box(Policy::builder().backoff(backoff).attempts(4).build().unwrap_or_default())
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

/// By hand, with a `Retry` made after the first failure.
#[inline(always)]
pub fn retry(policy: &Policy, mut failures: u32, seed: u64) -> Result<u32, u32> {
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
pub fn call(policy: &Policy, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut error = match operation(&mut failures) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mut now = Timestamp::ZERO;
    let (mut call, mut ticket) = (Call::underway(seed, now), Ticket::FIRST);
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

/// Does not wait, on a clock that stands.
#[derive(Clone, Copy)]
struct NoTime;

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

#[inline(never)]
fn by_bare(times: u32, failures: u32) {
    for _ in 0..times {
        let _ = black_box(bare(black_box(failures)));
    }
}

#[inline(never)]
fn by_floor(times: u32, failures: u32) {
    let numbers = black_box(Numbers { initial: 100_000_000, max: 10_000_000_000, retries: 3 });
    let one = |mut failures: u32| {
        let mut floor = Floor::new(&numbers, black_box(7));
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
    };
    for _ in 0..times {
        let _ = black_box(one(black_box(failures)));
    }
}

#[inline(never)]
fn by_retry(times: u32, failures: u32) {
    let policy = policy();
    for _ in 0..times {
        let _ = black_box(retry(&policy, black_box(failures), black_box(7)));
    }
}

#[inline(never)]
fn by_call(times: u32, failures: u32) {
    let policy = policy();
    for _ in 0..times {
        let _ = black_box(call(&policy, black_box(failures), black_box(7)));
    }
}

#[inline(never)]
fn by_holdoff(times: u32, failures: u32) {
    let policy = policy();
    for _ in 0..times {
        let mut failures = black_box(failures);
        let retrying = holdoff::retry(&policy, || operation(&mut failures)).seed(black_box(7)).sleeper(NoTime);
        let _ = black_box(retrying.call().map_err(|stopped| stopped.into_error().unwrap_or(0)));
    }
}
