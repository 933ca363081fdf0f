//! How many attempts there may be at once.

use super::bell::Bell;
use super::{Guard, Shared};
use holdoff_core::{BulkheadConfig, ConfigError, Entry, GuardsBuilder, QueuePlace, SaveError, Timestamp};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// Places for attempts that run at once, and a queue before them. A place in the queue is an int.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Bulkhead {
    pub(super) shared: Shared<BulkheadConfig, holdoff_core::Bulkhead>,
    pub(super) bell: Py<Bell>,
}

impl Bulkhead {
    fn of(config: BulkheadConfig) -> PyResult<Self> {
        let bell = Python::attach(|py| Py::new(py, Bell::default()))?;
        Ok(Self { shared: Shared::new(config, holdoff_core::Bulkhead::new()), bell })
    }

    /// Somebody has left.
    fn left(&self, py: Python<'_>, leave: impl FnOnce(&mut holdoff_core::Bulkhead)) {
        let waiting = {
            let mut bulkhead = self.shared.lock().1;
            leave(&mut bulkhead);
            bulkhead.waiting()
        };
        if waiting > 0 {
            self.bell.get().ring(py);
        }
    }
}

impl Guard for Bulkhead {
    const SECTION: &'static str = "bulkhead";

    fn fresh(builder: &GuardsBuilder, _seed: u64, _now: Timestamp) -> Result<Option<Self>, ConfigError> {
        // A bell that there is no memory for: nothing to be said here, and no guard.
        Ok(builder.bulkhead()?.and_then(|config| Self::of(config).ok()))
    }

    fn bytes(&self, _now: Timestamp) -> Vec<u8> {
        Vec::new()
    }

    fn again(&self, _bytes: &[u8], _now: Timestamp) -> Result<Self, SaveError> {
        Ok(Self {
            shared: Shared::new(*self.shared.config(), holdoff_core::Bulkhead::new()),
            bell: Python::attach(|py| self.bell.clone_ref(py)),
        })
    }
}

fn said(py: Python<'_>, entry: Entry) -> PyResult<Bound<'_, PyAny>> {
    Ok(match entry {
        Entry::Entered => PyString::intern(py, "entered").into_any(),
        Entry::Queued(place) => place.as_raw().into_pyobject(py)?.into_any(),
        Entry::Refused => PyString::intern(py, "refused").into_any(),
    })
}

#[pymethods]
impl Bulkhead {
    #[new]
    #[pyo3(signature = (config = None, /, **fields))]
    fn new(py: Python<'_>, config: Option<&Bound<'_, PyAny>>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        super::made(py, config, fields, None, None)
    }

    /// "entered", "refused", or a place in the queue.
    fn enter<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let entry = {
            let (config, mut bulkhead) = self.shared.lock();
            bulkhead.enter(config)
        };
        said(py, entry)
    }

    /// The same for one that waits.
    fn enter_from<'py>(&self, py: Python<'py>, place: u32) -> PyResult<Bound<'py, PyAny>> {
        let entry = {
            let (config, mut bulkhead) = self.shared.lock();
            bulkhead.enter_from(config, QueuePlace::from_raw(place))
        };
        said(py, entry)
    }

    /// One that ran is done.
    fn leave(&self, py: Python<'_>) {
        self.left(py, holdoff_core::Bulkhead::leave);
    }

    /// One that waited waits no longer.
    fn leave_queue(&self, py: Python<'_>, place: u32) {
        self.left(py, |bulkhead| bulkhead.leave_queue(QueuePlace::from_raw(place)));
    }

    /// How many run.
    #[getter]
    fn running(&self) -> u32 {
        self.shared.lock().1.running()
    }

    /// How many wait.
    #[getter]
    fn waiting(&self) -> u32 {
        self.shared.lock().1.waiting()
    }

    fn __repr__(&self) -> String {
        let (config, bulkhead) = self.shared.lock();
        format!("<Bulkhead {} of {} run, {} wait>", bulkhead.running(), config.limit(), bulkhead.waiting())
    }
}
