//! Periodic loops, and the backoffs and loop backoffs that they run by.

use super::arguments::{Argument, Draw, Limit, Now, SameTime, Seed, Time, Whole, fill};
use super::ffi::{Answer, FromJs, fail_together, from_words, functions, js_types, methods, object, property, to_words};
use holdoff_core as core;
use holdoff_core::{Policy, Reset, Span, Timer, Timestamp};
use wasm_bindgen::prelude::*;

js_types! {
    WaitBackoffOptions = "WaitBackoffOptions", KubernetesBackoff = "KubernetesBackoff",
    WaitBackoffState = "WaitBackoffState", AnyBackoff = "WaitBackoff | WaitBackoffOptions",
    LoopBackoffReset = "LoopBackoffReset", ExponentialOptions = "ExponentialOptions",
    PeriodicOptions = "PeriodicOptions", PeriodicStep = "PeriodicStep<Same<T>>", AnyPeriodicStep = "PeriodicStep",
    PeriodicState = "PeriodicState",
}

fn state(backoff: &core::WaitBackoff) -> WaitBackoffState {
    let (duration, cap) = (backoff.duration().as_nanos(), backoff.cap().as_nanos());
    object! { duration: duration, steps: backoff.steps(), cap: cap, draws: backoff.draws() }
}

/// A delay that is its own state: each step says one and moves on. Exact, in nanoseconds as bigints.
#[wasm_bindgen]
pub struct WaitBackoff(core::WaitBackoff);

methods! { WaitBackoff;
    #[wasm_bindgen(constructor)]
    fn new(options: Argument<WaitBackoffOptions>) -> WaitBackoff { WaitBackoff(backoff_of(&options)?) }

    /// From the fields of a Kubernetes `wait.Backoff`, where a jitter, cap or steps that is not positive means none.
    fn kubernetes(fields: Argument<KubernetesBackoff>) -> WaitBackoff {
        let (duration, factor, jitter) = (fields.get("duration")?, fields.get("factor")?, fields.get("jitter")?);
        let backoff = core::WaitBackoff::kubernetes(duration, factor, jitter, fields.get("steps")?, fields.get("cap")?);
        WaitBackoff(backoff.map_err(fail_together)?)
    }

    /// Kubernetes' `wait.Jitter`: the duration and up to `maxFactor` of it more; a factor that is not positive reads as 1.
    fn kubernetesJitter(duration: Span, maxFactor: f64) -> WaitBackoff {
        WaitBackoff(core::WaitBackoff::kubernetes_jitter(duration, maxFactor).map_err(fail_together)?)
    }

    /// The next delay, for a draw `u` from [0, 1).
    fn step(&mut self; u: Draw) -> u64 { self.0.step(u.0).as_nanos() }

    #[wasm_bindgen(getter)]
    fn state(&self;) -> WaitBackoffState { state(&self.0) }

    #[wasm_bindgen(getter, skip_typescript)]
    fn words(&self;) -> Vec<u32> { to_words(&self.0) }
}

/// A wait backoff, or the fields of one.
fn backoff_of<J>(fields: &Argument<J>) -> Answer<core::WaitBackoff> {
    if let Some(made) = from_words(&property(&fields.0, "words")?) {
        return Ok(made);
    }
    let (duration, cap) = (fields.get("duration")?, fields.or("cap", Limit(None))?.0.unwrap_or(Span::MAX));
    let (factor, jitter, steps) = (fields.or("factor", 0.0)?, fields.or("jitter", 0.0)?, fields.or("steps", 0)?);
    core::WaitBackoff::new(duration, factor, jitter, cap, steps).map_err(fail_together)
}

/// The delays between the runs of something that runs for ever.
#[wasm_bindgen]
pub struct LoopBackoff(core::LoopBackoff);

methods! { LoopBackoff;
    /// The delays of a wait backoff, made at `now`.
    #[wasm_bindgen(constructor)]
    fn new(backoff: Argument<AnyBackoff>, reset: Argument<Option<LoopBackoffReset>>, now: Option<Timestamp>) -> LoopBackoff {
        let reset = match (reset.get("afterQuiet")?, reset.get("every")?) {
            (Some(quiet), _) => Reset::AfterQuiet(quiet),
            (None, Some(every)) => Reset::Every(every),
            (None, None) => Reset::Never,
        };
        LoopBackoff(core::LoopBackoff::new(backoff_of(&backoff)?, reset, now.unwrap_or(Timestamp::ZERO)))
    }

    /// Kubernetes' `NewJitteredBackoffManager`.
    fn jittered(period: Span, jitter: f64) -> LoopBackoff {
        LoopBackoff(core::LoopBackoff::jittered(period, jitter).map_err(fail_together)?)
    }

    /// Kubernetes' `NewExponentialBackoffManager`.
    fn exponential(options: Argument<ExponentialOptions>, now: Option<Timestamp>) -> LoopBackoff {
        let (initial, max, reset) = (options.get("initial")?, options.get("max")?, options.get("reset")?);
        let (factor, jitter, now) = (options.get("factor")?, options.get("jitter")?, now.unwrap_or(Timestamp::ZERO));
        LoopBackoff(core::LoopBackoff::exponential(initial, max, reset, factor, jitter, now).map_err(fail_together)?)
    }

    /// Kubernetes' `Backoff.DelayWithReset`.
    fn withReset(backoff: Argument<AnyBackoff>, reset: Span, now: Option<Timestamp>) -> LoopBackoff {
        LoopBackoff(core::LoopBackoff::with_reset(backoff_of(&backoff)?, reset, now.unwrap_or(Timestamp::ZERO)))
    }

    /// The delay to wait at `now`, in nanoseconds, for a draw `u` from [0, 1).
    fn next(&mut self; now: Now, u: Draw) -> SameTime { now.like(self.0.next(now.time, u.0).as_nanos()) }

    /// Its backoff as it stands.
    #[wasm_bindgen(getter)]
    fn state(&self;) -> WaitBackoffState { state(self.0.backoff()) }
}

