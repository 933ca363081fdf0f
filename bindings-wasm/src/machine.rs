//! The functions that JavaScript calls. Wasm exports need their names, which counts as unsafe.
#![allow(unsafe_code)]

use crate::layout::{self, Memory};
use holdoff_core::{Call, Decision, Failure, FailureKind, Hint, Outcome, Retry, Schedule, Span, Step, Ticket, seed_at};

/// `call` := begun with `seed` at `now` under `policy`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_begin() {
    layout::with(|memory| {
        let (call, step) = Call::begin(&memory.policy, memory.seed, memory.now());
        memory.call = call;
        memory.show(step);
    });
}

/// `call` := underway with `seed` since `now`.
#[unsafe(no_mangle)]
extern "C" fn call_underway() {
    layout::with(|memory| memory.call = Call::underway(memory.seed, memory.now()));
}

/// The attempt `ticket` of `call` succeeded at `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_succeed() {
    layout::with(|memory| {
        let step = memory.call.succeed(Ticket::from_raw(memory.ticket), memory.now());
        memory.show(step);
    });
}

/// The attempt `ticket` of `call` failed at `now` with that kind and the hint in `span`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_fail(kind: u32) {
    layout::with(|memory| {
        let step =
            memory.call.fail(&memory.policy, Ticket::from_raw(memory.ticket), memory.now(), failure(memory, kind));
        memory.show(step);
    });
}

/// Time has passed for `call` until `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_tick() {
    layout::with(|memory| {
        let step = memory.call.tick(&memory.policy, memory.now());
        memory.show(step);
    });
}

/// `call` is cancelled at `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_cancel() {
    layout::with(|memory| {
        let step = memory.call.cancel(memory.now());
        memory.show(step);
    });
}

/// `retry` := an operation with `seed` that started at `now`.
#[unsafe(no_mangle)]
extern "C" fn retry_start() {
    layout::with(|memory| memory.retry = Retry::new(memory.seed, memory.now()));
}

/// The operation `retry` failed at `now` with that kind and the hint in `span`; the decision as a `step`.
#[unsafe(no_mangle)]
extern "C" fn retry_fail(kind: u32) {
    layout::with(|memory| {
        let step = match memory.retry.on_failure(&memory.policy, memory.now(), failure(memory, kind)) {
            Decision::Sleep { until, cause } => Step::Sleep { until, cause },
            Decision::GiveUp { reason, retry_at } => Step::Stop(Outcome::GaveUp { reason, retry_at }),
        };
        memory.show(step);
    });
}

/// `schedule` := the delays of `policy` for `seed`.
#[unsafe(no_mangle)]
extern "C" fn schedule_start() {
    layout::with(|memory| memory.schedule = Schedule::new(&memory.policy, memory.seed));
}

/// The next delay of `schedule` into `span`; 0 when there is none.
#[unsafe(no_mangle)]
extern "C" fn schedule_next() -> u32 {
    layout::with(|memory| spanned(memory, |memory| memory.schedule.next()))
}

/// The next delay of `schedule` after a failure of that kind if `number` is drawn for it, into `span`; 0 when there is none.
#[unsafe(no_mangle)]
extern "C" fn schedule_next_at(kind: u32) -> u32 {
    layout::with(|memory| {
        let u = memory.number;
        spanned(memory, |memory| memory.schedule.next_at(kind_of(kind), u))
    })
}

/// The base delay of `policy` after failure `n`, from 0, into `span`.
#[unsafe(no_mangle)]
extern "C" fn base_at(n: u32) {
    layout::with(|memory| memory.span = Schedule::base_at(&memory.policy, n).as_nanos());
}

/// `seed` := the seed of failing operation `ticket`, from 0, of a program seeded with `seed`.
#[unsafe(no_mangle)]
extern "C" fn seed() {
    layout::with(|memory| memory.seed = seed_at(memory.seed, memory.ticket));
}

fn kind_of(code: u32) -> FailureKind {
    FailureKind::from_code(code).unwrap_or(FailureKind::Permanent)
}

fn failure(memory: &Memory, kind: u32) -> Failure {
    Failure::new(kind_of(kind)).with_hint(Hint::from_raw(memory.span))
}

fn spanned(memory: &mut Memory, find: impl FnOnce(&mut Memory) -> Option<Span>) -> u32 {
    match find(memory) {
        Some(span) => {
            memory.span = span.as_nanos();
            1
        }
        None => 0,
    }
}
