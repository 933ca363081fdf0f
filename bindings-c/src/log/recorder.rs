//! A call that says what to write down.

use super::event::holdoff_event;
use crate::boundary::{answer, drive, is_zeroed, look, memory, place};
use crate::errors::status;
use crate::failure::holdoff_failure;
use crate::guards::{holdoff_guards, lend};
use crate::policy::holdoff_policy;
use crate::saved::holdoff_saved;
use crate::step::holdoff_step;
use core::ffi::c_int;
use holdoff_core::{ErrorCode, Events, Failure, Guards, Outcome, Policy, Recorded, Recorder, Step, Ticket, Timestamp};

/// A call that says what to write down, so that another process can go on with it: 208 bytes. May be copied and moved; one
/// thread at a time. Memory that is all zero reads as a call that was cancelled. The content is the library's.
///
/// It is driven like a holdoff_guarded (guards may be NULL), and each input also writes the events of the transition: write
/// them down before you do what the step says. What was written becomes a recorder again by holdoff_replay, which goes on with
/// holdoff_recorder_resume. A recorded call does not hedge.
///
/// Wrong use changes nothing, has no events, and is answered with HOLDOFF_STOP, HOLDOFF_INVALID and the number of the error as
/// the reason.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_recorder {
    magic: u64,
    state: [u64; 25],
}

memory!(holdoff_recorder: Recorder, u64::from_be_bytes(*b"hoRecrd1"), ErrorCode::NotACall);
const _: () = assert!(size_of::<Recorder>() == 25 * 8);

/// The events of one transition, at most two; to be written down in their order.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_events {
    /// How many there are.
    pub count: u64,
    /// The events; from `count` on zeroes.
    pub events: [holdoff_event; 2],
}

impl holdoff_events {
    const NONE: Self = Self { count: 0, events: [holdoff_event::NONE; 2] };
}

impl From<Events> for holdoff_events {
    fn from(events: Events) -> Self {
        let at = |at| events.get(at).map_or(holdoff_event::NONE, |event| holdoff_event::from(*event));
        Self { count: events.len() as u64, events: [at(0), at(1)] }
    }
}

/// The step of what was recorded; the events go to where the caller wants them.
unsafe fn told(recorded: Recorded, events: *mut holdoff_events) -> Step {
    // SAFETY: passed on.
    unsafe { answer(events, recorded.events.into()) };
    recorded.step
}

/// An input to a recorder that is there, with its guards.
///
/// # Safety
/// The pointers are null or point to what their types say, and nothing else touches it meanwhile.
unsafe fn put(
    recorder: *mut holdoff_recorder,
    guards: *const holdoff_guards,
    events: *mut holdoff_events,
    input: impl FnOnce(&mut Recorder, &mut Guards<'_>) -> Result<Recorded, ErrorCode>,
) -> holdoff_step {
    if events.is_null() {
        // Events that nobody takes are lost, and the log with them.
        return ErrorCode::NullPointer.into();
    }
    // Those of the transition before would be written down twice.
    // SAFETY: passed on.
    unsafe { answer(events, holdoff_events::NONE) };
    // SAFETY: passed on.
    match unsafe { drive(recorder) } {
        Ok(recorder) => {
            let mut lent = Guards::none();
            // SAFETY: passed on.
            let recorded = unsafe { lend(guards, &mut lent) }.and_then(|()| input(recorder, &mut lent));
            // SAFETY: passed on.
            recorded.map(|recorded| unsafe { told(recorded, events) }).into()
        }
        // SAFETY: passed on.
        Err(_) if unsafe { is_zeroed(recorder) } => Step::Stop(Outcome::Cancelled).into(),
        Err(error) => error.into(),
    }
}

/// Begins a call at `now`. For the seed see holdoff_call_begin. Guards may be NULL.
///
/// Returns the first step and writes `events`. Without a policy, without events, or with something else in a guard's place, the
/// recorder is left zeroed, which is a call that has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_begin(
    recorder: *mut holdoff_recorder,
    policy: *const holdoff_policy,
    guards: *const holdoff_guards,
    seed: u64,
    now: u64,
    events: *mut holdoff_events,
) -> holdoff_step {
    let mut lent = Guards::none();
    // SAFETY: the header's promise.
    unsafe { answer(events, holdoff_events::NONE) };
    // SAFETY: the header's promise.
    let policy = unsafe { lend(guards, &mut lent).and_then(|()| look(policy)) };
    // A call that cannot be kept would keep what it takes of the guards.
    if recorder.is_null() {
        return ErrorCode::NullPointer.into();
    }
    if !recorder.is_aligned() {
        return ErrorCode::NotACall.into();
    }
    match policy.and_then(|policy| if events.is_null() { Err(ErrorCode::NullPointer) } else { Ok(policy) }) {
        Ok(policy) => {
            let (begun, recorded) = Recorder::begin(policy, &mut lent, seed, Timestamp::from_nanos(now));
            // SAFETY: the header's promise.
            unsafe { place(recorder, begun).map(|()| told(recorded, events)) }.into()
        }
        Err(error) => {
            // SAFETY: the header's promise.
            unsafe { answer(recorder, holdoff_recorder { magic: 0, state: [0; 25] }) };
            error.into()
        }
    }
}

/// The attempt with this ticket succeeded at `now`.
///
/// Returns the step that holds now and writes `events`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_succeed(
    recorder: *mut holdoff_recorder,
    guards: *const holdoff_guards,
    ticket: u64,
    now: u64,
    events: *mut holdoff_events,
) -> holdoff_step {
    let (ticket, now) = (Ticket::from_raw(ticket), Timestamp::from_nanos(now));
    // SAFETY: the header's promise.
    unsafe { put(recorder, guards, events, |recorder, guards| Ok(recorder.succeed(guards, ticket, now))) }
}

