//! Longer delays while much fails.

use super::{Guard, Shared};
use crate::clock;
use holdoff_core::{ConfigError, GuardsBuilder, SaveError, StretchConfig, Timestamp};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Stretches delays by how much has failed of late, over all calls that are given it.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Stretch(pub(super) Shared<StretchConfig, holdoff_core::Stretch>);

impl Guard for Stretch {
    const SECTION: &'static str = "stretch";

    fn fresh(builder: &GuardsBuilder, _seed: u64, now: Timestamp) -> Result<Option<Self>, ConfigError> {
        let config = builder.stretch()?;
        Ok(config.map(|config| Self(Shared::new(config, holdoff_core::Stretch::new(&config, now)))))
    }

    fn bytes(&self, now: Timestamp) -> Vec<u8> {
        let (config, state) = self.0.lock();
        state.save(config, now).to_vec()
    }

    fn again(&self, bytes: &[u8], now: Timestamp) -> Result<Self, SaveError> {
        let config = *self.0.config();
        Ok(Self(Shared::new(config, holdoff_core::Stretch::restore(bytes, &config, now)?)))
    }
}

#[pymethods]
impl Stretch {
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

    /// An attempt ended.
    #[pyo3(signature = (failed, now = None))]
    fn record(&self, py: Python<'_>, failed: bool, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        let (config, mut stretch) = self.0.lock();
        stretch.record(config, now, failed);
        Ok(())
    }

    /// What becomes of a delay, both in nanoseconds.
    #[pyo3(signature = (delay, now = None))]
    fn stretch(&self, py: Python<'_>, delay: &Bound<'_, PyAny>, now: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        let (delay, now) = (super::span("delay", delay)?, clock::given(py, now)?);
        let (config, stretch) = self.0.lock();
        Ok(stretch.stretch(config, now, delay).as_nanos())
    }

    /// How many attempts it looks back on, and how many of them failed.
    #[pyo3(signature = (now = None))]
    fn counts(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<(u32, u32)> {
        let now = clock::given(py, now)?;
        let (config, stretch) = self.0.lock();
        Ok(stretch.counts(config, now))
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
        format!("<Stretch up to {} times>", self.0.config().factor())
    }
}
