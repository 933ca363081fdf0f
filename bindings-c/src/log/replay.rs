//! A log read back.

use crate::*;
use holdoff_core::{Error, Event, EventReader, Replay, ReplayError, ReplayMode};

/// To be added to the mode: the log may have been written under another policy.
pub const HOLDOFF_REPLAY_ANY_POLICY: u32 = 16;

/// The place of an error in a log.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_divergence {
    /// The place of the event in its log; in a gap that of the first missing event; 0 for no event.
    pub sequence: u64,
    /// The event in the log; zeroes unless `has_recorded`.
    pub recorded: holdoff_event,
    /// The event that the policy decides in its place; zeroes unless `has_computed`.
    pub computed: holdoff_event,
    /// 1 if there is a recorded event.
    pub has_recorded: bool,
    /// 1 if the event that the policy decides is known.
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

/// A problem, in words and with its events.
struct Wrong(holdoff_problem, holdoff_divergence);

impl From<ErrorCode> for Wrong {
    fn from(error: ErrorCode) -> Self {
        Self(error.into(), holdoff_divergence::at(0))
    }
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self(error.into(), holdoff_divergence::at(error.sequence()))
    }
}

impl From<ReplayError> for Wrong {
    fn from(error: ReplayError) -> Self {
        Self(holdoff_problem::of_rule(error.code, error, None), (&error).into())
    }
}

fn replay_of(mode: u32) -> Result<Replay, ErrorCode> {
    let any_policy = mode & HOLDOFF_REPLAY_ANY_POLICY != 0;
    let mode = ReplayMode::from_code(mode & !HOLDOFF_REPLAY_ANY_POLICY).ok_or(ErrorCode::UnknownWord)?;
    let replay = Replay::new(mode);
    Ok(if any_policy { replay.any_policy() } else { replay })
}

/// Writes how a replay ended.
unsafe fn end(result: Result<(), Wrong>, divergence: *mut holdoff_divergence, problem: *mut holdoff_problem) -> c_int {
    let (result, at) = match result {
        Ok(()) => (Ok(()), holdoff_divergence::at(0)),
        Err(Wrong(problem, at)) => (Err(problem), at),
    };
    // SAFETY: passed on.
    unsafe {
        write(divergence, at);
        report(problem, || result)
    }
}

extern_c! {
    /// Makes the recorder that wrote a log of `length` bytes (see holdoff_event_bytes), as it was when it wrote the latest
    /// event. Go on with holdoff_recorder_resume. `mode` is HOLDOFF_REPLAY_FOLLOW or HOLDOFF_REPLAY_VERIFY, with
    /// HOLDOFF_REPLAY_ANY_POLICY added if wanted.
    ///
    /// Returns 0 and writes `recorder`; or HOLDOFF_ERROR_LOG_GAP, HOLDOFF_ERROR_LOG_DIVERGED, HOLDOFF_ERROR_EVENT_DAMAGED
    /// or another HOLDOFF_ERROR_ number and leaves it as it was. Either way `divergence` says where and `problem` what is
    /// wrong; both may be NULL.
    fn holdoff_replay(recorder: *mut holdoff_recorder, policy: *const holdoff_policy, bytes: *const c_char,
        length: usize, mode: u32, divergence: *mut holdoff_divergence, problem: *mut holdoff_problem) -> c_int = {
        let replayed = || {
            let (policy, mut replay) = (get(policy)?, replay_of(mode)?);
            // No bytes are an empty log.
            for item in EventReader::new(slice(bytes, length).unwrap_or(&[])) {
                replay.apply(policy, &item?.0)?;
            }
            Ok(store(recorder, replay.finish()?)?)
        };
        end(replayed(), divergence, problem)
    };

    /// Makes the recorder that wrote these `count` events; see holdoff_replay.
    ///
    /// Returns as holdoff_replay does.
    fn holdoff_replay_events(recorder: *mut holdoff_recorder, policy: *const holdoff_policy,
        events: *const holdoff_event, count: usize, mode: u32, divergence: *mut holdoff_divergence,
        problem: *mut holdoff_problem) -> c_int = {
        let replayed = || {
            let (policy, mut replay) = (get(policy)?, replay_of(mode)?);
            for at in 0..count {
                replay.apply(policy, get_untagged::<_, Event>(events.wrapping_add(at))?)?;
            }
            Ok(store(recorder, replay.finish()?)?)
        };
        end(replayed(), divergence, problem)
    };
}
