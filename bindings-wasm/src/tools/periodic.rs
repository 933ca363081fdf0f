//! Periodic loops, and the backoffs and loop backoffs that they run by.

use super::ffi::{
    Answer, AnyTime, Draw, Fields, Length, PolicyObject, SameTime, Time, Whole, draw, exact, fail, from_words, length,
    like, misuse, policy_of, seed_of, time_of, to_words,
};
use super::keyed::signed;
use holdoff_core as core;
use holdoff_core::{Error, ErrorCode, Reset, Span, Timer};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "WaitBackoffOptions")]
    pub type WaitBackoffOptions;
    #[wasm_bindgen(typescript_type = "KubernetesBackoff")]
    pub type KubernetesBackoff;
    #[wasm_bindgen(typescript_type = "WaitBackoffState")]
    pub type WaitBackoffState;
    #[wasm_bindgen(typescript_type = "WaitBackoff | WaitBackoffOptions")]
    pub type AnyBackoff;
    #[wasm_bindgen(typescript_type = "LoopBackoffReset")]
    pub type LoopBackoffReset;
    #[wasm_bindgen(typescript_type = "ExponentialOptions")]
    pub type ExponentialOptions;
    #[wasm_bindgen(typescript_type = "PeriodicOptions")]
    pub type PeriodicOptions;
    #[wasm_bindgen(typescript_type = "PeriodicStep<Same<T>>")]
    pub type PeriodicStep;
    #[wasm_bindgen(typescript_type = "PeriodicState")]
    pub type PeriodicState;
    #[wasm_bindgen(typescript_type = "Answer")]
    pub type AnswerWord;

    #[wasm_bindgen(js_name = makeWaitBackoffState)]
    fn make_state(duration: u64, steps: u64, cap: u64, draws: bool) -> WaitBackoffState;
    #[wasm_bindgen(js_name = makePeriodicStep)]
    fn make_step(kind: &str, run: f64, until: &JsValue, ended: &str) -> PeriodicStep;
    #[wasm_bindgen(js_name = makePeriodicState)]
    fn make_periodic_state(runs: f64, intervals: f64, interval: u64, deadline: u64) -> PeriodicState;
}

fn made<T>(made: Result<T, Error>) -> Answer<T> {
    made.map_err(|error| fail(&error, "", &JsValue::UNDEFINED))
}

fn state(backoff: &core::WaitBackoff) -> WaitBackoffState {
    make_state(backoff.duration().as_nanos(), backoff.steps(), backoff.cap().as_nanos(), backoff.draws())
}

/// A delay that is its own state: each step says one and moves on. Exact, in nanoseconds as bigints.
#[wasm_bindgen]
pub struct WaitBackoff(core::WaitBackoff);

#[wasm_bindgen]
impl WaitBackoff {
    #[wasm_bindgen(constructor)]
    pub fn new(options: &WaitBackoffOptions) -> Answer<WaitBackoff> {
        let fields = Fields::at(options);
        let (cap, duration) = (fields.limit("cap", None)?.unwrap_or(Span::MAX), fields.required("duration")?);
        let (factor, jitter) = (fields.real("factor", 0.0)?, fields.real("jitter", 0.0)?);
        let steps = fields.exact("steps")?.unwrap_or(0);
        made(core::WaitBackoff::new(duration, factor, jitter, cap, steps)).map(WaitBackoff)
    }

    /// From the fields of a Kubernetes `wait.Backoff`, where a jitter, cap or steps that is not positive means none.
    pub fn kubernetes(fields: &KubernetesBackoff) -> Answer<WaitBackoff> {
        let fields = Fields::at(fields);
        let whole = |name| {
            let value = fields.get(name)?.unwrap_or_default();
            signed(&value).ok_or_else(|| misuse(ErrorCode::WrongType, name, &value))
        };
        let (factor, jitter) = (fields.real("factor", f64::NAN)?, fields.real("jitter", f64::NAN)?);
        let backoff =
            core::WaitBackoff::kubernetes(fields.required("duration")?, factor, jitter, whole("steps")?, whole("cap")?);
        made(backoff).map(WaitBackoff)
    }

