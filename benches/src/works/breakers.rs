//! The cost of a breaker that lets the call through.

use crate::guards::{self, Bits, Rate, Run, bare};
use crate::peers::failsafe;
use crate::sample::Work;
use holdoff_core::{Breaker, BreakerConfig, Span, Timestamp};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    vec![run(), outcomes(), seconds()]
}

fn now() -> Timestamp {
    black_box(Timestamp::from_nanos(1_000_000_000))
}

/// Ours beside its settings, which a floor has within it: they belong together.
fn ours(config: BreakerConfig) -> (Breaker, BreakerConfig) {
    (Breaker::new(&config, 7, now()), config)
}

#[inline(always)]
fn by_ours((breaker, config): &mut (Breaker, BreakerConfig), now: Timestamp) -> Option<Result<u32, u32>> {
    guards::by_breaker(breaker, config, now)
}

/// Opened by five failures in a row.
fn run() -> Work {
    let (mut floor, mut ours, failsafe) = (Run::new(5), ours(guards::consecutive()), failsafe::consecutive());
    Work::new("breaker, a run")
        .by("floor", move || guards::by_run(black_box(&mut floor), now()))
        .by("bare", bare)
        .by("breaker", move || by_ours(black_box(&mut ours), now()))
        .by("failsafe", move || failsafe::call(&failsafe))
}

/// Opened by half of the last 128 outcomes.
fn outcomes() -> Work {
    let (mut floor, mut ours, failsafe) = (Bits::new(64, 128), ours(guards::of_128()), failsafe::rate());
    Work::new("breaker, 128 outcomes")
        .by("floor", move || guards::by_bits(black_box(&mut floor), now()))
        .by("bare", bare)
        .by("breaker", move || by_ours(black_box(&mut ours), now()))
        .by("failsafe", move || failsafe::call(&failsafe))
}

/// Opens when half of the calls of ten seconds fail; a new second begins every thousand calls.
fn seconds() -> Work {
    let (mut floor, mut ours) = (Rate::new(Span::from_secs(1)), ours(guards::of_ten_seconds()));
    let (mut one, mut two, failsafe) = (clock(), clock(), failsafe::rate());
    Work::new("breaker, 10 seconds")
        .by("floor", move || guards::by_rate(black_box(&mut floor), one()))
        .by("bare", bare)
        .by("breaker", move || by_ours(black_box(&mut ours), two()))
        .by("failsafe", move || failsafe::call(&failsafe))
}

/// A clock that goes on by a millisecond when it is asked.
fn clock() -> impl FnMut() -> Timestamp {
    let mut now = 1_000_000_000;
    move || {
        now += 1_000_000;
        black_box(Timestamp::from_nanos(now))
    }
}
