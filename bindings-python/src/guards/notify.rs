//! Wakes the calls that wait for a place in a bulkhead.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Wakers, each with the number that removes it.
type Waiters = Vec<(u64, Py<PyAny>)>;

/// Notifies waiters when a place may have come free. A waiter reads the count, asks for a place, and then waits unless the
/// count has changed in between.
#[pyclass(frozen, module = "holdoff._holdoff")]
#[derive(Default)]
pub(crate) struct Notify {
    count: AtomicU64,
    /// How many waiters there have ever been, and those of now.
    waiters: Mutex<(u64, Waiters)>,
}

impl Notify {
    /// How often waiters have been notified.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    #[cold]
    pub(crate) fn notify_waiters(&self, py: Python<'_>) {
        self.count.fetch_add(1, Ordering::SeqCst);
        let waiters = std::mem::take(&mut self.waiters().1);
        for (_, waker) in waiters {
            if let Err(error) = waker.call0(py) {
                // An interrupt may come between the waker's lines; the waiter must be woken all the same.
                if let Err(again) = waker.call0(py) {
                    again.write_unraisable(py, None);
                }
                report(py, error);
            }
        }
    }

    fn waiters(&self) -> MutexGuard<'_, (u64, Waiters)> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends an interrupt back to the main thread; no caller here can handle another error.
#[cold]
fn report(py: Python<'_>, error: PyErr) {
    let sent = if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main")).map(drop)
    } else {
        Err(error)
    };
    if let Err(error) = sent {
        error.write_unraisable(py, None);
    }
}

methods! { Notify(self, py);
    /// Have the waker called once, in any thread, after the count has passed `seen`. Returns the number for
    /// `remove_waiter`; None when the count has passed already, and the waker will not be called.
    ref add_waiter(seen: u64, waker: Py<PyAny> as "Callable[[], object]") -> Option<u64> = {
        let mut waiters = self.waiters();
        if self.count() != seen {
            return None;
        }
        waiters.0 = waiters.0.wrapping_add(1);
        let number = waiters.0;
        waiters.1.push((number, waker));
        Some(number)
    };

    /// Removes a waker.
    ref remove_waiter(number: u64) = {
        let mut waiters = self.waiters();
        let index = waiters.1.iter().position(|waiter| waiter.0 == number);
        let removed = index.map(|index| waiters.1.swap_remove(index));
        drop(waiters);
        drop(removed);
    };
}
