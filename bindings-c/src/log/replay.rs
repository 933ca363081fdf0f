//! A log read back.

use crate::*;

/// To be added to the mode: the log may have been written under another policy.
pub const HOLDOFF_REPLAY_ANY_POLICY: u32 = 16;

/// The number of an event in its log, that event, and the event that the policy decides instead.
type Found = (u64, Option<Event>, Option<Event>);

c_struct! {
    /// The place of an error in a log.
    holdoff_divergence from place: Found {
        /// The place of the event in its log; in a gap that of the first missing event; 0 for no event.
        sequence: u64 = place.0,
        /// The event in the log; zeroes unless `has_recorded`.
        recorded: holdoff_event = place.1.into(),
        /// The event that the policy decides in its place; zeroes unless `has_computed`.
        computed: holdoff_event = place.2.into(),
        /// 1 if there is a recorded event.
        has_recorded: bool = place.1.is_some(),
        /// 1 if the event that the policy decides is known.
        has_computed: bool = place.2.is_some(),
    }
}

fn replay_of(mode: u32) -> Result<Replay, ErrorCode> {
    let replay = Replay::new(word_of(ReplayMode::from_code(mode & !HOLDOFF_REPLAY_ANY_POLICY))?);
    Ok(if mode & HOLDOFF_REPLAY_ANY_POLICY != 0 { replay.any_policy() } else { replay })
}

extern_c! {
    /// Makes the recorder that wrote a log of `length` bytes (see holdoff_event_bytes), as it was when it wrote the latest
    /// event. Go on with holdoff_recorder_resume. `mode` is HOLDOFF_REPLAY_FOLLOW or HOLDOFF_REPLAY_VERIFY, with
    /// HOLDOFF_REPLAY_ANY_POLICY added if wanted.
    ///
    /// Returns 0 and writes `recorder`; or HOLDOFF_ERROR_LOG_GAP, HOLDOFF_ERROR_LOG_DIVERGED, HOLDOFF_ERROR_EVENT_DAMAGED
    /// or another HOLDOFF_ERROR_ number and leaves it as it was. Either way `divergence` says where and `problem` what is
    /// wrong; both may be NULL.
    fn holdoff_replay(recorder: *mut holdoff_recorder, policy, bytes: *const c_char, length, mode: u32,
        divergence: *mut holdoff_divergence, problem) -> c_int = {
        let mut place = (0, None, None);
        let result = report(problem, &mut || {
            let mut diverged = |error: ReplayError| {
                place = (error.sequence, error.recorded, error.computed);
                holdoff_problem::of_rule(error.code, error, None)
            };
            let (policy, mut replay) = (get(policy)?, replay_of(mode)?);
            // No bytes are an empty log.
            for item in EventReader::new(slice(bytes, length).unwrap_or(&[])) {
                match item {
                    Ok((event, _)) => replay.apply(policy, &event).map_err(&mut diverged)?,
                    Err(error) => {
                        place.0 = error.sequence();
                        return Err(error.into());
                    }
                }
            }
            Ok(store(recorder, replay.finish().map_err(diverged)?)?)
        });
        write(divergence, place.into());
        result
    };
}
