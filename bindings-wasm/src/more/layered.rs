//! A retry inside a retry.
#![allow(unsafe_code)]

use super::{Desk, kind_of, with};
use holdoff_core::{Failure, Hint, Layered, Layers, StopReason, Ticket};

/// `layers` := `policy` around `inner`, with at most `attempts` over both; 2^32-1 for as many as they allow. 0, or the length
/// of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn layers(attempts: u32) -> u32 {
    with(|desk| {
        let (outer, inner) = (desk.policy, desk.inner);
        let made = match attempts {
            u32::MAX => Ok(Layers::uncapped(outer, inner)),
            attempts => Layers::new(outer, inner, attempts),
        };
        desk.made(made, |desk, layers| desk.layers = layers)
    })
}

/// Whether the outer level goes on when the inner one gave up for the reason with that number.
#[unsafe(no_mangle)]
extern "C" fn layers_go_on(reason: u32, goes_on: u32) {
    with(|desk| {
        if let Some(reason) = StopReason::ALL.into_iter().find(|known| u32::from(known.code()) == reason) {
            desk.layers = desk.layers.go_on_after(reason, goes_on != 0);
        }
    });
}

/// The most attempts there can be; 2^32-1 without a limit.
#[unsafe(no_mangle)]
extern "C" fn layers_attempts() -> u32 {
    with(|desk| desk.layers.attempts().unwrap_or(u32::MAX))
}

/// `layered` := begun with the seed in place 1 at the time in place 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_begin() {
    with(|desk| {
        let (layered, step) = Layered::begin(&desk.layers, desk.arg(1), desk.time(0));
        desk.layered = layered;
        desk.step = step.into();
    });
}

/// `layered` := underway with the seed in place 1 since the time in place 0.
#[unsafe(no_mangle)]
extern "C" fn layered_underway() {
    with(|desk| desk.layered = Layered::underway(&desk.layers, desk.arg(1), desk.time(0)));
}

/// The attempt with the ticket in place 1 succeeded at the time in place 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_succeed() {
    with(|desk| {
        let (now, ticket) = (desk.time(0), Ticket::from_raw(desk.arg(1)));
        desk.step = desk.layered.succeed(ticket, now).into();
    });
}

/// That attempt failed with that kind and the hint in place 2, and the outer level is told `outward` and the hint in place 3
/// if the inner one gives up, or what it makes of it itself if that is 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_fail(kind: u32, outward: u32) {
    with(|desk| {
        let (now, ticket) = (desk.time(0), Ticket::from_raw(desk.arg(1)));
        let told = failure(desk, kind, 2);
        desk.step = match outward {
            0 => desk.layered.fail(&desk.layers, ticket, now, told),
            outward => {
                let outward = failure(desk, outward, 3);
                desk.layered.fail_as(&desk.layers, ticket, now, told, outward)
            }
        }
        .into();
    });
}

/// The number of the reason for which the inner level would give up over such a failure; 0 when it would not.
#[unsafe(no_mangle)]
extern "C" fn layered_would_give_up(kind: u32) -> u32 {
    with(|desk| {
        let (now, ticket) = (desk.time(0), Ticket::from_raw(desk.arg(1)));
        let reason = desk.layered.would_give_up(&desk.layers, ticket, now, failure(desk, kind, 2));
        reason.map_or(0, |reason| reason.code().into())
    })
}

fn failure(desk: &Desk, kind: u32, hint: usize) -> Failure {
    Failure::new(kind_of(kind)).with_hint(Hint::from_raw(desk.arg(hint)))
}

/// Time has passed until the time in place 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_tick() {
    with(|desk| {
        let now = desk.time(0);
        desk.step = desk.layered.tick(&desk.layers, now).into();
    });
}

/// The caller wants no more of it at the time in place 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn layered_cancel() {
    with(|desk| {
        let now = desk.time(0);
        desk.step = desk.layered.cancel(now).into();
    });
}

/// Attempts over both levels, of the outer and of the inner one, and the numbers of the level that stopped and of the reason
/// for which the inner one last did, into places 0 to 4.
#[unsafe(no_mangle)]
extern "C" fn layered_look() {
    with(|desk| {
        let layered = desk.layered;
        let level = layered.stopped_by().map_or(0, |level| level as u64);
        let reason = layered.inner_reason().map_or(0, |reason| reason.code().into());
        let attempts = [layered.attempt(), layered.outer_attempt(), layered.inner_attempt()].map(u64::from);
        let [all, outer, inner] = attempts;
        desk.leave([all, outer, inner, level, reason]);
    });
}