/// Something that runs again and again, as a machine: no timer, no clock.
#[wasm_bindgen]
pub struct Periodic(core::Periodic);

#[wasm_bindgen]
impl Periodic {
    /// Runs at the intervals of a loop backoff, made at `now`, from which a deadline counts.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(js_name = loopBackoff)] loop_backoff: &LoopBackoff,
        options: PeriodicOptions,
        seed: Whole,
        now: Time,
    ) -> Answer<Periodic> {
        let fields = Argument::<PeriodicOptions>::from_js(&options, "options")?;
        let mut options = core::PeriodicOptions::default();
        fill!(options, fields: sliding, immediate, first_is_sure, by_steps, last_at_deadline);
        let polled = property(&fields.0, "timer")? == "poll";
        let poll = core::PeriodicOptions::poll(loop_backoff.0.backoff(), false, false).timer;
        options.timer = if polled { poll } else { fields.or("timer", Timer::Variable)? };
        options.deadline = fields.or("deadline", Limit(None))?.0;
        let (seed, now) = (Seed::from_js(&seed, "seed")?, Timestamp::from_js(&now, "now")?);
        Ok(Periodic(core::Periodic::new(loop_backoff.0, options, seed.0, now)))
    }
}

methods! { Periodic;
    /// Nothing but time has passed: begins it, or starts the next run if it is due.
    fn tick(&mut self; now: Now) -> PeriodicStep { step(now, self.0.tick(now.time)) }

    /// The run with this number ended at `now`.
    fn finish(&mut self; run: f64, now: Now, answer: core::Answer) -> PeriodicStep {
        let run = if run.fract() == 0.0 { run as u64 } else { 0 };
        step(now, self.0.finish(run, now.time, answer))
    }

    /// The caller wants no more of it; a run in flight is the last one.
    fn cancel(&mut self;) -> AnyPeriodicStep { step(Now::NUMBER, self.0.cancel()).unchecked_into() }

    /// How many runs there were and how many intervals were asked for, the last of them in nanoseconds, and the deadline.
    #[wasm_bindgen(getter)]
    fn state(&self;) -> PeriodicState {
        let (interval, deadline) = (self.0.interval().as_nanos(), self.0.deadline().as_nanos());
        let (runs, intervals) = (self.0.runs() as f64, self.0.intervals() as f64);
        object! { runs: runs, intervals: intervals, interval: interval, deadline: deadline }
    }
}

fn step(now: Now, step: core::PeriodicStep) -> PeriodicStep {
    match step {
        core::PeriodicStep::Run { run } => object! { kind: "run", run: run as f64 },
        core::PeriodicStep::Sleep { until } => object! { kind: "sleep", until: now.like(until.as_nanos()) },
        core::PeriodicStep::Wait => object! { kind: "wait" },
        core::PeriodicStep::Stop(ended) => object! { kind: "stop", ended: ended.name() },
    }
}

functions! {
    /// A policy's jitter applied to a delay in nanoseconds, at most `max`, for the draw `u` from [0, 1).
    fn applyJitter(policy: Policy, delay: Now, max: u64, u: f64) -> SameTime {
        let (length, max) = (Span::from_nanos(delay.time.as_nanos()), Span::from_nanos(max));
        delay.like(policy.jitter().apply_capped(length, max, policy.cap(), u).as_nanos())
    }

    /// A policy's bounded jitter applied to a delay in nanoseconds for a drawn whole number, a bigint of 64 bits with a sign or a
    /// safe integer, in place of a uniform: `delay + (drawn mod bound)`, the remainder from 0 on. Exact where a bound has more
    /// bits than a double. Other kinds leave the delay as it is.
    fn applyDrawn(policy: Policy, delay: Now, drawn: i64) -> SameTime {
        delay.like(policy.jitter().apply_drawn(Span::from_nanos(delay.time.as_nanos()), drawn).as_nanos())
    }
}
