//! The cost of a limiter that lets the call through.

use crate::guards::{self, Even};
use crate::peers::governor as peer_governor;
use crate::sample::Work;
use governor::clock::{FakeRelativeClock, QuantaClock};
use holdoff_core::{Limiter, Timestamp};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    vec![limiter()]
}

/// A clock that goes on by a nanosecond when it is asked, which is when the limits allow another call.
fn clock() -> impl FnMut() -> Timestamp {
    let mut now = 1_000_000_000;
    move || {
        now += 1;
        black_box(Timestamp::from_nanos(now))
    }
}

fn limiter() -> Work {
    let (mut floor, mut time) = (black_box(Even::new()), clock());
    let still = peer_governor::direct(FakeRelativeClock::default());
    let quanta = peer_governor::direct(QuantaClock::default());
    let work = Work::new("limiter")
        .by("floor", move || black_box(&mut floor).take(time().as_nanos()))
        .by("governor, no clock", move || black_box(&still).check().is_ok())
        .by("governor", move || black_box(&quanta).check().is_ok());
    guards::kinds().into_iter().fold(work, |work, (name, config)| {
        let config = black_box(config);
        let (mut limiter, mut clock) = (Limiter::new(&config, Timestamp::ZERO), clock());
        work.by(name, move || black_box(&mut limiter).take(black_box(&config), &mut [], 1, clock()))
    })
}
