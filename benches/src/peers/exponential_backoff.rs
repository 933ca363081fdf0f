//! `exponential-backoff`: up to a third of the delay more or less, and it computes the delay before it knows whether the
//! attempt fails. It cannot be seeded, nor go on for ever: 2^32 - 1 attempts are its most.

use crate::delays::{INITIAL, MAX};
use crate::loops;
use exponential_backoff::{Backoff, IntoIter};
use std::hint::black_box;

/// The settings, made once.
#[must_use]
pub fn settings(attempts: u32) -> Backoff {
    Backoff::new(attempts, INITIAL, MAX)
}

/// Its delays, from the first one on.
#[must_use]
#[inline(always)]
pub fn delays(settings: &Backoff) -> IntoIter {
    settings.iter()
}

/// The loop that its documentation shows.
#[inline(always)]
pub fn call(settings: &Backoff, mut failures: u32) -> Result<u32, u32> {
    for delay in settings {
        match loops::operation(&mut failures) {
            Ok(value) => return Ok(value),
            Err(error) => match delay {
                Some(delay) => _ = black_box(delay),
                None => return Err(error),
            },
        }
    }
    Err(failures)
}
