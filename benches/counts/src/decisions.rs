//! The next delay alone, and the whole loop around an operation: what the benches measure, many times.

use crate::{Path, delays, loops};
use holdoff_core::{Policy, Retry, Timestamp};
use std::hint::black_box;

pub(crate) const DEFAULT: Path =
    Path { work: "8 delays", who: "retry", run: |times| eight(&black_box(delays::policy()), times) };

macro_rules! kinds {
    ($($index:literal $work:literal),*) => {
        [$(Path { work: $work, who: "retry", run: |times| eight(&black_box(delays::kind($index)), times) },)*]
    };
}

/// In the order of [`delays::KINDS`].
pub(crate) const KINDS: [Path; 12] = kinds![
    0 "8 delays, deadline",
    1 "8 delays, no jitter",
    2 "8 delays, equal jitter",
    3 "8 delays, additive jitter",
    4 "8 delays, proportional jitter",
    5 "8 delays, decorrelated",
    6 "8 delays, decorrelated v2",
    7 "8 delays, factor 1.5",
    8 "8 delays, linear",
    9 "8 delays, constant",
    10 "8 delays, fibonacci",
    11 "8 delays, polynomial"
];

macro_rules! loops {
    ($($failures:literal $work:literal $awaited:literal),*) => {
        [$(
            Path { work: $work, who: "holdoff", run: |times| by_holdoff(times, $failures) },
            Path { work: $awaited, who: "holdoff", run: |times| by_holdoff_async(times, $failures) },
        )*]
    };
}

pub(crate) const LOOPS: [Path; 6] = loops![
    0 "loop, 0 failures" "async loop, 0 failures",
    1 "loop, 1 failures" "async loop, 1 failures",
    3 "loop, 3 failures" "async loop, 3 failures"
];

/// Eight decisions of a new `Retry`, so often.
#[inline(never)]
pub fn eight(policy: &Policy, times: u32) {
    for _ in 0..times {
        delays::eight_by_retry(policy, black_box(7));
    }
}

/// The same by a host that keeps the state in memory, as one has to that sleeps between two decisions.
#[inline(never)]
pub fn eight_stored(policy: &Policy, times: u32) {
    for _ in 0..times {
        let (mut retry, mut now) = (Retry::new(black_box(7), Timestamp::ZERO), Timestamp::ZERO);
        for _ in 0..8 {
            black_box(delays::decide(black_box(&mut retry), policy, &mut now));
        }
    }
}

/// So many decisions of a `Retry` that has reached the cap.
#[inline(never)]
pub fn capped(policy: &Policy, times: u32) {
    let (mut retry, mut now) = (Retry::new(black_box(7), Timestamp::ZERO), Timestamp::ZERO);
    for _ in 0..8 + times {
        black_box(delays::decide(&mut retry, policy, &mut now));
    }
}

/// The loop over a `Retry`, so often.
#[inline(never)]
pub fn by_retry(times: u32, failures: u32) {
    let policy = black_box(loops::policy());
    for _ in 0..times {
        let _ = black_box(loops::by_retry(&policy, black_box(failures), black_box(7)));
    }
}

/// The loop over a `Call`, so often.
#[inline(never)]
pub fn by_call(times: u32, failures: u32) {
    let policy = black_box(loops::policy());
    for _ in 0..times {
        let _ = black_box(loops::by_call(&policy, black_box(failures), black_box(7)));
    }
}

#[inline(never)]
fn by_holdoff(times: u32, failures: u32) {
    let policy = black_box(loops::policy());
    for _ in 0..times {
        let _ = black_box(loops::by_holdoff(&policy, black_box(failures), black_box(7)));
    }
}

#[inline(never)]
fn by_holdoff_async(times: u32, failures: u32) {
    let policy = black_box(loops::policy());
    for _ in 0..times {
        let _ = black_box(loops::at_once(loops::by_holdoff_async(&policy, black_box(failures), black_box(7))));
    }
}
