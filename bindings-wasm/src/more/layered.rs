//! A retry inside a retry.
#![allow(unsafe_code)]

use super::{Memory, kind_of, with};
use holdoff_core::{Failure, Hint, Layered, Layers, StopReason, Ticket};

/// `layers` := `policy` around `inner`, with at most `attempts` over both; 2^32-1 for as many as they allow. 0, or the length
/// of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn layers(attempts: u32) -> u32 {
    with(|memory| {
        let (outer, inner) = (memory.policy, memory.inner);
        let made = Layers::new(outer, inner, Some(attempts).filter(|attempts| *attempts != u32::MAX));
        memory.made(made, |memory, layers| memory.layers = layers)
    })
}

/// Says whether the outer level goes on when the inner one gave up for the reason with that number.
#[unsafe(no_mangle)]
extern "C" fn layers_go_on(reason: u32, goes_on: u32) {
    with(|memory| {
        if let Some(reason) = StopReason::ALL.into_iter().find(|known| u32::from(known.code()) == reason) {
            memory.layers = memory.layers.go_on_after(reason, goes_on != 0);
        }
    });
}

/// The most attempts there can be; 2^32-1 without a limit.
#[unsafe(no_mangle)]
extern "C" fn layers_attempts() -> u32 {
    with(|memory| memory.layers.attempts().unwrap_or(u32::MAX))
}

/// `layered` := begun with the seed in slot 1 at the time in slot 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_begin() {
    with(|memory| {
        let (layered, step) = Layered::begin(&memory.layers, memory.arg(1), memory.time(0));
        memory.layered = layered;
        memory.step = step.into();
    });
}

/// `layered` := underway with the seed in slot 1 since the time in slot 0.
#[unsafe(no_mangle)]
extern "C" fn layered_underway() {
    with(|memory| memory.layered = Layered::underway(&memory.layers, memory.arg(1), memory.time(0)));
}

/// The attempt with the ticket in slot 1 succeeded at the time in slot 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_succeed() {
    with(|memory| {
        let (now, ticket) = (memory.time(0), Ticket::from_raw(memory.arg(1)));
        memory.step = memory.layered.succeed(ticket, now).into();
    });
}

/// That attempt failed with that kind and the hint in slot 2, and the outer level is told `outward` and the hint in slot 3
/// if the inner one gives up, or what it makes of it itself if that is 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_fail(kind: u32, outward: u32) {
    with(|memory| {
        let (now, ticket) = (memory.time(0), Ticket::from_raw(memory.arg(1)));
        let (outward, failure) = ((outward != 0).then(|| failure(memory, outward, 3)), failure(memory, kind, 2));
        memory.step = memory.layered.fail_as(&memory.layers, ticket, now, failure, outward).into();
    });
}

/// The number of the reason for which the inner level would give up over such a failure; 0 when it would not.
#[unsafe(no_mangle)]
extern "C" fn layered_would_give_up(kind: u32) -> u32 {
    with(|memory| {
        let (now, ticket) = (memory.time(0), Ticket::from_raw(memory.arg(1)));
        let reason = memory.layered.would_give_up(&memory.layers, ticket, now, failure(memory, kind, 2));
        reason.map_or(0, |reason| reason.code().into())
    })
}

fn failure(memory: &Memory, kind: u32, hint: usize) -> Failure {
    Failure::new(kind_of(kind)).with_hint(Hint::from_raw(memory.arg(hint)))
}

/// Time has passed until the time in slot 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_tick() {
    with(|memory| {
        let now = memory.time(0);
        memory.step = memory.layered.tick(&memory.layers, now).into();
    });
}

/// The caller wants no more of it at the time in slot 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_cancel() {
    with(|memory| {
        let now = memory.time(0);
        memory.step = memory.layered.cancel(now).into();
    });
}

/// Attempts over both levels, of the outer and of the inner one, and the numbers of the level that stopped and of the reason
/// for which the inner one last did, into slots 0 to 4.
#[unsafe(no_mangle)]
extern "C" fn layered_look() {
    with(|memory| {
        let layered = memory.layered;
        let level = layered.stopped_by().map_or(0, |level| level as u64);
        let reason = layered.inner_reason().map_or(0, |reason| reason.code().into());
        let attempts = [layered.attempt(), layered.outer_attempt(), layered.inner_attempt()].map(u64::from);
        let [all, outer, inner] = attempts;
        memory.leave([all, outer, inner, level, reason]);
    });
}
