//! How many attempts there may be in a time: a fixed limit, and one that follows the server's throttling.

use super::{Guard, Shared};
use crate::clock;
use holdoff_core::{AdaptiveConfig, ConfigError, GuardsBuilder, LimiterConfig, SaveError, Timestamp};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A limit of attempts in a time, shared by all calls that are given it.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Limiter(pub(super) Shared<LimiterConfig, (holdoff_core::Limiter, Vec<u64>)>);

impl Guard for Limiter {
    const SECTION: &'static str = "limiter";

    fn fresh(builder: &GuardsBuilder, _seed: u64, now: Timestamp) -> Result<Option<Self>, ConfigError> {
        Ok(builder.limiter()?.map(|config| {
            let state = (holdoff_core::Limiter::new(&config, now), vec![0; config.log_capacity()]);
            Self(Shared::new(config, state))
        }))
    }

    fn bytes(&self, now: Timestamp) -> Vec<u8> {
        let (config, state) = self.0.lock();
        let mut bytes = vec![0; holdoff_core::Limiter::saved(config)];
        let length = state.0.save(config, &state.1, now, &mut bytes);
        bytes.truncate(length.unwrap_or(0));
        bytes
    }

    fn again(&self, bytes: &[u8], now: Timestamp) -> Result<Self, SaveError> {
        let config = *self.0.config();
        let mut room = vec![0; config.log_capacity()];
        let state = holdoff_core::Limiter::restore(bytes, &config, &mut room, now)?;
        Ok(Self(Shared::new(config, (state, room))))
    }
}

#[pymethods]
impl Limiter {
    #[new]
    #[pyo3(signature = (config = None, /, *, now = None, **fields))]
    fn new(
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        super::made(py, config, fields, None, now)
    }

    /// Takes that many; whether they were there. If not, nothing is taken.
    #[pyo3(signature = (count = 1, now = None))]
    fn take(&self, py: Python<'_>, count: u32, now: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let now = clock::given(py, now)?;
        let (config, mut state) = self.0.lock();
        let (limiter, room) = &mut *state;
        Ok(limiter.take(config, room, count, now).is_ok())
    }

    /// When that many would be there, as things stand; None for at once, NEVER for more than there can be.
    #[pyo3(signature = (count = 1, now = None))]
    fn refuses(&self, py: Python<'_>, count: u32, now: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
        let now = clock::given(py, now)?;
        let (config, state) = self.0.lock();
        Ok(state.0.refuses(config, &state.1, count, now).map(Timestamp::as_nanos))
    }

    /// What was taken was not used.
    #[pyo3(signature = (count = 1, now = None))]
    fn give_back(&self, py: Python<'_>, count: u32, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        let (config, mut state) = self.0.lock();
        let (limiter, room) = &mut *state;
        limiter.give_back(config, room, count, now);
        Ok(())
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

    fn __repr__(&self) -> String {
        format!("<Limiter {:?}>", self.0.config().kind())
    }
}

/// A rate of attempts that follows the server's throttling, shared by all calls that are given it.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Adaptive(pub(super) Shared<AdaptiveConfig, holdoff_core::Adaptive>);

impl Guard for Adaptive {
    const SECTION: &'static str = "adaptive";

    fn fresh(builder: &GuardsBuilder, _seed: u64, now: Timestamp) -> Result<Option<Self>, ConfigError> {
        let config = builder.adaptive()?;
        Ok(config.map(|config| Self(Shared::new(config, holdoff_core::Adaptive::new(&config, now)))))
    }

    fn bytes(&self, now: Timestamp) -> Vec<u8> {
        let (config, state) = self.0.lock();
        state.save(config, now).to_vec()
    }

    fn again(&self, bytes: &[u8], now: Timestamp) -> Result<Self, SaveError> {
        let config = *self.0.config();
        Ok(Self(Shared::new(config, holdoff_core::Adaptive::restore(bytes, &config, now)?)))
    }
}

#[pymethods]
impl Adaptive {
    #[new]
    #[pyo3(signature = (config = None, /, *, now = None, **fields))]
    fn new(
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        super::made(py, config, fields, None, now)
    }

    /// A guard in the middle of its life: rates in calls a second, `throttled_at` in nanoseconds.
    #[staticmethod]
    #[pyo3(signature = (
        config, *, rate = 0.0, tokens = 0.0, measured = 0.0, last_max_rate = 0.0, throttled_at = None, limits = true,
        now = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn started(
        py: Python<'_>,
        config: &Bound<'_, PyAny>,
        rate: f64,
        tokens: f64,
        measured: f64,
        last_max_rate: f64,
        throttled_at: Option<&Bound<'_, PyAny>>,
        limits: bool,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let config = *super::made::<Self>(py, Some(config), None, None, now)?.0.config();
        let now = clock::given(py, now)?;
        let throttled_at = throttled_at.map_or(Ok(now), |at| crate::convert::time("throttled_at", at))?;
        let start = holdoff_core::AdaptiveStart { rate, tokens, measured, last_max_rate, throttled_at, limits };
        Ok(Self(Shared::new(config, holdoff_core::Adaptive::started(&config, start, now))))
    }

    /// Takes that many tokens; whether they were there. If not, nothing is taken.
    #[pyo3(signature = (cost = 1.0, now = None))]
    fn take(&self, py: Python<'_>, cost: f64, now: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let now = clock::given(py, now)?;
        let (config, mut adaptive) = self.0.lock();
        Ok(adaptive.take(config, cost, now).is_ok())
    }

    /// When that many would be there, as things stand; None for at once, NEVER for more than there can be.
    #[pyo3(signature = (cost = 1.0, now = None))]
    fn refuses(&self, py: Python<'_>, cost: f64, now: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
        let now = clock::given(py, now)?;
        let (config, adaptive) = self.0.lock();
        let mut asked = *adaptive;
        Ok(asked.take(config, cost, now).err().map(Timestamp::as_nanos))
    }

    /// An answer came: moves the rate.
    #[pyo3(signature = (throttled = false, now = None))]
    fn update(&self, py: Python<'_>, throttled: bool, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        let (config, mut adaptive) = self.0.lock();
        adaptive.update(config, now, throttled);
        Ok(())
    }

    /// What was taken was not used.
    #[pyo3(signature = (cost = 1.0, now = None))]
    fn give_back(&self, py: Python<'_>, cost: f64, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        let (config, mut adaptive) = self.0.lock();
        adaptive.give_back(config, cost, now);
        Ok(())
    }

    /// Calls a second.
    #[getter]
    fn rate(&self) -> f64 {
        self.0.lock().1.rate()
    }

    /// The measured rate of answers, a second.
    #[getter]
    fn measured(&self) -> f64 {
        self.0.lock().1.measured()
    }

    /// Whether it limits yet.
    #[getter]
    fn limits(&self) -> bool {
        self.0.lock().1.limits()
    }

    /// The tokens there are.
    #[pyo3(signature = (now = None))]
    fn tokens(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let now = clock::given(py, now)?;
        Ok(self.0.lock().1.tokens(now))
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

    fn __repr__(&self) -> String {
        format!("<Adaptive {} calls a second>", self.rate())
    }
}
