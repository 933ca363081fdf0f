//! Delays with their own configuration: the wait backoff, the loop backoff, and the periodic task.

use crate::config;
use crate::convert::choice;
use crate::parameters::{Duration, Ended, Limit, PeriodicKind, RunNumber, Seed, SpanOr as _, Time};
use crate::seeds::{self, Draws, replaced};
use holdoff_core::{Answer, Error, PeriodicOptions, Reset, Span, Timer, Timestamp};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A backoff of steps: each step returns the delay and moves on (Kubernetes' wait.Backoff). Delays are nanoseconds.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct WaitBackoff {
    machine: holdoff_core::WaitBackoff,
    draws: Draws,
}

impl WaitBackoff {
    fn of(py: Python<'_>, made: Result<holdoff_core::WaitBackoff, Error>, seed: Seed) -> PyResult<Self> {
        Ok(Self { machine: config::valid(py, made)?, draws: Draws::new(seed) })
    }
}

methods! { WaitBackoff(self, py);
    shown "<WaitBackoff next {}, {} steps left>", self.machine.duration(), self.machine.steps();

    new(
        duration: Duration<'_, '_>; factor: f64 = 0.0, jitter: f64 = 0.0, cap: Option<Limit<'_, '_>> = None,
        steps: u64 = 0, seed: Seed = None
    ) -> PyResult<Self> = {
        let cap = cap.span_or("cap", Span::MAX)?;
        let made = holdoff_core::WaitBackoff::new(duration.span("duration")?, factor, jitter, cap, steps);
        Self::of(py, made, seed)
    };

    /// From the fields of a Kubernetes wait.Backoff, where a jitter, steps or cap (nanoseconds) that is not positive
    /// means none.
    static kubernetes(
        duration: Duration<'_, '_>; factor: f64 = 0.0, jitter: f64 = 0.0, steps: i64 = 0, cap_ns: i64 = 0,
        seed: Seed = None
    ) -> PyResult<Self> = {
        let duration = duration.span("duration")?;
        Self::of(py, holdoff_core::WaitBackoff::kubernetes(duration, factor, jitter, steps, cap_ns), seed)
    };

    /// Kubernetes' wait.Jitter: the same delay and up to max_factor of it more; a factor that is not positive reads as 1.
    static kubernetes_jitter(duration: Duration<'_, '_>, max_factor: f64; seed: Seed = None) -> PyResult<Self> =
        Self::of(py, holdoff_core::WaitBackoff::kubernetes_jitter(duration.span("duration")?, max_factor), seed);

    /// Returns the next delay and moves on.
    mut step() -> PyResult<u64> = {
        let uniform = self.draws.uniform(self.machine.draws())?;
        Ok(self.machine.step(uniform).as_nanos())
    };

    special __copy__() -> Self = Self { machine: self.machine, draws: self.draws.clone() };

    /// True if a step draws a uniform.
    get draws: bool = self.machine.draws();

    /// The delay of the next step, before jitter.
    get duration: u64 = self.machine.duration().as_nanos();

    /// How many steps may still multiply the duration.
    get steps: u64 = self.machine.steps();

    /// The factor of each step; 0 for none.
    get factor: f64 = self.machine.factor();

    /// The part of a delay that jitter may add.
    get jitter: f64 = self.machine.jitter();

    /// The largest duration; None without a cap.
    get cap: Option<u64> = Some(self.machine.cap()).filter(|cap| *cap < Span::MAX).map(Span::as_nanos);
}

/// The delays between the runs of a repeated task: a wait backoff that begins again by itself.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct LoopBackoff {
    machine: holdoff_core::LoopBackoff,
    draws: Draws,
}

impl LoopBackoff {
    fn of(machine: holdoff_core::LoopBackoff, seed: Seed) -> Self {
        Self { machine, draws: Draws::new(seed) }
    }
}

fn or_zero(now: Option<Time>) -> Timestamp {
    now.map_or(Timestamp::ZERO, |now| now.0)
}

