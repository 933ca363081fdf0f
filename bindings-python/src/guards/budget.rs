//! How many retries there may be, all calls taken together.

use super::{Guard, Shared};
use crate::{clock, convert};
use holdoff_core::{BudgetConfig, ConfigError, FailureKind, GuardsBuilder, Held, SaveError, Timestamp};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A budget of retries, shared by all calls that are given it. What a retry paid is an int, to hand back later.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Budget(pub(super) Shared<BudgetConfig, holdoff_core::Budget>);

impl Guard for Budget {
    const SECTION: &'static str = "budget";

    fn fresh(builder: &GuardsBuilder, seed: u64, now: Timestamp) -> Result<Option<Self>, ConfigError> {
        let config = builder.budget()?;
        Ok(config.map(|config| Self(Shared::new(config, holdoff_core::Budget::new(&config, seed, now)))))
    }

    fn bytes(&self, now: Timestamp) -> Vec<u8> {
        let (config, state) = self.0.lock();
        state.save(config, now).to_vec()
    }

    fn again(&self, bytes: &[u8], now: Timestamp) -> Result<Self, SaveError> {
        let config = *self.0.config();
        Ok(Self(Shared::new(config, holdoff_core::Budget::restore(bytes, &config, now)?)))
    }
}

fn kind(kind: Option<&Bound<'_, PyAny>>) -> PyResult<FailureKind> {
    kind.map_or(Ok(FailureKind::Transient), convert::kind)
}

#[pymethods]
impl Budget {
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

    /// A call begins.
    #[pyo3(signature = (now = None))]
    fn begin(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        let (config, mut budget) = self.0.lock();
        budget.begin(config, now);
        Ok(())
    }

    /// An attempt, the first or a later one, is about to start: whether it may.
    #[pyo3(signature = (now = None))]
    fn admit(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let now = clock::given(py, now)?;
        let (config, mut budget) = self.0.lock();
        Ok(budget.admit(config, now))
    }

    /// An attempt failed, whether it will be retried or not.
    #[pyo3(signature = (kind = None, now = None))]
    fn fail(&self, py: Python<'_>, kind: Option<&Bound<'_, PyAny>>, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let (kind, now) = (self::kind(kind)?, clock::given(py, now)?);
        let (config, mut budget) = self.0.lock();
        budget.fail(config, now, kind);
        Ok(())
    }

    /// Pays for a retry after such a failure: what the call holds from then on; None when there may be no retry.
    #[pyo3(signature = (kind = None, now = None))]
    fn withdraw(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<u32>> {
        let (kind, now) = (self::kind(kind)?, clock::given(py, now)?);
        let (config, mut budget) = self.0.lock();
        Ok(budget.withdraw(config, now, kind).map(Held::as_raw))
    }

    /// A retry that was paid for has run.
    fn retried(&self) {
        let (config, mut budget) = self.0.lock();
        budget.retried(config);
    }

    /// A retry that was paid for will never run.
    #[pyo3(signature = (held, now = None))]
    fn refund(&self, py: Python<'_>, held: u32, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        let (config, mut budget) = self.0.lock();
        budget.refund(config, now, Held::from_raw(held));
        Ok(())
    }

    /// The call succeeded, with what it holds.
    #[pyo3(signature = (held = None, now = None))]
    fn succeed(&self, py: Python<'_>, held: Option<u32>, now: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let now = clock::given(py, now)?;
        let (config, mut budget) = self.0.lock();
        budget.succeed(config, now, held.map(Held::from_raw));
        Ok(())
    }

    /// The call is over, however it ended; with what it holds of a retry that still runs.
    #[pyo3(signature = (held = None))]
    fn end(&self, held: Option<u32>) {
        let (config, mut budget) = self.0.lock();
        budget.end(config, held.map(Held::from_raw));
    }

    /// How many tokens, or retries, there are.
    #[pyo3(signature = (now = None))]
    fn balance(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let now = clock::given(py, now)?;
        let (config, budget) = self.0.lock();
        Ok(budget.balance(config, now))
    }

    /// The chance that an attempt is refused: 0 but for a budget of requests.
    #[pyo3(signature = (now = None))]
    fn rejection(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let now = clock::given(py, now)?;
        let (config, budget) = self.0.lock();
        Ok(budget.rejection(config, now))
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
        Ok(format!("<Budget {} left>", self.balance(py, None)?))
    }
}
