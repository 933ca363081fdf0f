//! Wakes the calls that wait for others: for a place in a bulkhead, behind others at a breaker, or in a line for a rate.

use holdoff_core::QueuePlace;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Wakers by the place of the call in the line, each with the number that removes it.
type Waiters = BTreeMap<u32, (u64, Py<PyAny>)>;

/// Notifies waiters when the guard may let one through. A waiter reads the count, asks the guard, and then waits unless the
/// count has changed in between.
#[derive(Default)]
pub(crate) struct Line {
    count: AtomicU64,
    /// The latest place that the line itself gave.
    latest: AtomicU32,
    /// How many waiters there have ever been, and those of now.
    waiters: Mutex<(u64, Waiters)>,
}

/// The line of a guard, for the waits that are written in Python.
#[pyclass(frozen, module = "holdoff._holdoff")]
pub(crate) struct Notify(Arc<Line>);

/// How a call waits: in which line, at which slot of it, and the count to wait past.
pub(crate) struct Waiting {
    pub(crate) line: Arc<Line>,
    pub(crate) slot: u32,
    pub(crate) seen: u64,
    /// True if its turn comes at the end of the sleep at the latest.
    pub(crate) timed: bool,
}

impl Waiting {
    /// The arguments of `listen`.
    pub(crate) fn arguments(&self) -> (Notify, u32, u64) {
        (Notify(Arc::clone(&self.line)), self.slot, self.seen)
    }
}

impl Line {
    /// A place behind all others.
    pub(crate) fn next_place(&self) -> u32 {
        self.latest.fetch_add(1, Ordering::Relaxed)
    }

    /// How often waiters have been notified.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Notifies the waiters that a breaker lets through, which let `before` calls through and now lets `after`. A waiter may end
    /// before it asks: then the next one has its turn.
    #[inline]
    pub(crate) fn let_through(&self, py: Python<'_>, (before, after): (u32, u32)) {
        if after > before || after > 0 && !self.waiters().1.is_empty() {
            self.notify(py, |waiters| {
                (0..after).map_while(|_| waiters.pop_first()).map(|(_, (_, waker))| waker).collect()
            });
        }
    }

    /// Notifies the waiter at that place. If there is none, the call at it is about to ask anyway, and then the next one is notified.
    ///
    /// The waiter stays until it removes itself: its event loop may close before it asks, and then the next notification finds that
    /// out.
    #[cold]
    pub(crate) fn let_in(&self, py: Python<'_>, place: QueuePlace) {
        self.notify(py, |waiters| {
            waiters.get(&place.as_raw()).map(|waiter| waiter.1.clone_ref(py)).into_iter().collect()
        });
    }

    /// Calls the wakers one after the other, and not one in the other: a waiter that never runs again passes its turn on, which
    /// notifies the next one.
    #[cold]
    fn notify(&self, py: Python<'_>, take: impl FnOnce(&mut Waiters) -> Vec<Py<PyAny>>) {
        thread_local! {
            /// The wakers that this thread is calling.
            static CALLING: RefCell<Option<VecDeque<Py<PyAny>>>> = const { RefCell::new(None) };
        }
        self.count.fetch_add(1, Ordering::SeqCst);
        let woken = take(&mut self.waiters().1);
        let begins = CALLING.with_borrow_mut(|calling| {
            let begins = calling.is_none();
            calling.get_or_insert_default().extend(woken);
            begins
        });
        if !begins {
            return;
        }
        while let Some(waker) = CALLING.with_borrow_mut(|calling| calling.as_mut()?.pop_front()) {
            if let Err(error) = waker.call0(py) {
                // An interrupt may come between the waker's lines; the waiter must be woken all the same.
                if let Err(again) = waker.call0(py) {
                    again.write_unraisable(py, None);
                }
                report(py, error);
            }
        }
        CALLING.set(None);
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
    /// Have the waker called once, in any thread, when the call at `place` of the line can go on. Returns the number for
    /// `remove_waiter`; None when the count has passed `seen` already, and the waker will not be called.
    ref add_waiter(place: u32, seen: u64, waker: Py<PyAny> as "Callable[[], object]") -> Option<u64> = {
        let mut waiters = self.0.waiters();
        if self.0.count() != seen {
            return None;
        }
        waiters.0 = waiters.0.wrapping_add(1);
        let number = waiters.0;
        let before = waiters.1.insert(place, (number, waker));
        drop(waiters);
        drop(before);
        Some(number)
    };

    /// Removes a waker.
    ref remove_waiter(place: u32, number: u64) = {
        let mut waiters = self.0.waiters();
        let held = waiters.1.get(&place).is_some_and(|waiter| waiter.0 == number);
        let removed = if held { waiters.1.remove(&place) } else { None };
        drop(waiters);
        drop(removed);
    };
}
