//! A retry inside a retry.

use super::arguments::{Argument, Now, SameTime, SampleTime, Seed, StepObject, Time, Whole};
use super::ffi::{Answer, FromJs, entries, fail_together, js_types, methods, misuse, object, property};
use holdoff_core as core;
use holdoff_core::{ErrorCode, Failure, Policy, StopReason, Ticket, Timestamp};
use js_sys::Array;
use wasm_bindgen::prelude::*;

js_types! {
    LayersOptions = "LayersOptions", LayeredState = "LayeredState",
}

/// The policies of both levels.
#[wasm_bindgen]
pub struct Layers(core::Layers);

methods! { Layers;
    #[wasm_bindgen(constructor)]
    fn new(outer: Policy, inner: Policy, options: Argument<Option<LayersOptions>>) -> Layers {
        let given = property(&options.0, "attempts")?;
        let attempts = Option::from_js(&given, "").map_err(|_| misuse(ErrorCode::AttemptsRange, "attempts", &given))?;
        let mut layers = core::Layers::new(outer, inner, attempts).map_err(fail_together)?;
        for (word, goes_on) in entries(&property(&options.0, "goOnAfter")?)? {
            let reason = StopReason::from_name(&word);
            let reason = reason.ok_or_else(|| misuse(ErrorCode::WrongType, &format!("goOnAfter.{word}"), &goes_on))?;
            layers = layers.go_on_after(reason, goes_on.is_truthy());
        }
        Layers(layers)
    }

    /// The most attempts there can be over both levels, or Infinity.
    #[wasm_bindgen(getter)]
    fn attempts(&self;) -> f64 { self.0.attempts().map_or(f64::INFINITY, f64::from) }
}

/// A call inside a call: driven as a {@link Call} is.
#[wasm_bindgen]
pub struct Layered {
    layers: core::Layers,
    call: core::Layered,
}

#[wasm_bindgen]
impl Layered {
    /// Begins at `now` with the first attempt of both levels, and its first step.
    #[wasm_bindgen(unchecked_return_type = "[layered: Layered, step: Step<Same<T>>]")]
    pub fn begin(layers: &Layers, seed: Whole, now: SampleTime) -> Answer<Array> {
        let now = Now::from_js(&now, "now")?;
        let (call, first) = core::Layered::begin(&layers.0, Seed::from_js(&seed, "seed")?.0, now.time);
        Ok(Array::of2(&Layered { layers: layers.0, call }.into(), &now.step(first)))
    }

    /// One whose first attempt, ticket 1, already runs since `started`.
    pub fn underway(layers: &Layers, seed: Whole, started: Time) -> Answer<Layered> {
        let started = Timestamp::from_js(&started, "started")?;
        Ok(Layered {
            layers: layers.0,
            call: core::Layered::underway(&layers.0, Seed::from_js(&seed, "seed")?.0, started),
        })
    }
}

methods! { Layered;
    /// The attempt with this ticket succeeded at `now`.
    fn succeed(&mut self; ticket: Ticket, now: Now) -> StepObject { now.step(self.call.succeed(ticket, now.time)) }

    /// The attempt with this ticket failed at `now`. `outward` is what the outer level is told if the inner one gives up.
    fn fail(&mut self; ticket: Ticket, now: Now, failure: Failure, outward: Option<Failure>) -> StepObject {
        now.step(self.call.fail_as(&self.layers, ticket, now.time, failure, outward))
    }

    /// Why the inner level would give up if that attempt failed like that; undefined when it would not.
    #[wasm_bindgen(unchecked_return_type = "StopReason | undefined")]
    fn wouldGiveUp(&self; ticket: Ticket, now: Timestamp, failure: Failure) -> Option<String> {
        self.call.would_give_up(&self.layers, ticket, now, failure).map(|reason| reason.name().into())
    }

    /// Nothing but time has passed.
    fn tick(&mut self; now: Now) -> StepObject { now.step(self.call.tick(&self.layers, now.time)) }

    /// The caller wants no more of it.
    fn cancel(&mut self; now: Now) -> StepObject { now.step(self.call.cancel(now.time)) }

    /// How long it still sleeps at `now`, in nanoseconds; 0 when it does not sleep.
    fn remaining(&self; now: Now) -> SameTime { now.like(self.call.remaining(now.time).as_nanos()) }

    /// The attempts so far, and once it gave up the level that did and why the inner one last did.
    #[wasm_bindgen(getter)]
    fn state(&self;) -> LayeredState {
        object! {
            attempt: self.call.attempt(),
            outerAttempt: self.call.outer_attempt(),
            innerAttempt: self.call.inner_attempt(),
            stoppedBy: self.call.stopped_by().map(core::Level::name),
            innerReason: self.call.inner_reason().map(StopReason::name),
        }
    }
}
