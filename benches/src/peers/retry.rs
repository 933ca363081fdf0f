//! `retry`: an iterator of whole milliseconds, full jitter from the thread's generator. It has no cap, which a program adds
//! to the iterator, and cannot be seeded.

use crate::delays::{INITIAL, MAX};
use crate::loops;
use retry::delay::{Exponential, jitter};
use std::hint::black_box;
use std::time::Duration;

/// The settings of a program.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    millis: u64,
    max: Duration,
}

/// The settings, made once.
#[must_use]
pub const fn settings() -> Settings {
    Settings { millis: INITIAL.as_millis() as u64, max: MAX }
}

/// Its delays, from the first one on.
#[inline(always)]
pub fn delays(settings: &Settings) -> impl Iterator<Item = Duration> + use<> {
    without_jitter(settings).map(jitter)
}

/// The same without jitter.
#[inline(always)]
pub fn without_jitter(settings: &Settings) -> impl Iterator<Item = Duration> + use<> {
    let max = settings.max;
    Exponential::from_millis(settings.millis).map(move |delay| delay.min(max))
}

/// Does not wait: it sleeps itself, but not for no time.
#[inline(always)]
fn no_time(delay: Duration) -> Duration {
    black_box(delay);
    Duration::ZERO
}

/// Its loop.
#[inline(always)]
pub fn call(settings: &Settings, mut failures: u32) -> Result<u32, u32> {
    let operation = || loops::operation(&mut failures);
    retry::retry(delays(settings).take(3).map(no_time), operation).map_err(|error| error.error)
}
