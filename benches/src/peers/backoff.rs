//! `backoff`: draws from the thread's generator, half of the delay more or less, and reads the clock at the beginning and at
//! each failure. It cannot count attempts, nor be seeded.

use crate::delays::{INITIAL, MAX};
use crate::loops;
use backoff::backoff::Backoff;
use backoff::{Error, ExponentialBackoff, ExponentialBackoffBuilder};
use std::hint::black_box;
use std::time::Duration;

/// The settings, made once and cloned for each call; it reads the clock.
#[must_use]
pub fn settings() -> ExponentialBackoff {
    let mut builder = ExponentialBackoffBuilder::new();
    builder.with_initial_interval(INITIAL).with_max_interval(MAX).with_multiplier(2.0);
    builder.with_max_elapsed_time(None).build()
}

/// Its delays without the sleeping, which it does itself.
#[derive(Debug)]
struct NoTime(ExponentialBackoff);

impl Backoff for NoTime {
    #[inline(always)]
    fn reset(&mut self) {
        self.0.reset();
    }

    #[inline(always)]
    fn next_backoff(&mut self) -> Option<Duration> {
        black_box(self.0.next_backoff()?);
        Some(Duration::ZERO)
    }
}

/// Its loop.
#[inline(always)]
pub fn call(settings: &ExponentialBackoff, mut failures: u32) -> Result<u32, u32> {
    let operation = || loops::operation(&mut failures).map_err(Error::transient);
    backoff::retry(NoTime(settings.clone()), operation).map_err(|error| match error {
        Error::Permanent(error) | Error::Transient { err: error, .. } => error,
    })
}
