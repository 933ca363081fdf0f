//! The events of operations for hooks and listeners. Without any, nothing is built and no clock is read.

use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// True while a listener is added that gets the events of all operations.
static LISTENS: AtomicBool = AtomicBool::new(false);
/// True while retries are logged.
static LOGS: AtomicBool = AtomicBool::new(true);

functions! { py;
    /// Says whether there are listeners, and whether retries are logged.
    fn tell_of(listens: bool, logs: bool) = {
        LISTENS.store(listens, Ordering::Relaxed);
        LOGS.store(logs, Ordering::Relaxed);
    };

    /// Hands an error that nobody can handle to ``sys.unraisablehook``, with the object that raised it.
    fn report_unraisable(error: &Bound<'py, PyBaseException> as "BaseException", object: &Bound<'py, PyAny> as "object") =
        PyErr::from_value(error.clone().into_any()).write_unraisable(py, Some(object));
}

/// True while there is a listener to all operations.
#[inline]
pub(crate) fn listens() -> bool {
    LISTENS.load(Ordering::Relaxed)
}

/// True while retries are logged.
pub(crate) fn logs() -> bool {
    LOGS.load(Ordering::Relaxed)
}
