//! One timer for many sleeps.

use crate::convert;
use holdoff_core::{TimerKey, Timestamp};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Timers, and which of them is due next. Times are nanoseconds since any epoch. May be shared by threads.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Wheel(Mutex<holdoff_core::Wheel>);

impl Wheel {
    fn lock(&self) -> MutexGuard<'_, holdoff_core::Wheel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Wheel {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(holdoff_core::Wheel::new()))
    }

    /// Add a timer that is due at that time. NEVER never fires. The key is an int that no timer had before it.
    fn insert(&self, at: &Bound<'_, PyAny>) -> PyResult<u64> {
        let at = convert::time("at", at)?;
        self.lock().insert(at).map(TimerKey::as_raw).map_err(|full| PyMemoryError::new_err(full.to_string()))
    }

    /// A number below the most timers that there ever were at once since the wheel was made or cleared, which no other pending
    /// timer has: what belongs to a timer can be kept in a list.
    #[staticmethod]
    fn index(key: &Bound<'_, PyAny>) -> PyResult<u32> {
        Ok(TimerKey::from_raw(convert::time("key", key)?.as_nanos()).index())
    }

    /// Take a timer away: whether it was pending, and neither fired nor cancelled before.
    fn cancel(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = convert::time("key", key)?.as_nanos();
        Ok(self.lock().cancel(TimerKey::from_raw(key)))
    }

    /// The next timer that is due at that time, and when it was; None when none is. By time, and then as they were added.
    fn pop(&self, now: &Bound<'_, PyAny>) -> PyResult<Option<(u64, u64)>> {
        let now = convert::time("now", now)?;
        Ok(self.lock().pop(now).map(|(key, at)| (key.as_raw(), at.as_nanos())))
    }

    /// When the next timer is due; None when there is none, or none that ever fires.
    #[getter]
    fn next_wake(&self) -> Option<u64> {
        self.lock().next_wake().map(Timestamp::as_nanos)
    }

    /// Cancel all timers.
    fn clear(&self) {
        self.lock().clear();
    }

    /// How many timers are pending, those included that never fire.
    fn __len__(&self) -> usize {
        self.lock().len()
    }

    fn __repr__(&self) -> String {
        format!("<Wheel of {}>", self.lock().len())
    }
}