    /// Kubernetes' `wait.Jitter`: the duration and up to `maxFactor` of it more; a factor that is not positive reads as 1.
    #[wasm_bindgen(js_name = kubernetesJitter)]
    pub fn kubernetes_jitter(duration: &Length, #[wasm_bindgen(js_name = maxFactor)] most: f64) -> Answer<WaitBackoff> {
        made(core::WaitBackoff::kubernetes_jitter(length(duration, "duration")?, most)).map(WaitBackoff)
    }

    /// The next delay, for a draw `u` from [0, 1).
    pub fn step(&mut self, u: Option<Draw>) -> u64 {
        self.0.step(draw(u)).as_nanos()
    }

    #[wasm_bindgen(getter)]
    pub fn state(&self) -> WaitBackoffState {
        state(&self.0)
    }

    #[wasm_bindgen(getter, skip_typescript)]
    pub fn words(&self) -> Vec<u32> {
        to_words(&self.0)
    }
}

/// A wait backoff, or the fields of one.
fn backoff_of(value: &AnyBackoff) -> Answer<core::WaitBackoff> {
    let words = Fields::at(value).get("words")?.and_then(|words| words.dyn_into::<js_sys::Uint32Array>().ok());
    match words.and_then(|words| from_words(&words.to_vec())) {
        Some(backoff) => Ok(backoff),
        None => WaitBackoff::new(value.unchecked_ref()).map(|backoff| backoff.0),
    }
}

/// The delays between the runs of something that runs for ever.
#[wasm_bindgen]
pub struct LoopBackoff(core::LoopBackoff);

#[wasm_bindgen]
impl LoopBackoff {
    /// The delays of a wait backoff, made at `now`.
    #[wasm_bindgen(constructor)]
    pub fn new(backoff: &AnyBackoff, reset: Option<LoopBackoffReset>, now: Option<AnyTime>) -> Answer<LoopBackoff> {
        let (time, fields) = (time_of(&now.map_or(0.into(), Into::into))?, Fields::of(&reset));
        let reset = match (fields.length("afterQuiet")?, fields.length("every")?) {
            (Some(quiet), _) => Reset::AfterQuiet(quiet),
            (None, Some(every)) => Reset::Every(every),
            (None, None) => Reset::Never,
        };
        Ok(LoopBackoff(core::LoopBackoff::new(backoff_of(backoff)?, reset, time)))
    }

    /// Kubernetes' `NewJitteredBackoffManager`.
    pub fn jittered(period: &Length, jitter: f64) -> Answer<LoopBackoff> {
        made(core::LoopBackoff::jittered(length(period, "period")?, jitter)).map(LoopBackoff)
    }

    /// Kubernetes' `NewExponentialBackoffManager`.
    pub fn exponential(options: &ExponentialOptions, now: Option<AnyTime>) -> Answer<LoopBackoff> {
        let (fields, time) = (Fields::at(options), time_of(&now.map_or(0.into(), Into::into))?);
        let (initial, max, reset) = (fields.required("initial")?, fields.required("max")?, fields.required("reset")?);
        let (factor, jitter) = (fields.real("factor", f64::NAN)?, fields.real("jitter", f64::NAN)?);
        made(core::LoopBackoff::exponential(initial, max, reset, factor, jitter, time)).map(LoopBackoff)
    }

    /// Kubernetes' `Backoff.DelayWithReset`.
    #[wasm_bindgen(js_name = withReset)]
    pub fn with_reset(backoff: &AnyBackoff, reset: &Length, now: Option<AnyTime>) -> Answer<LoopBackoff> {
        let (reset, time) = (length(reset, "reset")?, time_of(&now.map_or(0.into(), Into::into))?);
        Ok(LoopBackoff(core::LoopBackoff::with_reset(backoff_of(backoff)?, reset, time)))
    }

    /// The delay to wait at `now`, in nanoseconds, for a draw `u` from [0, 1).
    pub fn next(&mut self, now: &Time, u: Option<Draw>) -> Answer<SameTime> {
        Ok(like(now, self.0.next(time_of(now)?, draw(u)).as_nanos()))
    }

