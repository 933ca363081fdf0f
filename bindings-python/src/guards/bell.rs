//! Whom to wake when a place in a bulkhead comes free.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who waits, each with the number that takes it back.
type Sleepers = Vec<(u64, Py<PyAny>)>;

/// Rings when a place may have come free. Whoever waits reads how often it rang, asks for a place, and then waits unless it
/// has rung in between.
#[pyclass(frozen, module = "holdoff._holdoff")]
#[derive(Default)]
pub(crate) struct Bell {
    rings: AtomicU64,
    /// How many have ever waited, and who waits.
    sleepers: Mutex<(u64, Sleepers)>,
}

impl Bell {
    pub(crate) fn rings(&self) -> u64 {
        self.rings.load(Ordering::SeqCst)
    }

    /// Wakes whoever waits.
    #[cold]
    pub(crate) fn ring(&self, py: Python<'_>) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        let sleepers = std::mem::take(&mut self.sleepers().1);
        for (_, waker) in sleepers {
            if let Err(error) = waker.call0(py) {
                // An interrupt between its lines is not about it, and whoever waits must not sleep on.
                if let Err(again) = waker.call0(py) {
                    again.write_unraisable(py, None);
                }
                give_on(py, error);
            }
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, (u64, Sleepers)> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody here can take an error; an interrupt is the main thread's, and comes again there.
#[cold]
fn give_on(py: Python<'_>, error: PyErr) {
    let again = if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main")).map(drop)
    } else {
        Err(error)
    };
    if let Err(error) = again {
        error.write_unraisable(py, None);
    }
}

#[pymethods]
impl Bell {
    /// Have the waker called once, in any thread, when it has rung more often than `seen`. Says what takes that back; None
    /// when it is too late, and nothing will be called.
    fn subscribe(&self, seen: u64, waker: Py<PyAny>) -> Option<u64> {
        let mut sleepers = self.sleepers();
        if self.rings() != seen {
            return None;
        }
        let (number, waiting) = &mut *sleepers;
        *number = number.wrapping_add(1);
        waiting.push((*number, waker));
        Some(*number)
    }

    /// Takes it back.
    fn unsubscribe(&self, number: u64) {
        let mut sleepers = self.sleepers();
        let place = sleepers.1.iter().position(|sleeper| sleeper.0 == number);
        let gone = place.map(|place| sleepers.1.swap_remove(place));
        drop(sleepers);
        drop(gone);
    }
}