methods! { LoopBackoff(self, py);
    shown "<LoopBackoff next {}>", self.machine.backoff().duration();

    /// The delays of a backoff from its current step. The loop backoff begins again when asked more than `after_quiet`
    /// after it was last asked, or more than `every` after it last began again.
    new(
        backoff: &Bound<'_, WaitBackoff>; after_quiet: Option<Duration<'_, '_>> = None,
        every: Option<Duration<'_, '_>> = None, now: Option<Time> = None, seed: Seed = None
    ) -> PyResult<Self> = {
        let reset = match (after_quiet, every) {
            (None, None) => Reset::Never,
            (Some(quiet), None) => Reset::AfterQuiet(quiet.span("after_quiet")?),
            (None, Some(every)) => Reset::Every(every.span("every")?),
            (Some(_), Some(_)) => return Err(PyTypeError::new_err("give after_quiet or every, not both")),
        };
        Ok(Self::of(holdoff_core::LoopBackoff::new(backoff.try_borrow()?.machine, reset, or_zero(now)), seed))
    };

    /// The same delay each time and up to jitter of it more: Kubernetes' NewJitteredBackoffManager.
    static jittered(period: Duration<'_, '_>, jitter: f64 = 0.0; seed: Seed = None) -> PyResult<Self> = {
        let made = holdoff_core::LoopBackoff::jittered(period.span("period")?, jitter);
        Ok(Self::of(config::valid(py, made)?, seed))
    };

    /// Grows from initial by factor up to max, and begins again after more than reset without being asked: Kubernetes'
    /// NewExponentialBackoffManager.
    static exponential(
        initial: Duration<'_, '_>, max: Duration<'_, '_>, reset: Duration<'_, '_>;
        factor: f64 = 2.0, jitter: f64 = 0.0, now: Option<Time> = None, seed: Seed = None
    ) -> PyResult<Self> = {
        let (first, longest, quiet) = (initial.span("initial")?, max.span("max")?, reset.span("reset")?);
        let made = holdoff_core::LoopBackoff::exponential(first, longest, quiet, factor, jitter, or_zero(now));
        Ok(Self::of(config::valid(py, made)?, seed))
    };

    /// Steps the backoff and begins again every reset: Kubernetes' Backoff.DelayWithReset.
    static with_reset(
        backoff: &Bound<'_, WaitBackoff>, reset: Duration<'_, '_>; now: Option<Time> = None, seed: Seed = None
    ) -> PyResult<Self> = {
        let backoff = backoff.try_borrow()?.machine;
        Ok(Self::of(holdoff_core::LoopBackoff::with_reset(backoff, reset.span("reset")?, or_zero(now)), seed))
    };

    /// The delay to wait at that time.
    mut next(now: Time) -> PyResult<u64> = {
        let uniform = self.draws.uniform(self.machine.draws())?;
        Ok(self.machine.next(now.0, uniform).as_nanos())
    };

    /// True if a delay draws a uniform.
    get draws: bool = self.machine.draws();

    /// A copy of the backoff at its current step.
    get backoff: WaitBackoff = WaitBackoff { machine: *self.machine.backoff(), draws: self.draws.clone() };
}

/// The next action for the host of a `Periodic`. Fields that do not fit the kind are None.
#[pyclass(frozen, eq, module = "holdoff.machines")]
#[derive(PartialEq)]
pub(crate) struct PeriodicStep(holdoff_core::PeriodicStep);

methods! { PeriodicStep(self, py);
    shown "<PeriodicStep {:?}>", self.0;

    /// "run", "sleep", "wait" or "stop".
    get kind: PeriodicKind = PeriodicKind(match self.0 {
        holdoff_core::PeriodicStep::Run { .. } => "run",
        holdoff_core::PeriodicStep::Sleep { .. } => "sleep",
        holdoff_core::PeriodicStep::Wait => "wait",
        holdoff_core::PeriodicStep::Stop(_) => "stop",
    });

    /// Run: its number, from 1, which goes back with the answer.
    get run: Option<u64> = if let holdoff_core::PeriodicStep::Run { run } = self.0 { Some(run) } else { None };

    /// Sleep: when to tick.
    get until: Option<u64> =
        if let holdoff_core::PeriodicStep::Sleep { until } = self.0 { Some(until.as_nanos()) } else { None };

    /// Stop: "cancelled", "done", "failed", "deadline" or "steps".
    get ended: Option<Ended> = if let holdoff_core::PeriodicStep::Stop(ended) = self.0 { Some(Ended(ended)) } else { None };
}

/// A repeated task as a machine. Every method returns the current step.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct Periodic(holdoff_core::Periodic);

methods! { Periodic(self, py);
    shown "<Periodic run {}>", self.0.runs();

    new(
        loop_backoff: &Bound<'_, LoopBackoff>;
        timer: &str as "Literal['variable', 'grid', 'grid_skipping', 'no_wait']" = "variable", sliding: bool = true,
        immediate: bool = true, first_is_sure: bool = false, by_steps: bool = false, last_at_deadline: bool = false,
        deadline: Option<Limit<'_, '_>> = None, seed: Seed = None, now: Option<Time> = None
    ) -> PyResult<Self> = {
        let timer = choice("timer", timer, &Timer::ALL, Timer::name)?;
        let deadline = deadline.map_or(Ok(None), |deadline| deadline.span("deadline"))?;
        let options =
            PeriodicOptions { timer, sliding, immediate, first_is_sure, by_steps, last_at_deadline, deadline };
        let machine = loop_backoff.try_borrow()?.machine;
        Ok(Self(holdoff_core::Periodic::new(machine, options, seeds::of(seed)?, or_zero(now))))
    };

    /// Time has passed: begins the task, or starts the next run if it is due.
    mut tick(now: Time) -> PeriodicStep = PeriodicStep(self.0.tick_with(now.0, replaced()));

    /// The run with this number ended: "again", "done" or "failed".
    mut finish(run: RunNumber, now: Time, answer: &str as "Answer" = "again") -> PyResult<PeriodicStep> = {
        let answer = choice("answer", answer, &Answer::ALL, Answer::name)?;
        Ok(PeriodicStep(self.0.finish_with(run.0, now.0, answer, replaced())))
    };

    /// The caller cancels the task; a run in flight is the last one.
    mut cancel() -> PeriodicStep = PeriodicStep(self.0.cancel());

    /// The number of the run in flight or else the last one; 0 before the first.
    get runs: u64 = self.0.runs();

    /// How many intervals the loop backoff was asked for.
    get intervals: u64 = self.0.intervals();

    /// The last interval; of a grid, its mesh.
    get interval: u64 = self.0.interval().as_nanos();
}
