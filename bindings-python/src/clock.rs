//! The clock and the wait: the clock of `time.monotonic_ns`, read without Python, and Python's own wait, which handles signals.
//! Tests can replace both.

use crate::convert::seconds;
use crate::coroutine::refuse_coroutine;
use crate::guards::notify::Waiting;
use crate::parameters::{Now, Time};
use holdoff_core::{Span, Timestamp};
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// The longest single wait, which every timer can wait for. A longer sleep wakes once a day.
const LONGEST_WAIT: Span = Span::from_secs(86_400);

/// True while the clock is replaced: read instead of the lock.
static REPLACED: AtomicBool = AtomicBool::new(false);
/// An object with `monotonic_ns()`, `time_ns()` and `sleep(seconds)`.
static REPLACEMENT: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

functions! { py;
    /// Replaces the clock and the sleep of every operation, for `holdoff.testing`. Returns the previous replacement.
    fn override_time[replacement: Option<Py<PyAny>>]() -> Option<Py<PyAny>> = {
        let mut slot = REPLACEMENT.lock().unwrap_or_else(PoisonError::into_inner);
        REPLACED.store(replacement.is_some(), Ordering::Release);
        std::mem::replace(&mut *slot, replacement)
    };

    /// The replacement of the clock and the sleep, if any.
    fn overridden_time() -> Option<Py<PyAny>> = {
        let replaced = is_overridden().then(|| REPLACEMENT.lock().unwrap_or_else(PoisonError::into_inner))?;
        replaced.as_ref().map(|time| time.clone_ref(py))
    };

    /// The clock of the machines: nanoseconds of `time.monotonic_ns`.
    fn monotonic_ns() -> PyResult<u64> = now(py).map(Timestamp::as_nanos);
}

/// True while a replacement of the clock and the sleep is in force.
pub(crate) fn is_overridden() -> bool {
    REPLACED.load(Ordering::Acquire)
}

/// The clock of the machines, read without Python unless it is replaced.
#[inline]
pub(crate) fn now(py: Python<'_>) -> PyResult<Timestamp> {
    if is_overridden() {
        return python_time(py);
    }
    static SET: OnceLock<(Instant, u64)> = OnceLock::new();
    let &(since, nanos) = match SET.get() {
        Some(set) => set,
        None => {
            let read = (Instant::now(), python_time(py)?.as_nanos());
            SET.get_or_init(|| read)
        }
    };
    Ok(Timestamp::from_nanos(nanos.saturating_add(since.elapsed().as_nanos() as u64)))
}

/// The time by Python's clock, or by its replacement.
#[cold]
fn python_time(py: Python<'_>) -> PyResult<Timestamp> {
    let read = match overridden_time(py) {
        Some(time) => time.bind(py).call_method0(intern!(py, "monotonic_ns"))?,
        None => py.import("time")?.call_method0("monotonic_ns")?,
    };
    read.extract().map(Timestamp::from_nanos)
}

/// The clock on the wall: nanoseconds since the Unix epoch, for the dates in a server's answers.
pub(crate) fn wall(py: Python<'_>) -> PyResult<u64> {
    let read = match overridden_time(py) {
        Some(time) => time.bind(py).call_method0(intern!(py, "time_ns"))?,
        None => imported!(py, "time", "time_ns")?.call0()?,
    };
    // A time before 1970 is unknown.
    Ok(read.extract().unwrap_or(u64::MAX))
}

/// Waits in this thread for `length` or the longest single wait, by the user's own `sleep` if there is one, or until `cancel` is cancelled or the call can go on
/// that waits for others.
pub(crate) fn wait(
    py: Python<'_>,
    length: Span,
    cancel: Option<&Bound<'_, PyAny>>,
    waiting: Option<&Waiting>,
    sleep: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let seconds = single_wait(length);
    if let Some(time) = overridden_time(py) {
        time.bind(py).call_method1(intern!(py, "sleep"), (seconds,))?;
    } else if let Some(waiting) = waiting {
        let (notify, place, seen) = waiting.arguments();
        imported!(py, "holdoff._cancel", "listen")?.call1((notify, place, seen, seconds, cancel))?;
    } else if let Some(sleep) = sleep {
        refuse_coroutine("sleep", sleep.bind(py).call1((seconds,))?)?;
    } else if let Some(cancel) = cancel {
        cancel.call_method1(intern!(py, "wait"), (seconds,))?;
    } else {
        imported!(py, "time", "sleep")?.call1((seconds,))?;
    }
    Ok(())
}

/// The seconds of one wait.
pub(crate) fn single_wait(length: Span) -> f64 {
    seconds(length.min(LONGEST_WAIT).as_nanos())
}

/// The given time, else that of the clock: for methods that no loop calls.
#[inline(never)]
pub(crate) fn at(py: Python<'_>, given: Now) -> PyResult<Timestamp> {
    given.map_or_else(|| now(py), |Time(now)| Ok(now))
}
