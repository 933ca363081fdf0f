//! The raw machines, for loops and tests of one's own. Times are ints of nanoseconds since any epoch.

use crate::failure::Failure;
use crate::policy::Given;
use crate::{convert, save};
use holdoff_core::{Outcome, Span, Ticket};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt};

/// What the host of a `Call` is to do next. Fields that a kind has no use for are None.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct Step(pub(crate) holdoff_core::Step);

#[pymethods]
impl Step {
    /// "attempt", "sleep", "wait" or "stop".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0 {
            holdoff_core::Step::Attempt { .. } => "attempt",
            holdoff_core::Step::Sleep { .. } => "sleep",
            holdoff_core::Step::Wait { .. } => "wait",
            holdoff_core::Step::Stop(_) => "stop",
        }
    }

    /// Stop: "succeeded", "gave_up" or "cancelled".
    #[getter]
    fn outcome(&self) -> Option<&'static str> {
        match self.0 {
            holdoff_core::Step::Stop(Outcome::Succeeded) => Some("succeeded"),
            holdoff_core::Step::Stop(Outcome::GaveUp { .. }) => Some("gave_up"),
            holdoff_core::Step::Stop(Outcome::Cancelled) => Some("cancelled"),
            _ => None,
        }
    }

    /// Gave up: why.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        match self.0 {
            holdoff_core::Step::Stop(Outcome::GaveUp { reason, .. }) => Some(reason.name()),
            _ => None,
        }
    }

    /// Gave up: when another try might succeed; NEVER when nobody knows.
    #[getter]
    fn retry_at(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::Step::Stop(Outcome::GaveUp { retry_at, .. }) => Some(retry_at.as_nanos()),
            _ => None,
        }
    }

    /// Attempt: its number, from 1.
    #[getter]
    fn attempt(&self) -> Option<u32> {
        match self.0 {
            holdoff_core::Step::Attempt { ticket, .. } => Some(ticket.attempt()),
            _ => None,
        }
    }

    /// Attempt: what goes back with its result.
    #[getter]
    fn ticket(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::Step::Attempt { ticket, .. } => Some(ticket.as_raw()),
            _ => None,
        }
    }

    /// Attempt: when to abort it; NEVER without a limit.
    #[getter]
    fn abort_at(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::Step::Attempt { abort_at, .. } => Some(abort_at.as_nanos()),
            _ => None,
        }
    }

    /// Attempt: when to tick although it still runs; NEVER unless it hedges.
    #[getter]
    fn wake_at(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::Step::Attempt { wake_at, .. } => Some(wake_at.as_nanos()),
            _ => None,
        }
    }

    /// Sleep, wait: when to tick.
    #[getter]
    fn until(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::Step::Sleep { until, .. } | holdoff_core::Step::Wait { until } => Some(until.as_nanos()),
            _ => None,
        }
    }

    /// Sleep: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead".
    #[getter]
    fn cause(&self) -> Option<&'static str> {
        match self.0 {
            holdoff_core::Step::Sleep { cause, .. } => Some(cause.name()),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("<Step {:?}>", self.0)
    }
}

/// The whole loop as a machine. Every method answers with the step that holds now; see the guide for the contract.
#[pyclass(module = "holdoff")]
pub(crate) struct Call(pub(crate) holdoff_core::Call);

#[pymethods]
impl Call {
    /// Begin a call: the machine and its first step, the first attempt.
    #[staticmethod]
    fn begin(policy: Given<'_>, seed: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>) -> PyResult<(Self, Step)> {
        let (seed, now) = (convert::seed("seed", seed)?, convert::time("now", now)?);
        let (call, step) = holdoff_core::Call::begin(policy.core(), seed, now);
        Ok((Self(call), Step(step)))
    }

    /// A call whose first attempt, ticket 1, runs since then: the lazy way in, after a failure.
    #[staticmethod]
    fn underway(seed: &Bound<'_, PyAny>, started: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (seed, started) = (convert::seed("seed", seed)?, convert::time("started", started)?);
        Ok(Self(holdoff_core::Call::underway(seed, started)))
    }

    /// The attempt with this ticket succeeded.
    fn succeed(&mut self, ticket: &Bound<'_, PyAny>, now: &Bound<'_, PyAny>) -> PyResult<Step> {
        Ok(Step(self.0.succeed(self::ticket(ticket)?, convert::time("now", now)?)))
    }

    /// The attempt with this ticket failed.
    fn fail(
        &mut self,
        policy: Given<'_>,
        ticket: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
        failure: &Bound<'_, Failure>,
    ) -> PyResult<Step> {
        let (ticket, now) = (self::ticket(ticket)?, convert::time("now", now)?);
        Ok(Step(self.0.fail(policy.core(), ticket, now, failure.get().0)))
    }

