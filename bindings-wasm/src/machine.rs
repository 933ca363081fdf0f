//! The functions that JavaScript calls. Wasm exports need their names, which counts as unsafe.
#![allow(unsafe_code)]

use crate::layout::{Memory, with};
use crate::memory::{exports, failure_of};
use holdoff_core::{Call, Decision, Failure, FailureKind, Hint, Outcome, Retry, Schedule, Span, Step, Ticket};

exports! {
    /// `call` := begun with `seed` at `now` under `policy`; `step`.
    fn call_begin() = |memory, now| {
        let (call, step) = Call::begin(&memory.policy, memory.seed, now);
        memory.call = call;
        memory.show(step);
    };
    /// `call` := underway with `seed` since `now`.
    fn call_underway() = |memory, now| memory.call = Call::underway(memory.seed, now);
    /// The attempt `ticket` of `call` succeeded at `now`; `step`.
    fn call_succeed() = |memory, now| {
        let step = memory.call.succeed(Ticket::from_raw(memory.ticket), now);
        memory.show(step);
    };
    /// The attempt `ticket` of `call` failed at `now` with that kind, above it the number of its rule, and the hint in
    /// `span`; `step`.
    fn call_fail(kind: u32) = |memory, now| {
        let failure = failure(memory, kind);
        let step = memory.call.fail(&memory.policy, Ticket::from_raw(memory.ticket), now, failure);
        memory.show(step);
    };
    /// Time has passed for `call` until `now`; `step`.
    fn call_tick() = |memory, now| {
        let step = memory.call.tick(&memory.policy, now);
        memory.show(step);
    };
    /// `call` is cancelled at `now`; `step`.
    fn call_cancel() = |memory, now| {
        let step = memory.call.cancel(now);
        memory.show(step);
    };
    /// `retry` := an operation with `seed` that started at `now`.
    fn retry_start() = |memory, now| memory.retry = Retry::new(memory.seed, now);
    /// The operation `retry` failed at `now` with that kind and the hint in `span`; the decision as a `step`.
    fn retry_fail(kind: u32) = |memory, now| {
        let failure = failure(memory, kind);
        let step = match memory.retry.on_failure(&memory.policy, now, failure) {
            Decision::Sleep { until, cause } => Step::Sleep { until, cause },
            Decision::GiveUp { reason, retry_at } => Step::Stop(Outcome::GaveUp { reason, retry_at }),
        };
        memory.show(step);
    };
    /// `schedule` := the delays of `policy` for `seed`.
    fn schedule_start() = |memory| memory.schedule = Schedule::new(&memory.policy, memory.seed);
    /// The next delay of `schedule` into `span`; 0 when there is none.
    fn schedule_next() -> u32 = |memory| memory.schedule.next().is_some_and(|span| memory.show_span(span)).into();
    /// The next delay of `schedule` after a failure of that kind if `number` is drawn for it, into `span`; 0 when there is none.
    fn schedule_next_at(kind: u32) -> u32 = |memory| {
        let span = memory.schedule.next_at(kind_of(kind), memory.number);
        span.is_some_and(|span| memory.show_span(span)).into()
    };
    /// The base delay of `policy` after failure `n`, from 0, into `span`.
    fn base_at(n: u32) = |memory| memory.span = Schedule::base_at(&memory.policy, n).as_nanos();
}

fn kind_of(code: u32) -> FailureKind {
    FailureKind::from_code(code).unwrap_or(FailureKind::Permanent)
}

fn failure(memory: &Memory, kind: u32) -> Failure {
    failure_of(kind, Hint::from_raw(memory.span))
}

impl Memory {
    fn show_span(&mut self, span: Span) -> bool {
        self.span = span.as_nanos();
        true
    }
}
