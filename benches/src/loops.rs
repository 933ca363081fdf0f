//! The whole loop: an operation that fails so many times, with four attempts allowed and no time to sleep.

use crate::floor::{Floor, Numbers};
use holdoff::SharedPolicy;
use holdoff_core::{Call, Decision, Failure, Policy, PolicyFields, Retry, Span, Step, Ticket, Timestamp};
use std::future::{Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Four attempts, 100 ms doubling up to 10 s.
#[must_use]
pub const fn policy() -> Policy {
    let (initial, max) = (Span::from_millis(100), Span::from_secs(10));
    match (PolicyFields { initial, max, attempts: Some(4), ..PolicyFields::DEFAULT }).build() {
        Ok(policy) => policy,
        Err(_) => panic!("checked numbers"),
    }
}

/// The same for the floor.
#[must_use]
pub fn numbers() -> Numbers {
    Numbers { initial: 100_000_000, max: 10_000_000_000, retries: 3 }
}

/// The operation that is retried: counts down its failures. Out of line, as an operation worth retrying is.
#[inline(never)]
pub fn operation(failures: &mut u32) -> Result<u32, u32> {
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
pub fn floor<const EXACT: bool>(numbers: &Numbers, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut floor = Floor::<EXACT>::new(numbers, seed);
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

impl holdoff::time::Sleeper for NoTime {
    #[inline(always)]
    fn now(&self) -> Timestamp {
        black_box(Timestamp::ZERO)
    }

    #[inline(always)]
    fn sleep(&self, duration: Duration, _: Option<&holdoff::CancelToken>) {
        black_box(duration);
    }
}

impl holdoff::time::AsyncSleeper for NoTime {
    type Sleep = Ready<()>;

    #[inline(always)]
    fn now(&self) -> Timestamp {
        black_box(Timestamp::ZERO)
    }

    #[inline(always)]
    fn sleep(&self, duration: Duration) -> Ready<()> {
        black_box(duration);
        ready(())
    }
}

/// The crate's own loop, its clock standing.
#[inline(always)]
pub fn by_holdoff(policy: &Policy, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let retrying = holdoff::retry(policy, || operation(&mut failures)).seed(seed).sleeper(NoTime);
    retrying.call().map_err(|stopped| stopped.into_error().unwrap_or(0))
}

/// The crate's own loop under the budget of a shared policy, its clock standing.
#[inline(always)]
pub fn by_shared(policy: &SharedPolicy, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let retrying = policy.retry(|| operation(&mut failures)).seed(seed).sleeper(NoTime);
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

/// A future that needs nobody to wake it, polled once.
///
/// # Panics
/// When it is not ready.
#[inline(always)]
pub fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing sleeps here"),
    }
}

/// The operation alone, awaited until it succeeds.
#[inline(always)]
pub async fn bare_async(mut failures: u32) -> Result<u32, u32> {
    loop {
        if let Ok(value) = ready(operation(&mut failures)).await {
            return Ok(value);
        }
    }
}

/// By hand, with the floor's state, awaiting the operation and the sleep.
#[inline(always)]
pub async fn floor_async(numbers: &Numbers, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut floor = Floor::<true>::new(numbers, seed);
    loop {
        match ready(operation(&mut failures)).await {
            Ok(value) => return Ok(value),
            Err(error) => match floor.delay() {
                Some(delay) => ready(_ = black_box(delay)).await,
                None => return Err(error),
            },
        }
    }
}

/// The crate's own future of an operation that holds one byte.
pub fn future(policy: &Policy) -> impl Future<Output = Result<u8, holdoff::Stopped<u8>>> {
    let byte = black_box(1_u8);
    holdoff::retry(policy, move || ready(Ok::<u8, u8>(byte))).sleeper(NoTime).into_future()
}

/// The crate's own future, its clock standing.
#[inline(always)]
pub async fn by_holdoff_async(policy: &Policy, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let retrying = holdoff::retry(policy, || ready(operation(&mut failures))).seed(seed).sleeper(NoTime);
    retrying.await.map_err(|stopped| stopped.into_error().unwrap_or(0))
}
