//! `tokio-retry2`: an iterator of whole milliseconds, half of the delay more or less from the thread's generator, and a
//! future that sleeps by tokio's timer. It cannot be seeded.

use crate::delays::{INITIAL, MAX};
use crate::loops;
use std::future::ready;
use std::hint::black_box;
use std::time::Duration;
use tokio_retry2::strategy::{ExponentialFactorBackoff, jitter};
use tokio_retry2::{Retry, RetryError};

/// The settings, made once and cloned for each call.
#[must_use]
pub const fn settings() -> ExponentialFactorBackoff {
    ExponentialFactorBackoff::from_millis(INITIAL.as_millis() as u64, 2.0).max_delay(MAX)
}

/// Its delays, from the first one on.
#[inline(always)]
pub fn delays(settings: &ExponentialFactorBackoff) -> impl Iterator<Item = Duration> + use<> {
    settings.clone().map(jitter)
}

/// Hardly waits: tokio's timer is asked, but for no time.
#[inline(always)]
fn no_time(delay: Duration) -> Duration {
    black_box(delay);
    Duration::ZERO
}

/// Its future, which wants to be polled inside of a runtime.
#[inline(always)]
pub async fn call(settings: &ExponentialFactorBackoff, mut failures: u32) -> Result<u32, u32> {
    let operation = || ready(loops::operation(&mut failures).map_err(RetryError::transient));
    Retry::spawn(delays(settings).take(3).map(no_time), operation).await
}
