//! Calls that say what to write down, so that another process can go on with them, and the way back from a log.

use super::arguments::{Argument, Now, Seed};
use super::event::{Noted, differing, events_of, is_bytes, object_of};
use super::ffi::{Answer, FromJs, SharedPolicy, functions, js_types, methods, misuse, object};
use super::machine::Call;
use super::shared::{SharedGuards, under};
use holdoff_core as core;
use holdoff_core::{ErrorCode, Failure, Guards, Policy, Recorded, Replay, ReplayMode, Ticket, Timestamp};
use js_sys::{Array, try_iter};
use wasm_bindgen::prelude::*;

js_types! {
    RecorderOptions = "RecorderOptions", ReplayOptions = "ReplayOptions", RecordedObject = "Recorded<Same<T>>",
    AnyStep = "Step<bigint>", Log = "Log",
}

/// The whole loop as a machine that says what to write down: as `Call`, and under guards as `GuardedCall`, but it does not hedge.
/// Write the events of a transition before you do what its step says: a crash between the two loses nothing. `replay` makes the
/// same recorder from the log, which goes on with {@link Recorder.resume}. Logs are read by other processes, so let times be
/// nanoseconds since 1970, as bigints: `BigInt(Date.now()) * 1_000_000n`.
#[wasm_bindgen]
pub struct Recorder {
    policy: SharedPolicy,
    guards: Option<SharedGuards>,
    task: Option<String>,
    recorder: core::Recorder,
}

methods! { Recorder;
    /// A call that begins at `now`, its first step and its first events.
    #[wasm_bindgen(unchecked_return_type = "[recorder: Recorder, recorded: Recorded<Same<T>>]")]
    fn begin(policy: SharedPolicy, seed: Seed, now: Now, options: Argument<Option<RecorderOptions>>) -> Array {
        let (guards, task) = options_of(&options)?;
        let (recorder, first) =
            under(guards.as_ref(), |guards| core::Recorder::begin(&policy.read(), guards, seed.0, now.time))?;
        let recorder = Recorder { policy, guards, task, recorder };
        let first = recorder.shown(now, &first, None);
        Array::of2(&recorder.into(), &first)
    }

    /// The attempt with this ticket succeeded at `now`.
    fn succeed(&mut self; ticket: Ticket, now: Now) -> RecordedObject {
        self.input(now, None, &mut |call, _, guards, now| call.succeed(guards, ticket, now))?
    }

    /// The attempt with this ticket failed at `now`; `reason` is the text of the failure in its events.
    fn fail(&mut self; ticket: Ticket, now: Now, failure: Failure, reason: Option<String>) -> RecordedObject {
        self.input(now, reason, &mut |call, policy, guards, now| call.fail(policy, guards, ticket, now, failure))?
    }

    /// The attempt with this ticket ended at `now` by a fault of the program's own; in the log that is a permanent failure.
    fn abandon(&mut self; ticket: Ticket, now: Now, reason: Option<String>) -> RecordedObject {
        self.input(now, reason, &mut |call, _, guards, now| call.abandon(guards, ticket, now))?
    }

    /// Nothing but time has passed, or a place in the bulkhead has come free.
    fn tick(&mut self; now: Now) -> RecordedObject {
        self.input(now, None, &mut |call, policy, guards, now| call.tick(policy, guards, now))?
    }

    /// The caller wants no more of it.
    fn cancel(&mut self; now: Now) -> RecordedObject {
        self.input(now, None, &mut |call, _, guards, now| call.cancel(guards, now))?
    }

    /// Goes on at `now` with a call that was made from its log. Asleep, it sleeps on. An attempt in flight was interrupted and
    /// runs again, under its own number, but only `reruns` times (3 unless given); then it has failed, as a timeout.
    fn resume(&mut self; now: Now, reruns: Option<u32>) -> RecordedObject {
        self.input(now, None, &mut |call, policy, guards, now| call.resume(policy, guards, now, reruns.unwrap_or(3)))?
    }

    /// The step that holds.
    #[wasm_bindgen(getter)]
    fn step(&self;) -> AnyStep { Now::BIGINT.step(self.recorder.step()).unchecked_into() }

    /// The call without its hold on guards, for `save`.
    #[wasm_bindgen(getter)]
    fn call(&self;) -> Call { Call { policy: self.policy.clone(), call: self.recorder.call() } }

    /// The place in the log of its latest event.
    #[wasm_bindgen(getter)]
    fn sequence(&self;) -> f64 { self.recorder.sequence() as f64 }

    /// The attempt in flight or else the last one that ran, 0 for none.
    #[wasm_bindgen(getter)]
    fn attempt(&self;) -> u32 { self.recorder.attempt() }

    /// When it began, in nanoseconds.
    #[wasm_bindgen(getter)]
    fn started(&self;) -> u64 { self.recorder.started().as_nanos() }

    /// How often the attempt in flight was run again.
    #[wasm_bindgen(getter)]
    fn reruns(&self;) -> u32 { self.recorder.reruns() }

    /// True if it began with guards.
    #[wasm_bindgen(getter)]
    fn isGuarded(&self;) -> bool { self.recorder.is_guarded() }
}

impl Recorder {
    fn input(
        &mut self,
        now: Now,
        reason: Option<String>,
        input: &mut dyn FnMut(&mut core::Recorder, &Policy, &mut Guards<'_>, Timestamp) -> Recorded,
    ) -> Answer<RecordedObject> {
        let Self { policy, guards, recorder, .. } = self;
        let recorded = under(guards.as_ref(), |guards| input(recorder, &policy.read(), guards, now.time))?;
        Ok(self.shown(now, &recorded, reason.as_deref()))
    }

    fn shown(&self, now: Now, recorded: &Recorded, reason: Option<&str>) -> RecordedObject {
        let events: Array =
            recorded.events.iter().map(|event| object_of(event, self.task.as_deref(), reason)).collect();
        object! { step: now.step(recorded.step), events: events }
    }
}

fn options_of<J>(options: &Argument<J>) -> Answer<(Option<SharedGuards>, Option<String>)> {
    Ok((options.get("guards")?, options.get("task")?))
}

functions! {
    /// The recorder that wrote a log, which goes on with {@link Recorder.resume}. Throws a {@link ReplayError} about the first
    /// event that is damaged, missing, impossible, or not the policy's decision.
    fn replay(policy: SharedPolicy, log: Argument<Log>, options: Argument<Option<ReplayOptions>>) -> Recorder {
        let (guards, task) = options_of(&options)?;
        let mut replay = Replay::new(options.or("mode", ReplayMode::Follow)?);
        if options.or("anyPolicy", false)? {
            replay = replay.any_policy();
        }
        let (under, mut first) = (policy.read(), None);
        let mut apply = |noted: Noted| {
            replay.apply(&under, &noted.event()).map_err(|error| differing(&error, &noted))?;
            first = first.take().or(noted.task);
            Ok(())
        };
        if is_bytes(&log.0) {
            events_of(&log.0, &mut apply)?;
        } else {
            let items = if log.0.is_object() { try_iter(&log.0)? } else { None };
            let items = items.ok_or_else(|| misuse(ErrorCode::WrongType, "log", &log.0))?;
            items.zip(1..).try_for_each(|(event, place)| apply(Noted::read(&event?, place)?))?;
        }
        let recorder = replay.finish().map_err(|error| differing(&error, &Noted::default()))?;
        Recorder { policy, guards, task: task.or(first), recorder }
    }

    /// How many attempts a policy makes; Infinity for one without end.
    fn attemptsOf(policy: Policy) -> f64 { policy.attempts().map_or(f64::INFINITY, f64::from) }
}
