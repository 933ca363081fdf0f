//! A call that says what to write down.

use crate::*;

memory! {
    /// A call that says what to write down, so that another process can go on with it: 232 bytes. May be copied and moved;
    /// one thread at a time. Memory that is all zero reads as a call that was cancelled. The content is the library's.
    ///
    /// It is driven like a holdoff_guarded_call (guards may be NULL), and each input also writes the events of the transition:
    /// write them down before you do what the step says. holdoff_replay makes a recorder of the written events, which goes
    /// on with holdoff_recorder_resume. A recorded call does not hedge.
    ///
    /// Wrong use changes nothing, has no events, and is answered with HOLDOFF_STOP, HOLDOFF_INVALID and the number of the
    /// error as the reason.
    holdoff_recorder([u64; 28]) holds Recorder, b"hoRecrd1", NotACall
}

c_struct! {
    /// The events of one transition, at most two; to be written down in their order.
    holdoff_events from events: Events {
        /// The number of events.
        count: u64 = events.len() as u64,
        /// The events; from `count` on zeroes.
        events: [holdoff_event; 2] = [0, 1].map(|at| events.get(at).copied().into()),
    }
}

const NO_EVENTS: holdoff_events = holdoff_events { count: 0, events: [holdoff_event::NONE; 2] };

/// Gives an input to a recorder, with its guards.
///
/// # Safety
/// The pointers are null or point to what their types say, and nothing else touches it meanwhile.
unsafe fn write_down(
    recorder: *mut holdoff_recorder,
    guards: *const holdoff_guards,
    events: *mut holdoff_events,
    input: &mut dyn FnMut(&mut Recorder, &mut Guards<'_>) -> Result<Recorded, ErrorCode>,
) -> holdoff_step {
    if events.is_null() {
        // Events that nobody takes are lost, and the log with them.
        return ErrorCode::NullPointer.into();
    }
    // SAFETY: passed on.
    unsafe {
        // Events of the transition before would be written down twice.
        write(events, NO_EVENTS);
        put(recorder, guards, &mut |recorder, guards| {
            let recorded = input(recorder, guards)?;
            write(events, recorded.events.into());
            Ok(recorded.step)
        })
    }
}

extern_c! {
    on (recorder, guards, events) in holdoff_recorder as recorder;

    /// Begins a call at `now`. For the seed see holdoff_call_begin. Guards may be NULL.
    ///
    /// Returns the first step and writes `events`. Without a policy, without events, or with something else in a guard's
    /// place, the recorder is left zeroed, which is a call that has ended.
    fn holdoff_recorder_begin(recorder: *mut holdoff_recorder, policy, guards, seed, now,
        events: *mut holdoff_events) -> holdoff_step = {
        write(events, NO_EVENTS);
        let policy = || if events.is_null() { Err(ErrorCode::NullPointer) } else { get(policy) };
        begin_guarded(recorder, guards, policy, |policy, guards| {
            let (begun, recorded) = Recorder::begin(policy, guards, seed, now);
            write(events, recorded.events.into());
            (begun, recorded.step)
        })
    };

    /// Records the success of the attempt with this ticket at `now`.
    ///
    /// Returns the step that holds now and writes `events`.
    step holdoff_recorder_succeed(guards, ticket, now) = recorder.succeed(guards, Ticket::from_raw(ticket), now);

    /// Records the failure of the attempt with this ticket at `now`.
    ///
    /// Returns the step that holds now, HOLDOFF_SLEEP or HOLDOFF_STOP, and writes `events`.
    step holdoff_recorder_fail(policy, guards, ticket, now, failure) =
        recorder.fail(get(policy)?, guards, Ticket::from_raw(ticket), now, Failure::try_from(failure)?);

    /// Ends the attempt with this ticket at `now` by a fault of the caller's own program, which says nothing about the
    /// server. In the log it is a permanent failure.
    ///
    /// Returns the step that holds now and writes `events`.
    step holdoff_recorder_abandon(guards, ticket, now) = recorder.abandon(guards, Ticket::from_raw(ticket), now);

    /// Lets time pass, or takes a free place in the bulkhead.
    ///
    /// Returns the step that holds at `now` and writes `events`: none when nothing has changed.
    step holdoff_recorder_tick(policy, guards, now) = recorder.tick(get(policy)?, guards, now);

    /// Cancels it in any state.
    ///
    /// Returns HOLDOFF_STOP and writes `events`.
    step holdoff_recorder_cancel(guards, now) = recorder.cancel(guards, now);

    /// Goes on, at `now` and under these guards, with a call that holdoff_replay made of its log. Asleep, it sleeps on. An
    /// attempt in flight was interrupted and runs again under its own number, but only `reruns` times (3 is a good number);
    /// then it has failed, as a timeout.
    ///
    /// Returns the step that holds now and writes `events`.
    step holdoff_recorder_resume(policy, guards, now, reruns: u32) = recorder.resume(get(policy)?, guards, now, reruns);
}

extern_c! {
    on holdoff_recorder as recorder;

    /// Returns the step that holds. Zeroed memory is a call that was cancelled; other memory without a recorder is
    /// HOLDOFF_INVALID.
    fn holdoff_recorder_step(recorder: *const holdoff_recorder) -> holdoff_step =
        get(recorder).map_or_else(|error| no_call(recorder, error), |recorder| recorder.step().into());

    /// Returns the place of the latest event in the log; 0 for memory without a recorder.
    get holdoff_recorder_sequence() -> u64 = recorder.sequence(), else 0;

    /// Returns the number of the attempt in flight or else of the last one that ran; 0 for none, and for memory without a
    /// recorder.
    get holdoff_recorder_attempt() -> u32 = recorder.attempt(), else 0;

    /// Returns how often the attempt in flight was run again after an interruption; 0 for memory without a recorder.
    get holdoff_recorder_reruns() -> u32 = recorder.reruns(), else 0;

    /// Returns the time at which the call began; 0 for memory without a recorder.
    get holdoff_recorder_started() -> Timestamp = recorder.started(), else Timestamp::ZERO;

    /// Returns how long a call that sleeps still sleeps at `now`, in nanoseconds: at most the decided delay, also on a wall clock
    /// that was set back. Sleep that long, then tick at the later of `now` and the `at` of the step. Returns 0 for any other
    /// call and for memory without a recorder.
    get holdoff_recorder_remaining(now) -> Span = recorder.remaining(now), else Span::ZERO;

    /// Saves the call as it is at `now`, as holdoff_call_save does.
    ///
    /// Returns 0, or a HOLDOFF_ERROR_ number from 200 on and leaves `saved` as it was.
    get holdoff_recorder_save(policy, now, saved: *mut holdoff_saved) =
        store(saved, recorder.call().saved(get(policy)?, now))?;
}
