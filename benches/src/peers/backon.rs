//! `backon`: the job of ours, by an iterator of delays. Its cap is of the delay before jitter, which adds up to the whole of
//! it again.

use crate::delays::{INITIAL, MAX};
use crate::loops::{self, NoTime};
use backon::{BackoffBuilder as _, BlockingRetryable as _, ExponentialBackoff, ExponentialBuilder, Retryable as _};
use std::future::{Ready, ready};
use std::hint::black_box;
use std::time::Duration;

/// What is set once.
#[must_use]
#[inline(always)]
pub const fn builder() -> ExponentialBuilder {
    ExponentialBuilder::new().with_min_delay(INITIAL).with_max_delay(MAX).with_factor(2.0).with_jitter()
}

/// Delays for ever, from the first one on.
#[must_use]
#[inline(always)]
pub fn delays(seed: u64) -> ExponentialBackoff {
    builder().without_max_times().with_jitter_seed(seed).build()
}

/// The same from a seed of its own, which it draws from its thread's generator.
#[must_use]
#[inline(always)]
pub fn delays_unseeded() -> ExponentialBackoff {
    builder().without_max_times().build()
}

impl backon::BlockingSleeper for NoTime {
    #[inline(always)]
    fn sleep(&self, duration: Duration) {
        black_box(duration);
    }
}

/// Its loop.
#[inline(always)]
pub fn call(mut failures: u32, seed: u64) -> Result<u32, u32> {
    let builder = builder().with_max_times(3).with_jitter_seed(seed);
    (|| loops::operation(&mut failures)).retry(builder).sleep(NoTime).call()
}

/// Its loop, from a seed of its own.
#[inline(always)]
pub fn call_unseeded(mut failures: u32) -> Result<u32, u32> {
    (|| loops::operation(&mut failures)).retry(builder().with_max_times(3)).sleep(NoTime).call()
}

fn no_time(duration: Duration) -> Ready<()> {
    black_box(duration);
    ready(())
}

/// Its loop over futures.
#[inline(always)]
pub async fn call_async(mut failures: u32, seed: u64) -> Result<u32, u32> {
    let builder = builder().with_max_times(3).with_jitter_seed(seed);
    (|| ready(loops::operation(&mut failures))).retry(builder).sleep(no_time).await
}
