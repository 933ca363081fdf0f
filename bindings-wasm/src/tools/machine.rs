//! The machines themselves, for programs with a loop, a clock or a scheduler of their own.

use super::arguments::{Argument, Now, SameTime, SampleTime, Seed, StepObject, is_u32};
use super::ffi::{Answer, FromJs, SharedPolicy, js_types, methods, misuse, object, to_words};
use holdoff_core as core;
use holdoff_core::{Decision, ErrorCode, Failure, FailureKind, Policy, Ticket, Timestamp};
use js_sys::Array;
use wasm_bindgen::convert::TryFromJsValue as _;
use wasm_bindgen::prelude::*;

js_types! {
    DecisionObject = "Decision<Same<T>>", Sample = "N", NextTime = "Same<N> | undefined",
    NextItem = "IteratorResult<Same<N>, undefined>",
}

/// One decision a failure: the state of one operation, without its loop.
#[wasm_bindgen]
pub struct Retry {
    pub(super) policy: SharedPolicy,
    pub(super) retry: core::Retry,
}

methods! { Retry;
    /// An operation that started at `now`. A fixed seed repeats its jitter.
    #[wasm_bindgen(constructor)]
    fn new(policy: SharedPolicy, seed: Seed, now: Timestamp) -> Retry { Retry { policy, retry: core::Retry::new(seed.0, now) } }

    /// Decides about an attempt that failed at `now`.
    fn onFailure(&mut self; now: Now, failure: Failure) -> DecisionObject {
        match self.retry.on_failure(&self.policy.read(), now.time, failure) {
            Decision::Sleep { until, cause } => {
                object! { kind: "sleep", until: now.like(until.as_nanos()), cause: cause.name() }
            }
            Decision::GiveUp { reason, retry_at } => {
                object! { kind: "give_up", reason: reason.name(), retryAt: now.like(retry_at.as_nanos()) }
            }
        }
    }

    #[wasm_bindgen(getter, skip_typescript)]
    fn policyWords(&self;) -> Vec<u32> { to_words(&self.policy.read()) }

    #[wasm_bindgen(getter, skip_typescript)]
    fn words(&self;) -> Vec<u32> { to_words(&self.retry) }
}

/// The whole loop as a machine. Every answer is the step that holds now: an input out of order, too early, after the end or
/// with another attempt's ticket changes nothing. Times that run backwards read as the latest one seen.
#[wasm_bindgen]
pub struct Call {
    pub(super) policy: SharedPolicy,
    pub(super) call: core::Call,
}

methods! { Call;
    /// A call that begins at `now`, and its first step.
    #[wasm_bindgen(unchecked_return_type = "[call: Call, step: Step<Same<T>>]")]
    fn begin(policy: SharedPolicy, seed: Seed, now: Now) -> Array {
        let (call, step) = core::Call::begin(&policy.read(), seed.0, now.time);
        Array::of2(&Call { policy, call }.into(), &now.step(step))
    }

    /// A call whose first attempt, ticket 1, already runs since `started`.
    fn underway(policy: SharedPolicy, seed: Seed, started: Timestamp) -> Call {
        Call { policy, call: core::Call::underway(seed.0, started) }
    }

    /// The attempt with this ticket succeeded at `now`.
    fn succeed(&mut self; ticket: Ticket, now: Now) -> StepObject { now.step(self.call.succeed(ticket, now.time)) }

    /// The attempt with this ticket failed at `now`.
    fn fail(&mut self; ticket: Ticket, now: Now, failure: Failure) -> StepObject {
        now.step(self.call.fail(&self.policy.read(), ticket, now.time, failure))
    }

    /// Nothing but time has passed.
    fn tick(&mut self; now: Now) -> StepObject { now.step(self.call.tick(&self.policy.read(), now.time)) }

    /// The caller wants no more of it.
    fn cancel(&mut self; now: Now) -> StepObject { now.step(self.call.cancel(now.time)) }

    #[wasm_bindgen(getter, skip_typescript)]
    fn policyWords(&self;) -> Vec<u32> { to_words(&self.policy.read()) }

    #[wasm_bindgen(getter, skip_typescript)]
    fn words(&self;) -> Vec<u32> { to_words(&self.call) }
}

/// A policy's delays in nanoseconds, as they would be slept if every attempt failed at once: for previews and other people's
/// loops. Bigints when the seed is one.
#[wasm_bindgen]
pub struct Schedule {
    schedule: core::Schedule,
    sample: Now,
}

methods! { Schedule;
    #[wasm_bindgen(constructor)]
    fn new(policy: Policy, seed: Argument<Sample>) -> Schedule {
        let sample = if seed.0.is_bigint() { Now::BIGINT } else { Now::NUMBER };
        Schedule { schedule: core::Schedule::new(&policy, Seed::from_js(&seed.0, "seed")?.0), sample }
    }

    /// The next delay after a failure of this kind if `u` from [0, 1) is drawn for it; undefined when there is none.
    fn nextAt(&mut self; u: f64, kind: Option<FailureKind>) -> NextTime {
        let span = self.schedule.next_at(kind.unwrap_or(FailureKind::Transient), u);
        span.map_or(JsValue::UNDEFINED, |span| self.sample.like(span.as_nanos()).into()).unchecked_into()
    }

    fn next(&mut self;) -> NextItem {
        let span = self.schedule.next();
        object! { done: span.is_none(), value: span.map(|span| JsValue::from(self.sample.like(span.as_nanos()))) }
    }

    /// The base delay, before jitter, after failure `n`, from 0; in nanoseconds, exactly where `n` is a bigint.
    fn baseAt(policy: Policy, n: Argument<SampleTime>) -> SameTime {
        let number = match n.0.as_f64() {
            Some(number) => Some(number as u32).filter(|_| is_u32(number)),
            None => u64::try_from_js_value_ref(&n.0).and_then(|number| number.try_into().ok()),
        };
        let number = number.ok_or_else(|| misuse(ErrorCode::TimeRange, "n", &n.0))?;
        Now::from_js(&n.0, "n")?.like(core::Schedule::base_at(&policy, number).as_nanos())
    }
}
