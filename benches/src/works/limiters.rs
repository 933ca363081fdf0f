//! What a limiter costs that lets the call through.

use crate::guards::{self, Even, EvenShared};
use crate::peers::governor as peer_governor;
use crate::sample::Work;
use governor::clock::{FakeRelativeClock, QuantaClock};
use holdoff_core::{Gcra, Limiter, SharedGcra, Timestamp};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    vec![alone(), atomic()]
}

fn now() -> Timestamp {
    black_box(Timestamp::from_nanos(1_000_000_000))
}

/// Of one thread.
fn alone() -> Work {
    let (mut floor, mut gcra, small) = (black_box(Even::new()), Gcra::new(), black_box(guards::gcra()));
    let work = Work::new("limiter")
        .by("floor", move || floor.take(now().as_nanos()))
        .by("gcra", move || gcra.take(&small, 1, now()));
    guards::kinds().into_iter().fold(work, |work, (name, kind)| {
        let config = black_box(guards::limiter(kind));
        let mut limiter = Limiter::new(&config, now());
        work.by(name, move || limiter.take(&config, &mut [], 1, now()))
    })
}

/// That threads share.
fn atomic() -> Work {
    let (floor, shared, small) = (black_box(EvenShared::new()), SharedGcra::default(), black_box(guards::gcra()));
    let still = peer_governor::direct(FakeRelativeClock::default());
    let quanta = peer_governor::direct(QuantaClock::default());
    Work::new("limiter, atomic")
        .by("floor", move || floor.take(now().as_nanos()))
        .by("shared gcra", move || shared.take(&small, 1, now()))
        .by("governor, no clock", move || still.check().is_ok())
        .by("governor", move || quanta.check().is_ok())
}
