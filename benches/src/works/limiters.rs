//! The cost of a limiter that lets the call through.

use crate::guards::{self, Even, EvenShared};
use crate::peers::governor as peer_governor;
use crate::sample::Work;
use governor::clock::{FakeRelativeClock, QuantaClock};
use holdoff_core::{Gcra, Limiter, SharedGcra, Timestamp};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    vec![single_thread(), atomic()]
}

/// A clock that goes on by a nanosecond when it is asked, which is when the limits allow another call.
fn clock() -> impl FnMut() -> Timestamp {
    let mut now = 1_000_000_000;
    move || {
        now += 1;
        black_box(Timestamp::from_nanos(now))
    }
}

/// Of one thread.
fn single_thread() -> Work {
    let (mut floor, mut gcra, small) = (black_box(Even::new()), Gcra::new(), black_box(guards::gcra()));
    let (mut one, mut two) = (clock(), clock());
    let work = Work::new("limiter")
        .by("floor", move || black_box(&mut floor).take(one().as_nanos()))
        .by("gcra", move || black_box(&mut gcra).take(black_box(&small), 1, two()));
    guards::kinds().into_iter().fold(work, |work, (name, config)| {
        let config = black_box(config);
        let (mut limiter, mut clock) = (Limiter::new(&config, Timestamp::ZERO), clock());
        work.by(name, move || black_box(&mut limiter).take(black_box(&config), &mut [], 1, clock()))
    })
}

/// That threads share.
fn atomic() -> Work {
    let (floor, shared, small) = (black_box(EvenShared::new()), SharedGcra::default(), black_box(guards::gcra()));
    let still = peer_governor::direct(FakeRelativeClock::default());
    let quanta = peer_governor::direct(QuantaClock::default());
    let (mut one, mut two) = (clock(), clock());
    Work::new("limiter, atomic")
        .by("floor", move || black_box(&floor).take(one().as_nanos()))
        .by("shared gcra", move || black_box(&shared).take(black_box(&small), 1, two()))
        .by("governor, no clock", move || black_box(&still).check().is_ok())
        .by("governor", move || black_box(&quanta).check().is_ok())
}