    /// Time has passed: the next attempt, when its sleep is over.
    fn tick(&mut self, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<Step> {
        Ok(Step(self.0.tick(policy.core(), convert::time("now", now)?)))
    }

    /// The caller wants no more of it.
    fn cancel(&mut self, now: &Bound<'_, PyAny>) -> PyResult<Step> {
        Ok(Step(self.0.cancel(convert::time("now", now)?)))
    }

    /// Nanoseconds still to sleep; 0 when it does not sleep.
    fn remaining(&self, now: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.0.remaining(convert::time("now", now)?).as_nanos())
    }

    /// The attempt in flight or, asleep or at the end, the last one that ran.
    #[getter]
    fn attempt(&self) -> u32 {
        self.0.attempt()
    }

    /// When the call began.
    #[getter]
    fn started(&self) -> u64 {
        self.0.started().as_nanos()
    }

    /// The state at that time as bytes that last. The policy is the one that the state was made under.
    fn save<'py>(&self, py: Python<'py>, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.save(policy.core(), save::now(now)?)))
    }

    /// The state at that time as JSON text.
    fn to_json(&self, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(self.0.saved(policy.core(), save::now(now)?).to_string())
    }

    /// The state at that time as a dict: the fields of its JSON.
    fn to_dict<'py>(&self, py: Python<'py>, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        save::fields(py, &self.0.saved(policy.core(), save::now(now)?))
    }

    /// What was saved, as bytes, JSON text or a dict, in whatever language, on a clock that reads `now`. The time it was
    /// `away` counts only if it is given; `force` takes a state that was saved under another policy.
    #[staticmethod]
    #[pyo3(signature = (state, policy, now, *, away = None, force = false))]
    fn resume(
        state: &Bound<'_, PyAny>,
        policy: Given<'_>,
        now: &Bound<'_, PyAny>,
        away: Option<&Bound<'_, PyAny>>,
        force: bool,
    ) -> PyResult<Self> {
        let saved = save::read(state, policy.core(), away, force)?;
        save::resumed(state.py(), saved.call(policy.core(), save::now(now)?)).map(Self)
    }

    fn __repr__(&self) -> String {
        format!("<Call attempt {}>", self.0.attempt())
    }
}

/// A ticket; a number that no ticket has names no attempt.
pub(crate) fn ticket(value: &Bound<'_, PyAny>) -> PyResult<Ticket> {
    convert::time("ticket", value).map(|raw| Ticket::from_raw(raw.as_nanos()))
}

/// What to do after a failure: sleep until then, or give up for that reason.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct Decision(holdoff_core::Decision);

#[pymethods]
impl Decision {
    /// "sleep" or "give_up".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0 {
            holdoff_core::Decision::Sleep { .. } => "sleep",
            holdoff_core::Decision::GiveUp { .. } => "give_up",
        }
    }

    /// Sleep: until when.
    #[getter]
    fn until(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::Decision::Sleep { until, .. } => Some(until.as_nanos()),
            holdoff_core::Decision::GiveUp { .. } => None,
        }
    }

    /// Sleep: "backoff", "hint" or "clip".
    #[getter]
    fn cause(&self) -> Option<&'static str> {
        match self.0 {
            holdoff_core::Decision::Sleep { cause, .. } => Some(cause.name()),
            holdoff_core::Decision::GiveUp { .. } => None,
        }
    }

    /// Give up: why.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        match self.0 {
            holdoff_core::Decision::GiveUp { reason, .. } => Some(reason.name()),
            holdoff_core::Decision::Sleep { .. } => None,
        }
    }

    /// Give up: when another try might succeed; NEVER when nobody knows.
    #[getter]
    fn retry_at(&self) -> Option<u64> {
        match self.0 {
            holdoff_core::Decision::GiveUp { retry_at, .. } => Some(retry_at.as_nanos()),
            holdoff_core::Decision::Sleep { .. } => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("<Decision {:?}>", self.0)
    }
}

/// One decision a failure: the state of one operation, without its loop.
#[pyclass(module = "holdoff")]
pub(crate) struct Retry(holdoff_core::Retry);

#[pymethods]
impl Retry {
    #[new]
    fn new(seed: &Bound<'_, PyAny>, started: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (seed, started) = (convert::seed("seed", seed)?, convert::time("started", started)?);
        Ok(Self(holdoff_core::Retry::new(seed, started)))
    }

