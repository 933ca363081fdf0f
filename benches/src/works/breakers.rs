//! What a breaker costs that lets the call through.

use crate::guards::{self, Bits, Run, bare};
use crate::peers::failsafe;
use crate::sample::Work;
use holdoff_core::{Breaker, BreakerConfig, Timestamp};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    vec![run(), outcomes()]
}

fn now() -> Timestamp {
    black_box(Timestamp::from_nanos(1_000_000_000))
}

/// Ours beside its settings, which a floor has within it: whoever has the one has the other.
fn ours(config: BreakerConfig) -> (Breaker, BreakerConfig) {
    (Breaker::new(&config, 7, now()), config)
}

#[inline(always)]
fn by_ours((breaker, config): &mut (Breaker, BreakerConfig)) -> Option<Result<u32, u32>> {
    guards::by_breaker(breaker, config, now())
}

/// Opened by five failures in a row.
fn run() -> Work {
    let (mut floor, mut ours, failsafe) = (Run::new(5), ours(guards::consecutive()), failsafe::consecutive());
    Work::new("breaker, a run")
        .by("floor", move || guards::by_run(black_box(&mut floor), now()))
        .by("bare", bare)
        .by("breaker", move || by_ours(black_box(&mut ours)))
        .by("failsafe", move || failsafe::call(&failsafe))
}

/// Opened by half of the last 128 outcomes.
fn outcomes() -> Work {
    let (mut floor, mut ours, failsafe) = (Bits::new(64, 128), ours(guards::of_128()), failsafe::rate());
    Work::new("breaker, 128 outcomes")
        .by("floor", move || guards::by_bits(black_box(&mut floor), now()))
        .by("bare", bare)
        .by("breaker", move || by_ours(black_box(&mut ours)))
        .by("failsafe", move || failsafe::call(&failsafe))
}
