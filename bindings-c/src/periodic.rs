//! Running something again and again, as a machine.

use crate::*;

numbers! {
    /// Step kind of a periodic: run it, then tell what it found with holdoff_periodic_finish. Said once for each run.
    HOLDOFF_RUN: u32 = 1 is PeriodicStep::RUN;
}
const _: () = assert!(
    HOLDOFF_SLEEP == PeriodicStep::SLEEP && HOLDOFF_WAIT == PeriodicStep::WAIT && HOLDOFF_STOP == PeriodicStep::STOP
);

c_struct! {
    /// The options of a periodic. Made by holdoff_periodic_until, holdoff_periodic_while_steps_last, holdoff_periodic_poll or
    /// holdoff_periodic_poll_legacy; then set the fields that differ. A field that says yes or no is not 0 for yes.
    holdoff_periodic_options mirrors PeriodicOptions {
        /// The longest time of the whole loop, counted from holdoff_periodic_init, in nanoseconds; HOLDOFF_NEVER for no limit.
        /// A run in flight is not cut short.
        deadline_ns: u64 = deadline,
        /// A HOLDOFF_TIMER_ number.
        timer: u32 = timer,
        /// Not 0: an interval begins at the end of a run, not at its start.
        sliding: u8 = sliding,
        /// Not 0: the first run comes before the first interval.
        immediate: u8 = immediate,
        /// Not 0: an immediate first run takes place even if it is cancelled or out of time before it begins.
        first_is_sure: u8 = first_is_sure,
        /// Not 0: runs end with the steps of the loop backoff's backoff; with HOLDOFF_TIMER_VARIABLE only.
        by_steps: u8 = by_steps,
        /// Not 0: there is one last run when the time is up.
        last_at_deadline: u8 = last_at_deadline,
    }
}

extern_c! {
    /// Returns options to run at once and then at the loop backoff's intervals until cancelled: Kubernetes' BackoffUntil,
    /// JitterUntil and Until, and not `sliding` NonSlidingUntil.
    fn holdoff_periodic_until(sliding: bool) -> holdoff_periodic_options = PeriodicOptions::until(sliding).into();

    /// Returns options to run until a run is done or the steps of the backoff are used up: Kubernetes' ExponentialBackoff
    /// and client-go's retry.OnError.
    fn holdoff_periodic_while_steps_last() -> holdoff_periodic_options = PeriodicOptions::while_steps_last().into();

    /// Returns options to run until a run is done, on the timer that Kubernetes' Backoff.Timer picks for `wait_backoff`:
    /// PollUntilContextCancel and its kin. Memory without a wait backoff reads as one without a duration.
    fn holdoff_periodic_poll(wait_backoff: *const holdoff_wait_backoff, immediate: bool,
        sliding: bool) -> holdoff_periodic_options =
        PeriodicOptions::poll(&get(wait_backoff).copied().unwrap_or_default(), immediate, sliding).into();

    /// Returns options of Kubernetes' deprecated Poll, PollImmediate and their kin: a grid whose missed ticks are dropped,
    /// and one last run when the time is up.
    fn holdoff_periodic_poll_legacy(immediate: bool) -> holdoff_periodic_options =
        PeriodicOptions::poll_legacy(immediate).into();
}

/// The next step of a periodic: 24 bytes, by value. Numbers that a kind does not use are 0, times are HOLDOFF_NEVER.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct holdoff_periodic_step {
    /// HOLDOFF_RUN, HOLDOFF_SLEEP, HOLDOFF_WAIT or HOLDOFF_STOP.
    pub kind: u32,
    /// Stop: a HOLDOFF_ENDED_ number, or for wrong use a HOLDOFF_ERROR_ number from 100 on.
    pub ended: u32,
    /// Run: its number, from 1, which goes back with the answer.
    pub run: u64,
    /// Sleep: until when, then tick.
    pub at: u64,
}

impl From<Result<PeriodicStep, ErrorCode>> for holdoff_periodic_step {
    fn from(step: Result<PeriodicStep, ErrorCode>) -> Self {
        let none = Self { kind: 0, ended: 0, run: 0, at: HOLDOFF_NEVER };
        match step {
            Ok(PeriodicStep::Run { run }) => Self { kind: HOLDOFF_RUN, run, ..none },
            Ok(PeriodicStep::Sleep { until }) => Self { kind: HOLDOFF_SLEEP.into(), at: until.as_nanos(), ..none },
            Ok(PeriodicStep::Wait) => Self { kind: HOLDOFF_WAIT.into(), ..none },
            Ok(PeriodicStep::Stop(ended)) => Self { kind: HOLDOFF_STOP.into(), ended: ended.code().into(), ..none },
            Err(error) => Self { kind: HOLDOFF_STOP.into(), ended: error.code().into(), ..none },
        }
    }
}

extern_c! {
    /// Something that runs again and again: 144 bytes. Made by holdoff_periodic_init; the first holdoff_periodic_tick
    /// begins it. Each run is said exactly once, and there are never two at a time; an input that is out of order, too
    /// early or after the end changes nothing and is answered with the step that still holds. HOLDOFF_STOP is final. A
    /// cancellation does not take back a run in flight. Time is not clamped. The content is the library's.
    memory holdoff_periodic([u64; 17]) as periodic holds Periodic, b"hoPerio1", NotACall;

    /// Makes something to run at the intervals of `loop_backoff`, made at `now`, from which a deadline counts. The seed matters
    /// only for a loop backoff with jitter. Copies the loop backoff.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_NOT_A_CALL, or HOLDOFF_ERROR_UNKNOWN_WORD for an unknown timer.
    init holdoff_periodic_init(loop_backoff: *const holdoff_loop_backoff, options: *const holdoff_periodic_options, seed,
        now) = {
        let options = read(options).ok_or(ErrorCode::NullPointer)?.try_into()?;
        Periodic::new(*get(loop_backoff)?, options, seed, now)
    };

    /// Lets time pass: begins the periodic, or starts the next run if it is due at `now`.
    step holdoff_periodic_tick(now) -> holdoff_periodic_step = periodic.tick(now);

    /// Ends the run with this number at `now` with a HOLDOFF_ANSWER_ number.
    step holdoff_periodic_finish(run: u64, now, answer: u32) -> holdoff_periodic_step =
        periodic.finish(run, now, word_of(Answer::from_code(answer))?);

    /// Cancels it. If it sleeps it is over; a run in flight is the last one.
    step holdoff_periodic_cancel() -> holdoff_periodic_step = periodic.cancel();

    /// Returns the number of the run in flight, or else of the last one; 0 before the first, and for memory without a
    /// periodic.
    get holdoff_periodic_runs() -> u64 = periodic.runs(), else 0;

    /// Returns how many intervals its loop backoff was asked for, whether or not they were slept; 0 for memory without a
    /// periodic.
    get holdoff_periodic_intervals() -> u64 = periodic.intervals(), else 0;

    /// Returns the last interval that its loop backoff was asked for, jitter included, in nanoseconds; 0 before the first, and
    /// for memory without a periodic.
    get holdoff_periodic_interval() -> Span = periodic.interval(), else Span::ZERO;

    /// Returns the time at which its time is up; HOLDOFF_NEVER without a limit, and for memory without a periodic.
    get holdoff_periodic_deadline() -> Timestamp = periodic.deadline(), else Timestamp::NEVER;

    /// Copies the loop backoff as it stands to `loop_backoff`: the periodic has its own, copied when it was made.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    get holdoff_periodic_backoff(loop_backoff: *mut holdoff_loop_backoff) =
        store(loop_backoff, *periodic.loop_backoff())?;
}
