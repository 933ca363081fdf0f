//! Whether the other side is well enough to be called.

use super::{Guard, Shared};
use crate::clock;
use holdoff_core::{BreakerConfig, ConfigError, GuardsBuilder, Permit, SaveError, Span, Timestamp, Value, Verdict};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A circuit breaker, shared by all calls that are given it. A permit is an int, to hand back with the result.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Breaker {
    pub(super) shared: Shared<BreakerConfig, holdoff_core::Breaker>,
    /// Whether it is of no interest how long a call takes.
    pub(super) untimed: bool,
    /// Whether a success leaves nothing behind, so that its time is of no interest either.
    pub(super) forgets_successes: bool,
}

impl Breaker {
    fn with(config: BreakerConfig, state: holdoff_core::Breaker, untimed: bool) -> Self {
        let mut probe = holdoff_core::Breaker::new(&config, 0, Timestamp::ZERO);
        if let Some(permit) = probe.acquire_closed() {
            probe.record(&config, permit, Timestamp::ZERO, Verdict::Success, Span::ZERO);
        }
        let forgets_successes = probe.rates(&config, Timestamp::ZERO) == (0, 0, 0);
        Self { shared: Shared::new(config, state), untimed, forgets_successes }
    }
}

impl Guard for Breaker {
    const SECTION: &'static str = "breaker";

    fn fresh(builder: &GuardsBuilder, seed: u64, now: Timestamp) -> Result<Option<Self>, ConfigError> {
        let Some(config) = builder.breaker()? else { return Ok(None) };
        let mut without = *builder;
        // A kind that has no use for the field refuses it.
        let untimed = without.set("breaker.slow_after", Value::Text("none")).is_ok()
            && without.breaker().ok().flatten().is_none_or(|other| other == config);
        Ok(Some(Self::with(config, holdoff_core::Breaker::new(&config, seed, now), untimed)))
    }

    fn bytes(&self, now: Timestamp) -> Vec<u8> {
        let (config, state) = self.shared.lock();
        state.save(config, now).to_vec()
    }

    fn again(&self, bytes: &[u8], now: Timestamp) -> Result<Self, SaveError> {
        let config = *self.shared.config();
        let state = holdoff_core::Breaker::restore(bytes, &config, now)?;
        Ok(Self::with(config, state, self.untimed))
    }
}

#[pymethods]
impl Breaker {
    #[new]
    #[pyo3(signature = (config = None, /, *, seed = None, now = None, **fields))]
    fn new(
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        super::made(py, config, fields, seed, now)
    }

    /// A permit for a call; None when it may not run, and `retry_at` says when to ask again.
    #[pyo3(signature = (now = None))]
    fn acquire(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u32>> {
        let now = clock::given(py, now)?;
        let (config, mut breaker) = self.shared.lock();
        Ok(breaker.acquire(config, now).ok().map(Permit::as_raw))
    }

    /// A call with that permit ended, after it took that many nanoseconds.
    #[pyo3(signature = (permit, failed = false, took = None, now = None))]
    fn record(
        &self,
        py: Python<'_>,
        permit: u32,
        failed: bool,
        took: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let took = took.map_or(Ok(Span::ZERO), |took| super::span("took", took))?;
        let now = clock::given(py, now)?;
        let (config, mut breaker) = self.shared.lock();
        let verdict = if failed { Verdict::Failure } else { Verdict::Success };
        breaker.record(config, Permit::from_raw(permit), now, verdict, took);
        Ok(())
    }

    /// A call with that permit never ran, or ended in a way that says nothing.
    #[pyo3(signature = (permit, now = None))]
    fn abandon(&self, py: Python<'_>, permit: u32, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        let (config, mut breaker) = self.shared.lock();
        breaker.abandon(config, Permit::from_raw(permit), now);
        Ok(())
    }

    /// The server said not to come before that many nanoseconds: it is open so long, if it listens to that.
    #[pyo3(signature = (span, now = None))]
    fn hint(&self, py: Python<'_>, span: &Bound<'_, PyAny>, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let (span, now) = (super::span("span", span)?, clock::given(py, now)?);
        let (config, mut breaker) = self.shared.lock();
        breaker.hint(config, now, span);
        Ok(())
    }

    /// Opens it until it is reset or forced closed.
    #[pyo3(signature = (now = None))]
    fn isolate(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        self.shared.lock().1.isolate(now);
        Ok(())
    }

    /// Closes it.
    #[pyo3(signature = (now = None))]
    fn force_close(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        self.shared.lock().1.force_close(now);
        Ok(())
    }

    /// Closes it and forgets all it has seen.
    #[pyo3(signature = (now = None))]
    fn reset(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        self.shared.lock().1.reset(now);
        Ok(())
    }

    /// "closed", "open", "half_open" or "isolated".
    #[pyo3(signature = (now = None))]
    fn state(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<&'static str> {
        let now = clock::given(py, now)?;
        let (config, breaker) = self.shared.lock();
        Ok(breaker.state(config, now).name())
    }

    /// Until when a call at that time would be refused; None when it would not be.
    #[pyo3(signature = (now = None))]
    fn refuses(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
        let now = clock::given(py, now)?;
        let (config, breaker) = self.shared.lock();
        Ok(breaker.refuses(config, now).map(Timestamp::as_nanos))
    }

    /// When to ask again after a refusal; NEVER when nobody knows.
    #[getter]
    fn retry_at(&self) -> u64 {
        self.shared.lock().1.retry_at().as_nanos()
    }

    /// How many calls it looks back on, how many of them failed, and how many were slow.
    #[pyo3(signature = (now = None))]
    fn rates(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<(u32, u32, u32)> {
        let now = clock::given(py, now)?;
        let (config, breaker) = self.shared.lock();
        Ok(breaker.rates(config, now))
    }

    /// How often it has opened.
    #[getter]
    fn openings(&self) -> u32 {
        self.shared.lock().1.openings()
    }

    /// The state as bytes that last.
    #[pyo3(signature = (now = None))]
    fn save<'py>(&self, py: Python<'py>, now: Option<&Bound<'_, PyAny>>) -> PyResult<Bound<'py, PyBytes>> {
        super::saved(py, self, now)
    }

    /// A guard with that configuration and the state that was saved.
    #[staticmethod]
    #[pyo3(signature = (config, state, now = None))]
    fn restore(
        config: &Bound<'_, PyAny>,
        state: &Bound<'_, PyBytes>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        super::restored(config, state, None, now)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Breaker {}, opened {} times>", self.state(py, None)?, self.openings()))
    }
}
