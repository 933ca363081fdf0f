//! Delays that carry their own configuration: the stepped backoff, the pace that begins again, and the loop at a pace.

use crate::config::{self, span, span_or_none};
use crate::convert;
use crate::seeds::Draws;
use holdoff_core::{Answer, Ended, PeriodicOptions, Reset, Span, Timer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A backoff that steps: each step answers with the delay and moves on (Kubernetes' wait.Backoff). Delays are nanoseconds.
#[pyclass(module = "holdoff")]
pub(crate) struct Stepped {
    machine: holdoff_core::Stepped,
    draws: Draws,
}

impl Stepped {
    fn of(
        py: Python<'_>,
        made: Result<holdoff_core::Stepped, holdoff_core::ConfigError>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self { machine: config::valid(py, made)?, draws: Draws::new(seed)? })
    }
}

#[pymethods]
impl Stepped {
    #[new]
    #[pyo3(signature = (duration, *, factor = 0.0, jitter = 0.0, cap = None, steps = 0, seed = None))]
    fn new(
        duration: &Bound<'_, PyAny>,
        factor: f64,
        jitter: f64,
        cap: Option<&Bound<'_, PyAny>>,
        steps: u64,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let cap = span_or_none("cap", cap)?.unwrap_or(Span::MAX);
        let made = holdoff_core::Stepped::new(span("duration", duration)?, factor, jitter, cap, steps);
        Self::of(duration.py(), made, seed)
    }

    /// From the fields of a Kubernetes wait.Backoff, where a jitter, steps or cap (nanoseconds) that is not positive means none.
    #[staticmethod]
    #[pyo3(signature = (duration, *, factor = 0.0, jitter = 0.0, steps = 0, cap_ns = 0, seed = None))]
    fn kubernetes(
        duration: &Bound<'_, PyAny>,
        factor: f64,
        jitter: f64,
        steps: i64,
        cap_ns: i64,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let made = holdoff_core::Stepped::kubernetes(span("duration", duration)?, factor, jitter, steps, cap_ns);
        Self::of(duration.py(), made, seed)
    }

    /// Kubernetes' wait.Jitter: the same delay and up to max_factor of it more; a factor that is not positive reads as 1.
    #[staticmethod]
    #[pyo3(signature = (duration, max_factor, *, seed = None))]
    fn kubernetes_jitter(
        duration: &Bound<'_, PyAny>,
        max_factor: f64,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let made = holdoff_core::Stepped::kubernetes_jitter(span("duration", duration)?, max_factor);
        Self::of(duration.py(), made, seed)
    }

    /// The next delay; moves on. The uniform from [0, 1) is drawn unless it is given.
    #[pyo3(signature = (u = None))]
    fn step(&mut self, u: Option<f64>) -> PyResult<u64> {
        let u = self.draws.take(u, self.machine.draws())?;
        Ok(self.machine.step(u).as_nanos())
    }

    /// Whether a step draws a uniform.
    #[getter]
    fn draws(&self) -> bool {
        self.machine.draws()
    }

    /// The delay of the next step, before jitter.
    #[getter]
    fn duration(&self) -> u64 {
        self.machine.duration().as_nanos()
    }

    /// How many steps may still multiply the duration.
    #[getter]
    fn steps(&self) -> u64 {
        self.machine.steps()
    }

    /// What a step multiplies the duration by; 0 for nothing.
    #[getter]
    fn factor(&self) -> f64 {
        self.machine.factor()
    }

    /// The part of a delay that jitter may add.
    #[getter]
    fn jitter(&self) -> f64 {
        self.machine.jitter()
    }

    /// What multiplying stops at; None for nothing.
    #[getter]
    fn cap(&self) -> Option<u64> {
        Some(self.machine.cap()).filter(|cap| *cap < Span::MAX).map(Span::as_nanos)
    }

    fn __copy__(&self) -> Self {
        Self { machine: self.machine, draws: self.draws.clone() }
    }

    fn __repr__(&self) -> String {
        format!("<Stepped next {}, {} steps left>", self.machine.duration(), self.machine.steps())
    }
}

/// The delays between the runs of something that runs again and again: a stepped backoff that begins again by itself.
#[pyclass(module = "holdoff")]
pub(crate) struct Pace {
    machine: holdoff_core::Pace,
    draws: Draws,
}

#[pymethods]
impl Pace {
    /// The delays of a backoff as it stands. It begins again when asked more than `after_quiet` after it was last asked, or
    /// more than `every` after it last began again.
    #[new]
    #[pyo3(signature = (backoff, *, after_quiet = None, every = None, now = None, seed = None))]
    fn new(
        backoff: &Bound<'_, Stepped>,
        after_quiet: Option<&Bound<'_, PyAny>>,
        every: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let reset = match (after_quiet, every) {
            (None, None) => Reset::Never,
            (Some(quiet), None) => Reset::AfterQuiet(span("after_quiet", quiet)?),
            (None, Some(every)) => Reset::Every(span("every", every)?),
            (Some(_), Some(_)) => return Err(PyTypeError::new_err("give after_quiet or every, not both")),
        };
        let machine = holdoff_core::Pace::new(backoff.try_borrow()?.machine, reset, convert::now(now)?);
        Ok(Self { machine, draws: Draws::new(seed)? })
    }

    /// The same delay each time and up to jitter of it more: Kubernetes' NewJitteredBackoffManager.
    #[staticmethod]
    #[pyo3(signature = (period, jitter = 0.0, *, seed = None))]
    fn jittered(period: &Bound<'_, PyAny>, jitter: f64, seed: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let made = holdoff_core::Pace::jittered(span("period", period)?, jitter);
        Ok(Self { machine: config::valid(period.py(), made)?, draws: Draws::new(seed)? })
    }

    /// Grows from initial by factor up to max, and begins again after more than reset without being asked: Kubernetes'
    /// NewExponentialBackoffManager.
    #[staticmethod]
    #[pyo3(signature = (initial, max, reset, *, factor = 2.0, jitter = 0.0, now = None, seed = None))]
    fn exponential(
        initial: &Bound<'_, PyAny>,
        max: &Bound<'_, PyAny>,
        reset: &Bound<'_, PyAny>,
        factor: f64,
        jitter: f64,
        now: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (first, longest, quiet) = (span("initial", initial)?, span("max", max)?, span("reset", reset)?);
        let made = holdoff_core::Pace::exponential(first, longest, quiet, factor, jitter, convert::now(now)?);
        Ok(Self { machine: config::valid(initial.py(), made)?, draws: Draws::new(seed)? })
    }

    /// Steps the backoff and begins again every reset: Kubernetes' Backoff.DelayWithReset.
    #[staticmethod]
    #[pyo3(signature = (backoff, reset, *, now = None, seed = None))]
    fn with_reset(
        backoff: &Bound<'_, Stepped>,
        reset: &Bound<'_, PyAny>,
        now: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let backoff = backoff.try_borrow()?.machine;
        let machine = holdoff_core::Pace::with_reset(backoff, span("reset", reset)?, convert::now(now)?);
        Ok(Self { machine, draws: Draws::new(seed)? })
    }

    /// The delay to wait at that time. The uniform from [0, 1) is drawn unless it is given.
    #[pyo3(signature = (now, u = None))]
    fn next(&mut self, now: &Bound<'_, PyAny>, u: Option<f64>) -> PyResult<u64> {
        let now = convert::time("now", now)?;
        let u = self.draws.take(u, self.machine.draws())?;
        Ok(self.machine.next(now, u).as_nanos())
    }

    /// Whether a delay draws a uniform.
    #[getter]
    fn draws(&self) -> bool {
        self.machine.draws()
    }

    /// A copy of the backoff as it stands.
    #[getter]
    fn backoff(&self) -> Stepped {
        Stepped { machine: *self.machine.backoff(), draws: self.draws.clone() }
    }

    fn __repr__(&self) -> String {
        format!("<Pace next {}>", self.machine.backoff().duration())
    }
}

/// What the host of a `Periodic` is to do next. Fields that a kind has no use for are None.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct PeriodicStep(holdoff_core::PeriodicStep);

#[pymethods]
impl PeriodicStep {
    /// "run", "sleep", "wait" or "stop".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0 {
            holdoff_core::PeriodicStep::Run { .. } => "run",
            holdoff_core::PeriodicStep::Sleep { .. } => "sleep",
            holdoff_core::PeriodicStep::Wait => "wait",
            holdoff_core::PeriodicStep::Stop(_) => "stop",
        }
    }

    /// Run: its number, from 1, which goes back with the answer.
    #[getter]
    fn run(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::PeriodicStep::Run { run } => Some(run),
            _ => None,
        }
    }

    /// Sleep: when to tick.
    #[getter]
    fn until(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::PeriodicStep::Sleep { until } => Some(until.as_nanos()),
            _ => None,
        }
    }

    /// Stop: "cancelled", "done", "failed", "deadline" or "steps".
    #[getter]
    fn ended(&self) -> Option<&'static str> {
        match self.0 {
            holdoff_core::PeriodicStep::Stop(ended) => Some(Ended::name(ended)),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("<PeriodicStep {:?}>", self.0)
    }
}