    /// Its backoff as it stands.
    #[wasm_bindgen(getter)]
    pub fn state(&self) -> WaitBackoffState {
        state(self.0.backoff())
    }
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
        options: &PeriodicOptions,
        seed: &Whole,
        now: &AnyTime,
    ) -> Answer<Periodic> {
        let (fields, seed) = (Fields::at(options), seed_of(seed)?);
        let poll = core::PeriodicOptions::poll(loop_backoff.0.backoff(), false, false).timer;
        let timer = |word: &str| if word == "poll" { Some(poll) } else { Timer::from_name(word) };
        let options = core::PeriodicOptions {
            timer: fields.word("timer", timer, Timer::Variable)?,
            sliding: fields.flag("sliding", true)?,
            immediate: fields.flag("immediate", true)?,
            first_is_sure: fields.flag("firstIsSure", false)?,
            by_steps: fields.flag("bySteps", false)?,
            last_at_deadline: fields.flag("lastAtDeadline", false)?,
            deadline: fields.limit("deadline", None)?,
        };
        Ok(Periodic(core::Periodic::new(loop_backoff.0, options, seed, time_of(now)?)))
    }

    /// Nothing but time has passed: begins it, or starts the next run if it is due.
    pub fn tick(&mut self, now: &Time) -> Answer<PeriodicStep> {
        let time = time_of(now)?;
        Ok(step(now, self.0.tick(time)))
    }

    /// The run with this number ended at `now`.
    pub fn finish(&mut self, run: f64, now: &Time, answer: &AnswerWord) -> Answer<PeriodicStep> {
        let word = answer.as_string().and_then(|word| core::Answer::from_name(&word));
        let word = word.ok_or_else(|| misuse(ErrorCode::WrongType, "answer", answer))?;
        let (run, time) = (if run.fract() == 0.0 { run as u64 } else { 0 }, time_of(now)?);
        Ok(step(now, self.0.finish(run, time, word)))
    }

    /// The caller wants no more of it; a run in flight is the last one.
    #[wasm_bindgen(unchecked_return_type = "PeriodicStep")]
    pub fn cancel(&mut self) -> PeriodicStep {
        step(&0.into(), self.0.cancel())
    }

    /// How many runs there were and how many intervals were asked for, the last of them in nanoseconds, and the deadline.
    #[wasm_bindgen(getter)]
    pub fn state(&self) -> PeriodicState {
        let (interval, deadline) = (self.0.interval().as_nanos(), self.0.deadline().as_nanos());
        make_periodic_state(self.0.runs() as f64, self.0.intervals() as f64, interval, deadline)
    }
}

fn step(sample: &JsValue, step: core::PeriodicStep) -> PeriodicStep {
    let none = &JsValue::UNDEFINED;
    match step {
        core::PeriodicStep::Run { run } => make_step("run", run as f64, none, ""),
        core::PeriodicStep::Sleep { until } => make_step("sleep", 0.0, &like(sample, until.as_nanos()), ""),
        core::PeriodicStep::Wait => make_step("wait", 0.0, none, ""),
        core::PeriodicStep::Stop(ended) => make_step("stop", 0.0, none, ended.name()),
    }
}

/// A policy's jitter applied to a delay in nanoseconds, at most `max`, for the draw `u` from [0, 1).
#[wasm_bindgen(js_name = applyJitter)]
pub fn apply_jitter(policy: &PolicyObject, delay: &Time, max: &AnyTime, u: f64) -> Answer<SameTime> {
    let policy = policy_of(policy)?;
    let (length, max) = (exact(delay, "delay")?, exact(max, "max")?);
    let jittered = policy.jitter().apply_capped(Span::from_nanos(length), Span::from_nanos(max), policy.cap(), u);
    Ok(like(delay, jittered.as_nanos()))
}

/// A policy's bounded jitter applied to a delay in nanoseconds for a drawn whole number, a bigint of 64 bits with a sign or a
/// safe integer, in place of a uniform: `delay + (drawn mod bound)`, the remainder from 0 on. Exact where a bound has more
/// bits than a double. Other kinds leave the delay as it is.
#[wasm_bindgen(js_name = applyDrawn)]
pub fn apply_drawn(policy: &PolicyObject, delay: &Time, drawn: &Whole) -> Answer<SameTime> {
    let (policy, length) = (policy_of(policy)?, exact(delay, "delay")?);
    let number = signed(drawn).ok_or_else(|| misuse(ErrorCode::WrongType, "drawn", drawn))?;
    Ok(like(delay, policy.jitter().apply_drawn(Span::from_nanos(length), number).as_nanos()))
}
