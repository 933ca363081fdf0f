//! Calls that say what to write down, so that another process can go on with them, and the way back from a log.

use super::event::{EventObject, Noted, Text, differing, events_of, is_bytes, object};
use super::ffi::{
    Answer, AnyTime, FailureObject, Fields, PolicyObject, StepObject, Time, Whole, failure_of, misuse, policy_of,
    seed_of, step, text, ticket_of, time_of, to_words,
};
use super::saved::{CallObject, make_call};
use super::shared::{SharedGuards, check_guards, under};
use holdoff_core as core;
use holdoff_core::{ErrorCode, Guards, Policy, Recorded, Replay, ReplayMode, Timestamp};
use js_sys::Array;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "RecorderOptions")]
    pub type RecorderOptions;
    #[wasm_bindgen(typescript_type = "ReplayOptions")]
    pub type ReplayOptions;
    #[wasm_bindgen(typescript_type = "Recorded<Same<T>>")]
    pub type RecordedObject;
    #[wasm_bindgen(typescript_type = "Log")]
    pub type Log;

    #[wasm_bindgen(js_name = makeRecorded)]
    fn make_recorded(step: StepObject, events: Vec<EventObject>) -> RecordedObject;
    /// The items of an iterable, which is the program's.
    #[wasm_bindgen(catch, js_name = itemsOf)]
    fn items_of(iterable: &JsValue) -> Answer<Array>;
}

/// The whole loop as a machine that says what to write down: as `Call`, and under guards as `GuardedCall`, but it does not hedge.
/// Write the events of a transition before you do what its step says: a crash between the two loses nothing. `replay` makes the
/// same recorder from the log, which goes on with {@link Recorder.resume}. Logs are read by other processes, so let times be
/// nanoseconds since 1970, as bigints: `BigInt(Date.now()) * 1_000_000n`.
#[wasm_bindgen]
pub struct Recorder {
    policy: Policy,
    guards: Option<SharedGuards>,
    task: Option<String>,
    recorder: core::Recorder,
}

#[wasm_bindgen]
impl Recorder {
    /// A call that begins at `now`, its first step and its first events.
    #[wasm_bindgen(unchecked_return_type = "[recorder: Recorder, recorded: Recorded<Same<T>>]")]
    pub fn begin(policy: &PolicyObject, seed: &Whole, now: &Time, options: Option<RecorderOptions>) -> Answer<Array> {
        let (policy, (guards, task)) = (policy_of(policy)?, options_of(&Fields::of(&options))?);
        let (seed, time) = (seed_of(seed)?, time_of(now)?);
        let (recorder, first) = under(guards.as_ref(), |guards| core::Recorder::begin(&policy, guards, seed, time))?;
        let recorder = Recorder { policy, guards, task, recorder };
        let first = recorder.shown(now, &first, None);
        Ok(Array::of2(&recorder.into(), &first))
    }

    /// The attempt with this ticket succeeded at `now`.
    pub fn succeed(&mut self, ticket: &Whole, now: &Time) -> Answer<RecordedObject> {
        let ticket = ticket_of(ticket)?;
        self.input(now, None, |call, _, guards, now| call.succeed(guards, ticket, now))
    }

    /// The attempt with this ticket failed at `now`; `reason` is the text of the failure in its events.
    pub fn fail(
        &mut self,
        ticket: &Whole,
        now: &Time,
        failure: &FailureObject,
        reason: Option<Text>,
    ) -> Answer<RecordedObject> {
        let (ticket, failure) = (ticket_of(ticket)?, failure_of(failure)?);
        self.input(now, reason, |call, policy, guards, now| call.fail(policy, guards, ticket, now, failure))
    }

    /// The attempt with this ticket ended at `now` by a fault of the program's own; in the log that is a permanent failure.
    pub fn abandon(&mut self, ticket: &Whole, now: &Time, reason: Option<Text>) -> Answer<RecordedObject> {
        let ticket = ticket_of(ticket)?;
        self.input(now, reason, |call, _, guards, now| call.abandon(guards, ticket, now))
    }

    /// Nothing but time has passed, or a place in the bulkhead has come free.
    pub fn tick(&mut self, now: &Time) -> Answer<RecordedObject> {
        self.input(now, None, |call, policy, guards, now| call.tick(policy, guards, now))
    }

    /// The caller wants no more of it.
    pub fn cancel(&mut self, now: &Time) -> Answer<RecordedObject> {
        self.input(now, None, |call, _, guards, now| call.cancel(guards, now))
    }

