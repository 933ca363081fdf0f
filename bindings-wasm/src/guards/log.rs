//! Calls that say what to write down, the events that they say, and the way back from a log.

use super::{Memory, kind_of, with};
use crate::shared::Shared;
use holdoff_core::{
    Error, Event, Failure, Guards, Hint, Policy, Recorded, Recorder, Replay, ReplayError, ReplayMode, Ticket,
    Timestamp, Value,
};

/// The log that is being read.
static REPLAY: Shared<Replay> = Shared::new(Replay::new(ReplayMode::Verify));

/// Does it, and says how many events there are to be written down: `event_show` shows them.
fn record(guards: u32, take: impl FnOnce(&mut Recorder, &Policy, &mut Guards<'_>, [u64; 4]) -> Recorded) -> u32 {
    with(|memory| {
        let args = [memory.arg(0), memory.arg(1), memory.arg(2), memory.arg(3)];
        let mut recorder = memory.log.recorder;
        let (_, policy, mut guards) = memory.call_under(guards);
        let Recorded { step, events } = take(&mut recorder, policy, &mut guards, args);
        memory.log.recorder = recorder;
        memory.log.events.iter_mut().zip(events.iter()).for_each(|(place, event)| *place = *event);
        memory.show(step);
        events.len() as u32
    })
}

const fn at(now: u64) -> Timestamp {
    Timestamp::from_nanos(now)
}

/// `recorder` := begun under `policy` at the time in slot 0 with the seed in slot 1; `step`, and the number of events.
#[unsafe(no_mangle)]
extern "C" fn recorder_begin(guards: u32) -> u32 {
    record(guards, |recorder, policy, guards, [now, seed, ..]| {
        let (begun, recorded) = Recorder::begin(policy, guards, seed, at(now));
        *recorder = begun;
        recorded
    })
}

/// The attempt in slot 2 of `recorder` succeeded at the time in slot 0; `step`, and the number of events.
#[unsafe(no_mangle)]
extern "C" fn recorder_succeed(guards: u32) -> u32 {
    record(guards, |recorder, _, guards, [now, _, ticket, _]| {
        recorder.succeed(guards, Ticket::from_raw(ticket), at(now))
    })
}

/// The attempt in slot 2 of `recorder` failed at the time in slot 0 with that kind and the hint in slot 3; `step`, and the
/// number of events.
#[unsafe(no_mangle)]
extern "C" fn recorder_fail(guards: u32, kind: u32) -> u32 {
    record(guards, |recorder, policy, guards, [now, _, ticket, hint]| {
        let failure = Failure::new(kind_of(kind)).with_hint(Hint::from_raw(hint));
        recorder.fail(policy, guards, Ticket::from_raw(ticket), at(now), failure)
    })
}

/// The attempt in slot 2 of `recorder` ended at the time in slot 0 by a fault of the program's own; `step`, and the number of
/// events.
#[unsafe(no_mangle)]
extern "C" fn recorder_abandon(guards: u32) -> u32 {
    record(guards, |recorder, _, guards, [now, _, ticket, _]| {
        recorder.abandon(guards, Ticket::from_raw(ticket), at(now))
    })
}

/// Time has passed for `recorder` until that in slot 0; `step`, and the number of events.
#[unsafe(no_mangle)]
extern "C" fn recorder_tick(guards: u32) -> u32 {
    record(guards, |recorder, policy, guards, [now, ..]| recorder.tick(policy, guards, at(now)))
}

/// `recorder` is cancelled at the time in slot 0; `step`, and the number of events.
#[unsafe(no_mangle)]
extern "C" fn recorder_cancel(guards: u32) -> u32 {
    record(guards, |recorder, _, guards, [now, ..]| recorder.cancel(guards, at(now)))
}

/// `recorder`, which was made from its log, goes on at the time in slot 0; `step`, and the number of events.
#[unsafe(no_mangle)]
extern "C" fn recorder_resume(guards: u32, reruns: u32) -> u32 {
    record(guards, |recorder, policy, guards, [now, ..]| recorder.resume(policy, guards, at(now), reruns))
}

/// How `recorder` stands: `step`; the number of its latest event, its attempt, when it began, how often that attempt was run
/// again and whether it began with guards into slots 0 to 3 and 5; `recorded`.
#[unsafe(no_mangle)]
extern "C" fn recorder_look() {
    with(|memory| {
        let recorder = memory.log.recorder;
        memory.show(recorder.step());
        memory.leave(0, recorder.sequence());
        memory.leave(1, recorder.attempt().into());
        memory.leave(2, recorder.started().as_nanos());
        memory.leave(3, recorder.reruns().into());
        memory.leave(5, recorder.is_guarded().into());
        memory.log.recorded = recorder.call();
    });
}

/// `event` := that of the events of the latest transition, and shown as by `event_look`.
#[unsafe(no_mangle)]
extern "C" fn event_show(which: u32) {
    with(|memory| {
        memory.log.event = memory.log.events.get(which as usize).copied().unwrap_or(Event::EMPTY);
        memory.show_event();
    });
}

/// The fields of `event`, from slot 0 on: its sequence, its time, until when, its hint, its seed, its policy, its delay in
/// milliseconds; then a byte each its kind, failure, cause and reason and whether it is of a call with guards, with its
/// attempt in the upper half.
#[unsafe(no_mangle)]
extern "C" fn event_look() {
    with(Memory::show_event);
}

impl Memory {
    fn show_event(&mut self) {
        let event = self.log.event;
        let failure = event.failure().map_or(0, |kind| kind.code().into());
        let cause = event.cause().map_or(0, |cause| cause.code().into());
        let reason = event.reason().map_or(0, |reason| reason.code().into());
        let words: [u64; 5] = [event.kind().code().into(), failure, cause, reason, event.attempt().into()];
        let codes = words.iter().zip([0, 8, 16, 24, 32]).fold(0, |sum, (word, shift)| sum | word << shift);
        let shown = [
            event.sequence(),
            event.at().as_nanos(),
            event.until().as_nanos(),
            event.hint().as_raw(),
            event.seed(),
            event.policy(),
            event.delay_ms(),
            codes,
            event.is_guarded().into(),
        ];
        self.args.iter_mut().zip(shown).for_each(|(place, number)| *place = number);
    }

    /// The length of what is wrong; the number of the event that it is about into place 15.
    fn explain_event(&mut self, error: &Error) -> u32 {
        self.leave(15, error.sequence());
        self.explain(error)
    }

    /// The same; of what the machine says instead the event into `event`, and whether there is one into place 14.
    fn explain_replay(&mut self, error: &ReplayError) -> u32 {
        self.leave(15, error.sequence);
        self.leave(14, error.computed.is_some().into());
        self.log.event = error.computed.unwrap_or(Event::EMPTY);
        self.explain(&Error::of_use(error.code))
    }
}

/// `event` := nothing yet.
#[unsafe(no_mangle)]
extern "C" fn event_start() {
    with(|memory| memory.log.event = Event::EMPTY);
}

/// Sets a field of `event`: its name, then its value, as for `guards_set`. 0, or the length of what is wrong. Into slot 1 who
/// keeps it: 0 the event, 1 it is the name of the task, 2 the text of the failure.
#[unsafe(no_mangle)]
extern "C" fn event_set(name: u32, kind: u32, value: u32) -> u32 {
    with(|memory| {
        let value = match kind {
            1 => Value::Text(memory.text.get(value)),
            2 => Value::Number { value: memory.real(0), unit: 1.0 },
            3 => Value::Nothing,
            4 => Value::Empty,
            _ => Value::Other,
        };
        match memory.log.event.set(memory.name.get(name), value) {
            Ok(taken) => {
                memory.leave(1, taken.code().into());
                0
            }
            Err(error) => memory.explain_event(&error),
        }
    })
}

/// `event` := the same, if it is whole. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn event_check() -> u32 {
    with(|memory| match memory.log.event.check() {
        Ok(event) => {
            memory.log.event = event;
            memory.show_event();
            0
        }
        Err(error) => memory.explain_event(&error),
    })
}

