//! `retry`: an iterator of whole milliseconds, full jitter from the thread's generator. It has no cap, which a program adds
//! to the iterator, and cannot be seeded.

use crate::delays::MAX;
use crate::loops;
use retry::delay::{Exponential, jitter};
use std::hint::black_box;
use std::time::Duration;

/// Its delays, from the first one on.
#[inline(always)]
pub fn delays() -> impl Iterator<Item = Duration> {
    Exponential::from_millis(100).map(|delay| delay.min(MAX)).map(jitter)
}

/// Does not wait: it sleeps itself, but not for no time.
#[inline(always)]
fn no_time(delay: Duration) -> Duration {
    black_box(delay);
    Duration::ZERO
}

/// Its loop.
#[inline(always)]
pub fn call(mut failures: u32) -> Result<u32, u32> {
    let operation = || loops::operation(&mut failures);
    retry::retry(delays().take(3).map(no_time), operation).map_err(|error| error.error)
}