    /// Goes on at `now` with a call that was made from its log. Asleep, it sleeps on. An attempt in flight was interrupted and
    /// runs again, under its own number, but only `reruns` times (3 unless given); then it has failed, as a timeout.
    pub fn resume(&mut self, now: &Time, reruns: Option<AnyTime>) -> Answer<RecordedObject> {
        let given = reruns.map_or(3.into(), JsValue::from);
        let reruns = given.as_f64().filter(|count| count.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(count));
        let reruns = reruns.ok_or_else(|| misuse(ErrorCode::WrongType, "reruns", &given))? as u32;
        self.input(now, None, |call, policy, guards, now| call.resume(policy, guards, now, reruns))
    }

    /// The step that holds.
    #[wasm_bindgen(getter, unchecked_return_type = "Step<bigint>")]
    pub fn step(&self) -> StepObject {
        step(&0_u64.into(), self.recorder.step())
    }

    /// The call without its hold on guards, for `save`.
    #[wasm_bindgen(getter)]
    pub fn call(&self) -> CallObject {
        make_call(to_words(&self.policy), to_words(&self.recorder.call()))
    }

    /// The place in the log of its latest event.
    #[wasm_bindgen(getter)]
    pub fn sequence(&self) -> f64 {
        self.recorder.sequence() as f64
    }

    /// The attempt in flight or else the last one that ran, 0 for none.
    #[wasm_bindgen(getter)]
    pub fn attempt(&self) -> u32 {
        self.recorder.attempt()
    }

    /// When it began, in nanoseconds.
    #[wasm_bindgen(getter)]
    pub fn started(&self) -> u64 {
        self.recorder.started().as_nanos()
    }

    /// How often the attempt in flight was run again.
    #[wasm_bindgen(getter)]
    pub fn reruns(&self) -> u32 {
        self.recorder.reruns()
    }

    /// True if it began with guards.
    #[wasm_bindgen(getter, js_name = isGuarded)]
    pub fn is_guarded(&self) -> bool {
        self.recorder.is_guarded()
    }
}

impl Recorder {
    fn input(
        &mut self,
        now: &Time,
        reason: Option<Text>,
        input: impl FnOnce(&mut core::Recorder, &Policy, &mut Guards<'_>, Timestamp) -> Recorded,
    ) -> Answer<RecordedObject> {
        let (time, reason) = (time_of(now)?, text(reason.as_ref(), "reason")?);
        let Self { policy, guards, recorder, .. } = self;
        let recorded = under(guards.as_ref(), |guards| input(recorder, policy, guards, time))?;
        Ok(self.shown(now, &recorded, reason.as_deref()))
    }

    fn shown(&self, now: &Time, recorded: &Recorded, reason: Option<&str>) -> RecordedObject {
        let events = recorded.events.iter().map(|event| object(event, self.task.as_deref(), reason));
        make_recorded(step(now, recorded.step), events.collect())
    }
}

fn options_of(fields: &Fields<'_>) -> Answer<(Option<SharedGuards>, Option<String>)> {
    let guards = fields.get("guards")?.map(|guards| check_guards(&guards)).transpose()?;
    Ok((guards, text(fields.get("task")?.as_ref(), "task")?))
}

/// The recorder that wrote a log, which goes on with {@link Recorder.resume}. Throws a {@link ReplayError} about the first event
/// that is damaged, missing, impossible, or not the policy's decision.
#[wasm_bindgen]
pub fn replay(policy: &PolicyObject, log: &Log, options: Option<ReplayOptions>) -> Answer<Recorder> {
    let (policy, fields) = (policy_of(policy)?, Fields::of(&options));
    let (guards, task) = options_of(&fields)?;
    let mut replay = Replay::new(fields.word("mode", ReplayMode::from_name, ReplayMode::Follow)?);
    if fields.flag("anyPolicy", false)? {
        replay = replay.any_policy();
    }
    if !log.is_object() {
        return Err(misuse(ErrorCode::WrongType, "log", log));
    }
    let mut first = None;
    let mut apply = |noted: Noted| {
        replay.apply(&policy, &noted.event()).map_err(|error| differing(&error, &noted))?;
        first = first.take().or(noted.task);
        Ok(())
    };
    if is_bytes(log) {
        events_of(log, &mut apply)?;
    } else {
        let items = items_of(log)?;
        items.iter().zip(1..).try_for_each(|(event, place)| apply(Noted::read(&event, place)?))?;
    }
    let recorder = replay.finish().map_err(|error| differing(&error, &Noted::default()))?;
    Ok(Recorder { policy, guards, task: task.or(first), recorder })
}

/// How many attempts a policy makes; Infinity for one without end.
#[wasm_bindgen(js_name = attemptsOf)]
pub fn attempts_of(policy: &PolicyObject) -> Answer<f64> {
    Ok(policy_of(policy)?.attempts().map_or(f64::INFINITY, f64::from))
}
