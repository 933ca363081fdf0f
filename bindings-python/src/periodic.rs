//! Delays with their own configuration: the wait backoff, the loop backoff, and the periodic task.

use crate::config;
use crate::convert::choice;
use crate::parameters::{Duration, Ended, Limit, OrDefault as _, PeriodicKind, RunNumber, Seed, SpanOr as _, Time};
use crate::seeds::Draws;
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

methods! { WaitBackoff as backoff,
    shown "<WaitBackoff next {}, {} steps left>", backoff.machine.duration(), backoff.machine.steps();

    impl {
        #[new]
        #[pyo3(signature = (duration, *, factor = 0.0, jitter = 0.0, cap = None, steps = 0, seed = None))]
        fn new(
            py: Python<'_>,
            duration: Duration<'_, '_>,
            factor: f64,
            jitter: f64,
            cap: Option<Limit<'_, '_>>,
            steps: u64,
            seed: Seed,
        ) -> PyResult<Self> {
            let cap = cap.span_or("cap", Span::MAX)?;
            Self::of(py, holdoff_core::WaitBackoff::new(duration.span("duration")?, factor, jitter, cap, steps), seed)
        }

        /// From the fields of a Kubernetes wait.Backoff, where a jitter, steps or cap (nanoseconds) that is not positive
        /// means none.
        #[staticmethod]
        #[pyo3(signature = (duration, *, factor = 0.0, jitter = 0.0, steps = 0, cap_ns = 0, seed = None))]
        fn kubernetes(
            py: Python<'_>,
            duration: Duration<'_, '_>,
            factor: f64,
            jitter: f64,
            steps: i64,
            cap_ns: i64,
            seed: Seed,
        ) -> PyResult<Self> {
            Self::of(
                py,
                holdoff_core::WaitBackoff::kubernetes(duration.span("duration")?, factor, jitter, steps, cap_ns),
                seed,
            )
        }

        /// Kubernetes' wait.Jitter: the same delay and up to max_factor of it more; a factor that is not positive reads as 1.
        #[staticmethod]
        #[pyo3(signature = (duration, max_factor, *, seed = None))]
        fn kubernetes_jitter(py: Python<'_>, duration: Duration<'_, '_>, max_factor: f64, seed: Seed) -> PyResult<Self> {
            Self::of(py, holdoff_core::WaitBackoff::kubernetes_jitter(duration.span("duration")?, max_factor), seed)
        }

        /// Returns the next delay and moves on.
        fn step(&mut self) -> PyResult<u64> {
            let uniform = self.draws.uniform(self.machine.draws())?;
            Ok(self.machine.step(uniform).as_nanos())
        }

        fn __copy__(&self) -> Self {
            Self { machine: self.machine, draws: self.draws.clone() }
        }
    }

    get {
        /// True if a step draws a uniform.
        draws: bool = backoff.machine.draws();

        /// The delay of the next step, before jitter.
        duration: u64 = backoff.machine.duration().as_nanos();

        /// How many steps may still multiply the duration.
        steps: u64 = backoff.machine.steps();

        /// The factor of each step; 0 for none.
        factor: f64 = backoff.machine.factor();

        /// The part of a delay that jitter may add.
        jitter: f64 = backoff.machine.jitter();

        /// The largest duration; None without a cap.
        cap: Option<u64> = Some(backoff.machine.cap()).filter(|cap| *cap < Span::MAX).map(Span::as_nanos);
    }
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

methods! { LoopBackoff as backoff, shown "<LoopBackoff next {}>", backoff.machine.backoff().duration();
    impl {
        /// The delays of a backoff from its current step. The loop backoff begins again when asked more than `after_quiet`
        /// after it was last asked, or more than `every` after it last began again.
        #[new]
        #[pyo3(signature = (backoff, *, after_quiet = None, every = None, now = None, seed = None))]
        fn new(
            backoff: &Bound<'_, WaitBackoff>,
            after_quiet: Option<Duration<'_, '_>>,
            every: Option<Duration<'_, '_>>,
            now: Option<Time>,
            seed: Seed,
        ) -> PyResult<Self> {
            let reset = match (after_quiet, every) {
                (None, None) => Reset::Never,
                (Some(quiet), None) => Reset::AfterQuiet(quiet.span("after_quiet")?),
                (None, Some(every)) => Reset::Every(every.span("every")?),
                (Some(_), Some(_)) => return Err(PyTypeError::new_err("give after_quiet or every, not both")),
            };
            Ok(Self::of(holdoff_core::LoopBackoff::new(backoff.try_borrow()?.machine, reset, or_zero(now)), seed))
        }

        /// The same delay each time and up to jitter of it more: Kubernetes' NewJitteredBackoffManager.
        #[staticmethod]
        #[pyo3(signature = (period, jitter = 0.0, *, seed = None))]
        fn jittered(py: Python<'_>, period: Duration<'_, '_>, jitter: f64, seed: Seed) -> PyResult<Self> {
            let made = holdoff_core::LoopBackoff::jittered(period.span("period")?, jitter);
            Ok(Self::of(config::valid(py, made)?, seed))
        }

        /// Grows from initial by factor up to max, and begins again after more than reset without being asked: Kubernetes'
        /// NewExponentialBackoffManager.
        #[staticmethod]
        #[pyo3(signature = (initial, max, reset, *, factor = 2.0, jitter = 0.0, now = None, seed = None))]
        #[allow(clippy::too_many_arguments)]
        fn exponential(
            py: Python<'_>,
            initial: Duration<'_, '_>,
            max: Duration<'_, '_>,
            reset: Duration<'_, '_>,
            factor: f64,
            jitter: f64,
            now: Option<Time>,
            seed: Seed,
        ) -> PyResult<Self> {
            let (first, longest, quiet) = (initial.span("initial")?, max.span("max")?, reset.span("reset")?);
            let made = holdoff_core::LoopBackoff::exponential(first, longest, quiet, factor, jitter, or_zero(now));
            Ok(Self::of(config::valid(py, made)?, seed))
        }

        /// Steps the backoff and begins again every reset: Kubernetes' Backoff.DelayWithReset.
        #[staticmethod]
        #[pyo3(signature = (backoff, reset, *, now = None, seed = None))]
        fn with_reset(
            backoff: &Bound<'_, WaitBackoff>,
            reset: Duration<'_, '_>,
            now: Option<Time>,
            seed: Seed,
        ) -> PyResult<Self> {
            let backoff = backoff.try_borrow()?.machine;
            Ok(Self::of(holdoff_core::LoopBackoff::with_reset(backoff, reset.span("reset")?, or_zero(now)), seed))
        }

        /// The delay to wait at that time.
        fn next(&mut self, now: Time) -> PyResult<u64> {
            let uniform = self.draws.uniform(self.machine.draws())?;
            Ok(self.machine.next(now.0, uniform).as_nanos())
        }
    }

    get {
        /// True if a delay draws a uniform.
        draws: bool = backoff.machine.draws();

        /// A copy of the backoff at its current step.
        backoff: WaitBackoff = WaitBackoff { machine: *backoff.machine.backoff(), draws: backoff.draws.clone() };
    }
}

/// The next action for the host of a `Periodic`. Fields that do not fit the kind are None.
#[pyclass(frozen, eq, module = "holdoff.machines")]
#[derive(PartialEq)]
pub(crate) struct PeriodicStep(holdoff_core::PeriodicStep);

methods! { PeriodicStep as step, shown "<PeriodicStep {:?}>", step.0;
    get {
        /// "run", "sleep", "wait" or "stop".
        kind: PeriodicKind = PeriodicKind(match step.0 {
            holdoff_core::PeriodicStep::Run { .. } => "run",
            holdoff_core::PeriodicStep::Sleep { .. } => "sleep",
            holdoff_core::PeriodicStep::Wait => "wait",
            holdoff_core::PeriodicStep::Stop(_) => "stop",
        });

        /// Run: its number, from 1, which goes back with the answer.
        run: Option<u64> = if let holdoff_core::PeriodicStep::Run { run } = step.0 { Some(run) } else { None };

        /// Sleep: when to tick.
        until: Option<u64> =
            if let holdoff_core::PeriodicStep::Sleep { until } = step.0 { Some(until.as_nanos()) } else { None };

        /// Stop: "cancelled", "done", "failed", "deadline" or "steps".
        ended: Option<Ended> = if let holdoff_core::PeriodicStep::Stop(ended) = step.0 { Some(Ended(ended)) } else { None };
    }
}

/// A repeated task as a machine. Every method returns the current step.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct Periodic(holdoff_core::Periodic);

methods! { Periodic as task, shown "<Periodic run {}>", task.0.runs();
    impl {
        #[new]
        #[pyo3(signature = (
            loop_backoff, *, timer: "Literal['variable', 'grid', 'grid_skipping', 'no_wait']" = "variable", sliding = true,
            immediate = true, first_is_sure = false, by_steps = false, last_at_deadline = false, deadline = None,
            seed = None, now = None
        ))]
        #[allow(clippy::too_many_arguments)]
        fn new(
            py: Python<'_>,
            loop_backoff: &Bound<'_, LoopBackoff>,
            timer: &str,
            sliding: bool,
            immediate: bool,
            first_is_sure: bool,
            by_steps: bool,
            last_at_deadline: bool,
            deadline: Option<Limit<'_, '_>>,
            seed: Seed,
            now: Option<Time>,
        ) -> PyResult<Self> {
            let timers = Timer::ALL.map(|timer| (timer.name(), timer));
            let timer = choice("timer", timer, &timers)?;
            let deadline = deadline.map_or(Ok(None), |deadline| deadline.span("deadline"))?;
            let options =
                PeriodicOptions { timer, sliding, immediate, first_is_sure, by_steps, last_at_deadline, deadline };
            let machine = loop_backoff.try_borrow()?.machine;
            Ok(Self(holdoff_core::Periodic::new(machine, options, seed.or_default(py)?, or_zero(now))))
        }

        /// Time has passed: begins the task, or starts the next run if it is due.
        fn tick(&mut self, now: Time) -> PeriodicStep {
            PeriodicStep(self.0.tick(now.0))
        }

        /// The run with this number ended: "again", "done" or "failed".
        #[pyo3(signature = (run, now, answer: "Answer" = "again"))]
        fn finish(&mut self, run: RunNumber, now: Time, answer: &str) -> PyResult<PeriodicStep> {
            let answers = Answer::ALL.map(|answer| (answer.name(), answer));
            Ok(PeriodicStep(self.0.finish(run.0, now.0, choice("answer", answer, &answers)?)))
        }

        /// The caller cancels the task; a run in flight is the last one.
        fn cancel(&mut self) -> PeriodicStep {
            PeriodicStep(self.0.cancel())
        }
    }

    get {
        /// The number of the run in flight or else the last one; 0 before the first.
        runs: u64 = task.0.runs();

        /// The last interval; of a grid, its mesh.
        interval: u64 = task.0.interval().as_nanos();
    }
}