/// Something that runs again and again, as a machine. Every method answers with the step that holds now.
#[pyclass(module = "holdoff")]
pub(crate) struct Periodic(holdoff_core::Periodic);

#[pymethods]
impl Periodic {
    #[new]
    #[pyo3(signature = (
        pace, *, timer = "variable", sliding = true, immediate = true, first_is_sure = false, by_steps = false,
        last_at_deadline = false, deadline = None, seed = None, now = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        pace: &Bound<'_, Pace>,
        timer: &str,
        sliding: bool,
        immediate: bool,
        first_is_sure: bool,
        by_steps: bool,
        last_at_deadline: bool,
        deadline: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let timer = match timer {
            "variable" => Timer::Variable,
            "grid" => Timer::Grid,
            "grid_skipping" => Timer::GridSkipping,
            "no_wait" => Timer::NoWait,
            other => {
                let known = "variable, grid, grid_skipping, no_wait";
                return Err(PyValueError::new_err(format!("timer = {other:?}: must be one of {known}")));
            }
        };
        let deadline = span_or_none("deadline", deadline)?;
        let options =
            PeriodicOptions { timer, sliding, immediate, first_is_sure, by_steps, last_at_deadline, deadline };
        let seed = crate::seeds::given(seed)?;
        Ok(Self(holdoff_core::Periodic::new(pace.try_borrow()?.machine, options, seed, convert::now(now)?)))
    }

    /// Time has passed: begins it, or starts the next run if it is due.
    fn tick(&mut self, now: &Bound<'_, PyAny>) -> PyResult<PeriodicStep> {
        Ok(PeriodicStep(self.0.tick(convert::time("now", now)?)))
    }

    /// The run with this number ended: "again", "done" or "failed".
    #[pyo3(signature = (run, now, answer = "again"))]
    fn finish(&mut self, run: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>, answer: &str) -> PyResult<PeriodicStep> {
        let answer = match answer {
            "again" => Answer::Again,
            "done" => Answer::Done,
            "failed" => Answer::Failed,
            other => {
                return Err(PyValueError::new_err(format!("answer = {other:?}: must be one of again, done, failed")));
            }
        };
        let run = convert::time("run", run)?.as_nanos();
        Ok(PeriodicStep(self.0.finish(run, convert::time("now", now)?, answer)))
    }

    /// The caller wants no more of it; a run in flight is the last one.
    fn cancel(&mut self) -> PeriodicStep {
        PeriodicStep(self.0.cancel())
    }

    /// The number of the run in flight or else the last one; 0 before the first.
    #[getter]
    fn runs(&self) -> u64 {
        self.0.runs()
    }

    /// The last interval that was asked for; of a grid, its mesh.
    #[getter]
    fn interval(&self) -> u64 {
        self.0.interval().as_nanos()
    }

    fn __repr__(&self) -> String {
        format!("<Periodic run {}>", self.0.runs())
    }
}