    /// Decide what to do about an attempt that failed at that time.
    fn on_failure(
        &mut self,
        policy: Given<'_>,
        now: &Bound<'_, PyAny>,
        failure: &Bound<'_, Failure>,
    ) -> PyResult<Decision> {
        Ok(Decision(self.0.on_failure(policy.core(), convert::time("now", now)?, failure.get().0)))
    }

    /// How many attempts have failed.
    #[getter]
    fn failures(&self) -> u32 {
        self.0.failures()
    }

    /// When the first attempt began.
    #[getter]
    fn started(&self) -> u64 {
        self.0.started().as_nanos()
    }

    /// When the operation as a whole must be over; NEVER without a deadline.
    fn deadline(&self, policy: Given<'_>) -> u64 {
        self.0.deadline(policy.core()).as_nanos()
    }

    /// The state at that time as bytes that last. The policy is the one that the state was made under.
    fn save<'py>(&self, py: Python<'py>, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.save(policy.core(), save::now(now)?)))
    }

    /// The state at that time as JSON text.
    fn to_json(&self, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(self.0.saved(policy.core(), save::now(now)?).to_string())
    }

    /// The state at that time as a dict: the fields of its JSON.
    fn to_dict<'py>(&self, py: Python<'py>, policy: Given<'_>, now: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        save::fields(py, &self.0.saved(policy.core(), save::now(now)?))
    }

    /// What was saved, as bytes, JSON text or a dict, in whatever language, on a clock that reads `now`. The time it was
    /// `away` counts only if it is given; `force` takes a state that was saved under another policy.
    #[staticmethod]
    #[pyo3(signature = (state, policy, now, *, away = None, force = false))]
    fn resume(
        state: &Bound<'_, PyAny>,
        policy: Given<'_>,
        now: &Bound<'_, PyAny>,
        away: Option<&Bound<'_, PyAny>>,
        force: bool,
    ) -> PyResult<Self> {
        let saved = save::read(state, policy.core(), away, force)?;
        save::resumed(state.py(), saved.retry(policy.core(), save::now(now)?)).map(Self)
    }

    fn __repr__(&self) -> String {
        format!("<Retry after {} failures>", self.0.failures())
    }
}

/// The delays of a policy in nanoseconds, one after the other, as if every attempt failed at once.
#[pyclass(module = "holdoff")]
pub(crate) struct Schedule(holdoff_core::Schedule);

#[pymethods]
impl Schedule {
    #[new]
    fn new(policy: Given<'_>, seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(holdoff_core::Schedule::new(policy.core(), convert::seed("seed", seed)?)))
    }

    /// The base delay, before jitter, after failure n (from 0), in nanoseconds.
    #[staticmethod]
    fn base_at(policy: Given<'_>, n: &Bound<'_, PyInt>) -> PyResult<u64> {
        let n = u32::try_from(convert::time("n", n)?.as_nanos()).unwrap_or(u32::MAX);
        Ok(holdoff_core::Schedule::base_at(policy.core(), n).as_nanos())
    }

    /// The delays if the generator drew nothing but this number: 0 shows the bottom of every range, 2**31 its middle,
    /// 2**32-1 its top.
    #[staticmethod]
    fn pinned(policy: Given<'_>, draw: u32) -> Self {
        Self(holdoff_core::Schedule::pinned(policy.core(), draw))
    }

    /// The next delay after a failure of this kind if the generator drew u from [0, 1) for it; None at the end.
    fn next_at(&mut self, kind: &Bound<'_, PyAny>, u: f64) -> PyResult<Option<u64>> {
        Ok(self.0.next_at(convert::kind(kind)?, u).map(Span::as_nanos))
    }

    /// What the policy's jitter makes of a delay for the draw u from [0, 1); `longest` is what its cap is about, no limit
    /// unless given. `drawn` is the whole number that bounded jitter takes in place of u. All in nanoseconds.
    #[staticmethod]
    #[pyo3(signature = (policy, delay, u = 0.0, *, longest = None, drawn = None))]
    fn jittered(
        policy: Given<'_>,
        delay: &Bound<'_, PyAny>,
        u: f64,
        longest: Option<&Bound<'_, PyAny>>,
        drawn: Option<i64>,
    ) -> PyResult<u64> {
        let span = |name, value| convert::time(name, value).map(|nanos| Span::from_nanos(nanos.as_nanos()));
        let longest = longest.map_or(Ok(Span::MAX), |longest| span("longest", longest))?;
        let (policy, delay) = (policy.core(), span("delay", delay)?);
        let jittered = match drawn {
            Some(drawn) => policy.jitter().apply_drawn(delay, drawn),
            None => policy.jitter().apply_capped(delay, longest, policy.cap(), u),
        };
        Ok(jittered.as_nanos())
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Option<u64> {
        self.0.next().map(Span::as_nanos)
    }
}