/// The attempt with this ticket failed at `now`.
///
/// Returns the step that holds now, HOLDOFF_SLEEP or HOLDOFF_STOP, and writes `events`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_fail(
    recorder: *mut holdoff_recorder,
    policy: *const holdoff_policy,
    guards: *const holdoff_guards,
    ticket: u64,
    now: u64,
    failure: holdoff_failure,
    events: *mut holdoff_events,
) -> holdoff_step {
    let (ticket, now) = (Ticket::from_raw(ticket), Timestamp::from_nanos(now));
    // SAFETY: the header's promise.
    unsafe {
        put(recorder, guards, events, |recorder, guards| {
            let (policy, failure): (&Policy, _) = (look(policy)?, Failure::try_from(failure)?);
            Ok(recorder.fail(policy, guards, ticket, now, failure))
        })
    }
}

/// The attempt with this ticket ended at `now` by a fault of the caller's own program, which says nothing about the other side.
/// In the log it is a permanent failure.
///
/// Returns the step that holds now and writes `events`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_abandon(
    recorder: *mut holdoff_recorder,
    guards: *const holdoff_guards,
    ticket: u64,
    now: u64,
    events: *mut holdoff_events,
) -> holdoff_step {
    let (ticket, now) = (Ticket::from_raw(ticket), Timestamp::from_nanos(now));
    // SAFETY: the header's promise.
    unsafe { put(recorder, guards, events, |recorder, guards| Ok(recorder.abandon(guards, ticket, now))) }
}

/// Nothing but time has passed, or a place in the bulkhead has come free.
///
/// Returns the step that holds at `now` and writes `events`: none when nothing has changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_tick(
    recorder: *mut holdoff_recorder,
    policy: *const holdoff_policy,
    guards: *const holdoff_guards,
    now: u64,
    events: *mut holdoff_events,
) -> holdoff_step {
    let now = Timestamp::from_nanos(now);
    // SAFETY: the header's promise.
    unsafe { put(recorder, guards, events, |recorder, guards| Ok(recorder.tick(look(policy)?, guards, now))) }
}

/// The caller wants no more of it, whatever is going on.
///
/// Returns HOLDOFF_STOP and writes `events`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_cancel(
    recorder: *mut holdoff_recorder,
    guards: *const holdoff_guards,
    now: u64,
    events: *mut holdoff_events,
) -> holdoff_step {
    let now = Timestamp::from_nanos(now);
    // SAFETY: the header's promise.
    unsafe { put(recorder, guards, events, |recorder, guards| Ok(recorder.cancel(guards, now))) }
}

/// Goes on, at `now` and under these guards, with a call that holdoff_replay made of its log. Asleep, it sleeps on. An attempt
/// in flight was interrupted and runs again under its own number, but only `reruns` times (3 is a good number); then it has
/// failed, as a timeout.
///
/// Returns the step that holds now and writes `events`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_resume(
    recorder: *mut holdoff_recorder,
    policy: *const holdoff_policy,
    guards: *const holdoff_guards,
    now: u64,
    reruns: u32,
    events: *mut holdoff_events,
) -> holdoff_step {
    let now = Timestamp::from_nanos(now);
    // SAFETY: the header's promise.
    unsafe { put(recorder, guards, events, |recorder, guards| Ok(recorder.resume(look(policy)?, guards, now, reruns))) }
}

/// The step that holds. Zeroed memory is a call that was cancelled, other memory that holds no recorder HOLDOFF_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_step(recorder: *const holdoff_recorder) -> holdoff_step {
    // SAFETY: the header's promise.
    match unsafe { look(recorder) } {
        Ok(recorder) => recorder.step().into(),
        // SAFETY: the header's promise.
        Err(_) if unsafe { is_zeroed(recorder) } => Step::Stop(Outcome::Cancelled).into(),
        Err(error) => error.into(),
    }
}

/// The place in the log of the latest event; 0 for memory that holds no recorder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_sequence(recorder: *const holdoff_recorder) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(recorder) }.map_or(0, Recorder::sequence)
}

/// The attempt in flight or else the last one that ran; 0 for none, and for memory that holds no recorder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_attempt(recorder: *const holdoff_recorder) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(recorder) }.map_or(0, Recorder::attempt)
}

/// How often the attempt in flight was run again because it was interrupted; 0 for memory that holds no recorder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_reruns(recorder: *const holdoff_recorder) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(recorder) }.map_or(0, Recorder::reruns)
}

/// When the call began; 0 for memory that holds no recorder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_started(recorder: *const holdoff_recorder) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(recorder) }.map_or(0, |recorder| recorder.started().as_nanos())
}

/// How long to sleep from `now` for a call that sleeps, in nanoseconds; 0 for any other and for memory that holds no recorder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_remaining(recorder: *const holdoff_recorder, now: u64) -> u64 {
    // SAFETY: the header's promise.
    unsafe { look(recorder) }.map_or(0, |recorder| recorder.remaining(Timestamp::from_nanos(now)).as_nanos())
}

/// Saves the call as it is at `now`, as holdoff_call_save does.
///
/// Returns 0, or a HOLDOFF_ERROR_ number from 200 on and leaves `saved` as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_recorder_save(
    recorder: *const holdoff_recorder,
    policy: *const holdoff_policy,
    now: u64,
    saved: *mut holdoff_saved,
) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe {
        look(recorder)
            .and_then(|recorder| place(saved, recorder.call().saved(look(policy)?, Timestamp::from_nanos(now))))
    })
}
