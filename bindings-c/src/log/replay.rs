//! A log read back.

use super::event::holdoff_event;
use super::recorder::holdoff_recorder;
use crate::boundary::{answer, look, look_plain, place, span};
use crate::policy::holdoff_policy;
use crate::problem::{holdoff_problem, report};
use core::ffi::{c_char, c_int};
use holdoff_core::{ErrorCode, Event, EventReader, Policy, Recorder, Replay, ReplayError, ReplayMode};

/// Replay mode: a decision in the log counts, whatever the policy decides now.
pub const HOLDOFF_REPLAY_FOLLOW: u32 = 1;
/// Replay mode: the first decision that is not the one that the policy makes is an error.
pub const HOLDOFF_REPLAY_VERIFY: u32 = 2;
/// To be added to the mode: the log may have been written under another policy.
pub const HOLDOFF_REPLAY_ANY_POLICY: u32 = 16;

const _: () =
    assert!(HOLDOFF_REPLAY_FOLLOW == ReplayMode::Follow as u32 && HOLDOFF_REPLAY_VERIFY == ReplayMode::Verify as u32);

/// Where a log is wrong.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_divergence {
    /// The event that it is about: the one that came, or of a gap the first that did not; 0 for none.
    pub sequence: u64,
    /// The event that came; zeroes unless `has_recorded`.
    pub recorded: holdoff_event,
    /// What the policy decides in its place; zeroes unless `has_computed`.
    pub computed: holdoff_event,
    /// Whether an event came.
    pub has_recorded: bool,
    /// Whether it is known what the policy decides.
    pub has_computed: bool,
}

impl holdoff_divergence {
    const fn at(sequence: u64) -> Self {
        let none = holdoff_event::NONE;
        Self { sequence, recorded: none, computed: none, has_recorded: false, has_computed: false }
    }
}

impl From<&ReplayError> for holdoff_divergence {
    fn from(error: &ReplayError) -> Self {
        let event = |event: Option<Event>| event.map_or(holdoff_event::NONE, holdoff_event::from);
        Self {
            sequence: error.sequence,
            recorded: event(error.recorded),
            computed: event(error.computed),
            has_recorded: error.recorded.is_some(),
            has_computed: error.computed.is_some(),
        }
    }
}

/// What is wrong, in words and with its events.
type Wrong = (holdoff_problem, holdoff_divergence);

fn misused(error: ErrorCode) -> Wrong {
    (holdoff_problem::of_use(error), holdoff_divergence::at(0))
}

fn wrong(error: &ReplayError) -> Wrong {
    (holdoff_problem::of_replay(error), error.into())
}

fn replay_of(mode: u32) -> Result<Replay, Wrong> {
    let any = mode & HOLDOFF_REPLAY_ANY_POLICY != 0;
    let mode = ReplayMode::from_code(mode & !HOLDOFF_REPLAY_ANY_POLICY).ok_or(misused(ErrorCode::UnknownWord))?;
    let replay = Replay::new(mode);
    Ok(if any { replay.any_policy() } else { replay })
}

/// Writes what became of it.
unsafe fn end(
    result: Result<Recorder, Wrong>,
    recorder: *mut holdoff_recorder,
    divergence: *mut holdoff_divergence,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: passed on.
    let placed = result.and_then(|replayed| unsafe { place(recorder, replayed) }.map_err(misused));
    let (said, at) = placed.err().unwrap_or((holdoff_problem::NONE, holdoff_divergence::at(0)));
    // SAFETY: passed on.
    unsafe {
        answer(divergence, at);
        report(problem, said)
    }
}

/// Makes the recorder that wrote a log of `length` bytes (see holdoff_event_bytes), as it was when it wrote the latest event.
/// What comes next is holdoff_recorder_resume. `mode` is HOLDOFF_REPLAY_FOLLOW or HOLDOFF_REPLAY_VERIFY, with
/// HOLDOFF_REPLAY_ANY_POLICY added if wanted.
///
/// Returns 0 and writes `recorder`; or HOLDOFF_ERROR_LOG_GAP, HOLDOFF_ERROR_LOG_DIVERGED, HOLDOFF_ERROR_EVENT_DAMAGED or another
/// HOLDOFF_ERROR_ number and leaves it as it was. Either way `divergence` says where and `problem` what is wrong; both may be
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_replay(
    recorder: *mut holdoff_recorder,
    policy: *const holdoff_policy,
    bytes: *const c_char,
    length: usize,
    mode: u32,
    divergence: *mut holdoff_divergence,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let policy: Result<&Policy, _> = unsafe { look(policy) }.map_err(misused);
    // SAFETY: the header's promise. No bytes are an empty log.
    let bytes = unsafe { span(bytes, length) }.unwrap_or(&[]);
    let result = policy.and_then(|policy| {
        let mut replay = replay_of(mode)?;
        for item in EventReader::new(bytes) {
            let (event, _) =
                item.map_err(|error| (holdoff_problem::of_event(&error), holdoff_divergence::at(error.sequence)))?;
            replay.apply(policy, &event).map_err(|error| wrong(&error))?;
        }
        replay.finish().map_err(|error| wrong(&error))
    });
    // SAFETY: the header's promise.
    unsafe { end(result, recorder, divergence, problem) }
}

/// Makes the recorder that wrote these `count` events; see holdoff_replay.
///
/// Returns as holdoff_replay does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_replay_events(
    recorder: *mut holdoff_recorder,
    policy: *const holdoff_policy,
    events: *const holdoff_event,
    count: usize,
    mode: u32,
    divergence: *mut holdoff_divergence,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let policy: Result<&Policy, _> = unsafe { look(policy) }.map_err(misused);
    let result = policy.and_then(|policy| {
        let mut replay = replay_of(mode)?;
        for at in 0..count {
            // SAFETY: the header's promise: there are that many.
            let event = unsafe { look_plain::<_, Event>(events.wrapping_add(at)) }.map_err(misused)?;
            replay.apply(policy, event).map_err(|error| wrong(&error))?;
        }
        replay.finish().map_err(|error| wrong(&error))
    });
    // SAFETY: the header's promise.
    unsafe { end(result, recorder, divergence, problem) }
}