/// `event` in `bytes`, with so much of `reason` as its text; how many bytes.
#[unsafe(no_mangle)]
extern "C" fn event_bytes(reason: u32) -> u32 {
    with(|memory| {
        let reason = memory.log.reason.get(reason);
        memory.log.event.to_bytes(reason, memory.log.bytes.all()).unwrap_or(0) as u32
    })
}

/// `event` := the first of so many `bytes`, and the text of its failure in `reason`; how many bytes they are, and in slot 9
/// how many the text has. 0 when something is wrong: the length of it into slot 9.
#[unsafe(no_mangle)]
extern "C" fn event_read(length: u32) -> u32 {
    with(|memory| match Event::read(memory.log.bytes.bytes(length)) {
        Ok((event, text, rest)) => {
            memory.log.event = event;
            let (taken, text) = (length - rest.len() as u32, memory.log.reason.put(text.as_bytes()));
            memory.show_event();
            memory.leave(9, text.into());
            taken
        }
        Err(error) => {
            let wrong = memory.explain_event(&error);
            memory.leave(9, wrong.into());
            0
        }
    })
}

/// Begins to read a log, in that mode.
#[unsafe(no_mangle)]
extern "C" fn replay_start(mode: u32, any_policy: u32) {
    let replay = Replay::new(ReplayMode::from_code(mode).unwrap_or(ReplayMode::Verify));
    REPLAY.with(|place| *place = if any_policy == 0 { replay } else { replay.any_policy() });
}

/// Takes `event` as the next one of the log of `policy`. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn replay_apply() -> u32 {
    with(|memory| {
        REPLAY.with(|replay| match replay.apply(&memory.policy, &memory.log.event) {
            Ok(()) => 0,
            Err(error) => memory.explain_replay(&error),
        })
    })
}

/// `recorder` := that of the log. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn replay_finish() -> u32 {
    with(|memory| {
        REPLAY.with(|replay| match replay.finish() {
            Ok(recorder) => {
                memory.log.recorder = recorder;
                0
            }
            Err(error) => memory.explain_replay(&error),
        })
    })
}

/// How many attempts `policy` makes, 2^32-1 being for ever.
#[unsafe(no_mangle)]
extern "C" fn policy_attempts() -> u32 {
    with(|memory| memory.policy.attempts().unwrap_or(u32::MAX))
}
