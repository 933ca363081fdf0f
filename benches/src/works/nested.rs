//! A retry inside of a retry, around an operation that fails so many times.

use super::seed::seed;
use crate::delays::{INITIAL, MAX};
use crate::floor::{Floor, Numbers};
use crate::loops::{self, operation};
use crate::sample::Work;
use holdoff_core::{Backoff, Failure, Layered, Layers, Policy, Step, Timestamp};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    [0, 1, 3].map(work).into()
}

fn layers() -> Layers {
    let policy = |attempts| {
        let backoff = Backoff::exponential(INITIAL, 2.0).max(MAX);
        Policy::options().backoff(backoff).attempts(attempts).build().expect("checked numbers")
    };
    Layers::new(policy(4), policy(2), Some(8)).expect("checked numbers")
}

/// Two attempts inside of each of four.
fn work(failures: u32) -> Work {
    let (layers, fails) = (black_box(layers()), move || black_box(failures));
    let numbers = |retries| black_box(Numbers { retries, ..loops::numbers() });
    let (outer, inner) = (numbers(3), numbers(1));
    Work::new(format!("layered loop, {failures} failures"))
        .by("floor", move || floor(black_box(&outer), black_box(&inner), fails(), seed()))
        .by("bare", move || loops::bare(fails()))
        .by("layered", move || layered(black_box(&layers), fails(), seed()))
}

#[inline(always)]
fn floor(outer: &Numbers, inner: &Numbers, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut without = Floor::<true>::new(outer, seed);
    loop {
        let mut within = Floor::<true>::new(inner, seed);
        let error = loop {
            match operation(&mut failures) {
                Ok(value) => return Ok(value),
                Err(error) => match within.delay() {
                    Some(delay) => _ = black_box(delay),
                    None => break error,
                },
            }
        };
        match without.delay() {
            Some(delay) => _ = black_box(delay),
            None => return Err(error),
        }
    }
}

#[inline(always)]
fn layered(layers: &Layers, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut now = Timestamp::ZERO;
    let (mut call, mut step) = Layered::begin(layers, seed, now);
    let mut last = 0;
    loop {
        step = match step {
            Step::Attempt { ticket, .. } => match operation(&mut failures) {
                Ok(value) => {
                    black_box(call.succeed(ticket, now));
                    return Ok(value);
                }
                Err(error) => {
                    last = error;
                    call.fail(layers, ticket, now, Failure::TRANSIENT)
                }
            },
            Step::Sleep { until, .. } => {
                now = black_box(until);
                call.tick(layers, now)
            }
            Step::Wait { .. } | Step::Stop(_) => return Err(last),
        };
    }
}
