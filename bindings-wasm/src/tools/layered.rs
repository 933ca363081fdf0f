//! A retry inside a retry.

use super::ffi::{
    Answer, AnyTime, FailureObject, Fields, PolicyObject, SameTime, StepObject, Time, Whole, entries, fail, failure_of,
    like, misuse, policy_of, seed_of, step, ticket_of, time_of,
};
use holdoff_core as core;
use holdoff_core::{ErrorCode, StopReason};
use js_sys::Array;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "LayersOptions")]
    pub type LayersOptions;
    #[wasm_bindgen(typescript_type = "LayeredState")]
    pub type LayeredState;

    #[wasm_bindgen(js_name = makeLayeredState)]
    fn make_state(
        attempt: u32,
        outer: u32,
        inner: u32,
        stopped_by: Option<&str>,
        inner_reason: Option<&str>,
    ) -> LayeredState;
}

/// The policies of both levels.
#[wasm_bindgen]
pub struct Layers(core::Layers);

#[wasm_bindgen]
impl Layers {
    #[wasm_bindgen(constructor)]
    pub fn new(outer: &PolicyObject, inner: &PolicyObject, options: Option<LayersOptions>) -> Answer<Layers> {
        let fields = Fields::of(&options);
        let attempts = fields.integer("attempts", ErrorCode::AttemptsRange)?;
        let made = core::Layers::new(policy_of(outer)?, policy_of(inner)?, attempts);
        let mut layers = made.map_err(|error| fail(&error, "", &JsValue::UNDEFINED))?;
        let reasons = fields.get("goOnAfter")?.map(|reasons| entries(&reasons)).transpose()?;
        for (word, goes_on) in reasons.into_iter().flatten() {
            let reason = StopReason::from_name(&word);
            let reason = reason.ok_or_else(|| misuse(ErrorCode::WrongType, &format!("goOnAfter.{word}"), &goes_on))?;
            layers = layers.go_on_after(reason, goes_on.is_truthy());
        }
        Ok(Layers(layers))
    }

    /// The most attempts there can be over both levels, or Infinity.
    #[wasm_bindgen(getter)]
    pub fn attempts(&self) -> f64 {
        self.0.attempts().map_or(f64::INFINITY, f64::from)
    }
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
    pub fn begin(layers: &Layers, seed: &Whole, now: &Time) -> Answer<Array> {
        let (call, first) = core::Layered::begin(&layers.0, seed_of(seed)?, time_of(now)?);
        Ok(Array::of2(&Layered { layers: layers.0, call }.into(), &step(now, first)))
    }

    /// One whose first attempt, ticket 1, already runs since `started`.
    pub fn underway(layers: &Layers, seed: &Whole, started: &AnyTime) -> Answer<Layered> {
        Ok(Layered { layers: layers.0, call: core::Layered::underway(&layers.0, seed_of(seed)?, time_of(started)?) })
    }

    /// The attempt with this ticket succeeded at `now`.
    pub fn succeed(&mut self, ticket: &Whole, now: &Time) -> Answer<StepObject> {
        Ok(step(now, self.call.succeed(ticket_of(ticket)?, time_of(now)?)))
    }

    /// The attempt with this ticket failed at `now`. `outward` is what the outer level is told if the inner one gives up.
    pub fn fail(
        &mut self,
        ticket: &Whole,
        now: &Time,
        failure: &FailureObject,
        outward: Option<FailureObject>,
    ) -> Answer<StepObject> {
        let (failure, outward) = (failure_of(failure)?, outward.map(|outward| failure_of(&outward)).transpose()?);
        Ok(step(now, self.call.fail_as(&self.layers, ticket_of(ticket)?, time_of(now)?, failure, outward)))
    }

    /// Why the inner level would give up if that attempt failed like that; undefined when it would not.
    #[wasm_bindgen(js_name = wouldGiveUp, unchecked_return_type = "StopReason | undefined")]
    pub fn would_give_up(&self, ticket: &Whole, now: &AnyTime, failure: &FailureObject) -> Answer<Option<String>> {
        let reason = self.call.would_give_up(&self.layers, ticket_of(ticket)?, time_of(now)?, failure_of(failure)?);
        Ok(reason.map(|reason| reason.name().into()))
    }

    /// Nothing but time has passed.
    pub fn tick(&mut self, now: &Time) -> Answer<StepObject> {
        Ok(step(now, self.call.tick(&self.layers, time_of(now)?)))
    }

    /// The caller wants no more of it.
    pub fn cancel(&mut self, now: &Time) -> Answer<StepObject> {
        Ok(step(now, self.call.cancel(time_of(now)?)))
    }

    /// How long it still sleeps at `now`, in nanoseconds; 0 when it does not sleep.
    pub fn remaining(&self, now: &Time) -> Answer<SameTime> {
        Ok(like(now, self.call.remaining(time_of(now)?).as_nanos()))
    }

    /// The attempts so far, and once it gave up the level that did and why the inner one last did.
    #[wasm_bindgen(getter)]
    pub fn state(&self) -> LayeredState {
        let Self { call, .. } = self;
        let (level, reason) = (call.stopped_by().map(core::Level::name), call.inner_reason().map(StopReason::name));
        make_state(call.attempt(), call.outer_attempt(), call.inner_attempt(), level, reason)
    }
}
