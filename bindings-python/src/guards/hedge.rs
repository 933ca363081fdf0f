//! A second attempt beside one that takes long.

use super::{Guard, Shared};
use holdoff_core::{ConfigError, GuardsBuilder, HedgeConfig, Latency, SaveError, Span, Timestamp};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// When a second attempt starts beside the first; with what all calls that are given it know of how long attempts take.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Hedge(pub(super) Shared<HedgeConfig, Latency>);

impl Guard for Hedge {
    const SECTION: &'static str = "hedge";

    fn fresh(builder: &GuardsBuilder, _seed: u64, _now: Timestamp) -> Result<Option<Self>, ConfigError> {
        Ok(builder.hedge()?.map(|config| Self(Shared::new(config, Latency::new()))))
    }

    fn bytes(&self, _now: Timestamp) -> Vec<u8> {
        self.0.lock().1.save().to_vec()
    }

    fn again(&self, bytes: &[u8], _now: Timestamp) -> Result<Self, SaveError> {
        Ok(Self(Shared::new(*self.0.config(), Latency::restore(bytes)?)))
    }
}

#[pymethods]
impl Hedge {
    #[new]
    #[pyo3(signature = (config = None, /, **fields))]
    fn new(py: Python<'_>, config: Option<&Bound<'_, PyAny>>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        super::made(py, config, fields, None, None)
    }

    /// An attempt that succeeded took that many nanoseconds.
    fn record(&self, took: &Bound<'_, PyAny>) -> PyResult<()> {
        let took = super::span("took", took)?;
        let (config, mut latency) = self.0.lock();
        latency.record(took, config.percentile().unwrap_or_default());
        Ok(())
    }

    /// How long the percentile of attempts takes, in nanoseconds; None before the first.
    #[getter]
    fn quantile(&self) -> Option<u64> {
        self.0.lock().1.quantile().map(Span::as_nanos)
    }

    /// How many attempts have been recorded.
    #[getter]
    fn records(&self) -> u32 {
        self.0.lock().1.records()
    }

    /// How long after an attempt the next one starts beside it, in nanoseconds.
    #[getter]
    fn delay(&self) -> u64 {
        let (config, latency) = self.0.lock();
        config.delay(&latency).as_nanos()
    }

    /// How many attempts there may be at once.
    #[getter]
    fn attempts(&self) -> u32 {
        self.0.config().attempts()
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
        format!("<Hedge after {}>", Span::from_nanos(self.delay()))
    }
}
