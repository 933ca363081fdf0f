//! `backon`: the job of ours, by an iterator of delays. Its cap is of the delay before jitter, which adds up to the whole of
//! it again.

use crate::delays::{INITIAL, MAX};
use crate::loops::{self, NoTime};
use backon::{BackoffBuilder as _, BlockingRetryable as _, ExponentialBackoff, ExponentialBuilder, Retryable as _};
use std::future::{Ready, ready};
use std::hint::black_box;
use std::time::Duration;

/// The settings, made once: four attempts.
#[must_use]
#[inline(always)]
pub const fn settings() -> ExponentialBuilder {
    without_jitter().with_jitter()
}

/// The same without jitter.
#[must_use]
#[inline(always)]
pub const fn without_jitter() -> ExponentialBuilder {
    let builder = ExponentialBuilder::new().with_min_delay(INITIAL).with_max_delay(MAX);
    builder.with_factor(2.0).with_max_times(3)
}

/// Its delays, from the first one on.
#[must_use]
#[inline(always)]
pub fn delays(settings: &ExponentialBuilder, seed: u64) -> ExponentialBackoff {
    settings.with_jitter_seed(seed).build()
}

/// The same from a seed of its own, which it draws from its thread's generator.
#[must_use]
#[inline(always)]
pub fn delays_unseeded(settings: &ExponentialBuilder) -> ExponentialBackoff {
    settings.build()
}

impl backon::BlockingSleeper for NoTime {
    #[inline(always)]
    fn sleep(&self, duration: Duration) {
        black_box(duration);
    }
}

/// Its loop.
#[inline(always)]
pub fn call(settings: &ExponentialBuilder, mut failures: u32, seed: u64) -> Result<u32, u32> {
    (|| loops::operation(&mut failures)).retry(settings.with_jitter_seed(seed)).sleep(NoTime).call()
}

/// Its loop, from a seed of its own.
#[inline(always)]
pub fn call_unseeded(settings: &ExponentialBuilder, mut failures: u32) -> Result<u32, u32> {
    (|| loops::operation(&mut failures)).retry(*settings).sleep(NoTime).call()
}

fn no_time(duration: Duration) -> Ready<()> {
    black_box(duration);
    ready(())
}

/// Its loop over futures.
#[inline(always)]
pub async fn call_async(settings: &ExponentialBuilder, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let settings = settings.with_jitter_seed(seed);
    (|| ready(loops::operation(&mut failures))).retry(settings).sleep(no_time).await
}

/// Its future of an operation that holds one byte.
pub fn future(settings: &ExponentialBuilder) -> impl Future<Output = Result<u8, u8>> {
    let byte = black_box(1_u8);
    (move || ready(Ok::<u8, u8>(byte))).retry(settings.with_jitter_seed(1)).sleep(no_time).into_future()
}
