//! What a breaker costs that lets the call through.

use crate::guards::{self, Bits, Run, bare};
use crate::peers::failsafe;
use crate::sample::Work;
use holdoff_core::{Breaker, Timestamp};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    vec![run(), outcomes()]
}

fn now() -> Timestamp {
    black_box(Timestamp::from_nanos(1_000_000_000))
}

/// Opened by five failures in a row.
fn run() -> Work {
    let (mut floor, config, failsafe) =
        (black_box(Run::new(5)), black_box(guards::consecutive()), failsafe::consecutive());
    let mut breaker = Breaker::new(&config, 7, now());
    Work::new("breaker, a run")
        .by("floor", move || guards::by_run(black_box(&mut floor), now()))
        .by("bare", bare)
        .by("breaker", move || guards::by_breaker(black_box(&mut breaker), black_box(&config), now()))
        .by("failsafe", move || failsafe::call(&failsafe))
}

/// Opened by half of the last 128 outcomes.
fn outcomes() -> Work {
    let (mut floor, config, failsafe) = (black_box(Bits::new()), black_box(guards::of_128()), failsafe::rate());
    let mut breaker = Breaker::new(&config, 7, now());
    Work::new("breaker, 128 outcomes")
        .by("floor", move || guards::by_bits(black_box(&mut floor), now()))
        .by("bare", bare)
        .by("breaker", move || guards::by_breaker(black_box(&mut breaker), black_box(&config), now()))
        .by("failsafe", move || failsafe::call(&failsafe))
}
