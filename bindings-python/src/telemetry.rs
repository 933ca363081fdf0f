//! The events of operations, told to hooks and listeners. Nothing is built and no clock is read while nobody listens.

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
}

/// True while somebody listens to all operations.
#[inline]
pub(crate) fn listens() -> bool {
    LISTENS.load(Ordering::Relaxed)
}

/// The hooks of an operation.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) attempt: Option<Py<PyAny>>,
    pub(crate) retry: Option<Py<PyAny>>,
    pub(crate) success: Option<Py<PyAny>>,
    pub(crate) give_up: Option<Py<PyAny>>,
}

impl Hooks {
    pub(crate) const fn any(&self) -> bool {
        self.attempt.is_some() || self.retry.is_some() || self.success.is_some() || self.give_up.is_some()
    }
}

/// True while retries are logged.
pub(crate) fn logs() -> bool {
    LOGS.load(Ordering::Relaxed)
}

/// The name of a hook, and the hook.
pub(crate) type Hook = (&'static str, fn(&Hooks) -> &Option<Py<PyAny>>);

pub(crate) const ATTEMPT: Hook = ("on_attempt", |hooks| &hooks.attempt);
pub(crate) const RETRY: Hook = ("on_retry", |hooks| &hooks.retry);
pub(crate) const SUCCESS: Hook = ("on_success", |hooks| &hooks.success);
pub(crate) const GIVE_UP: Hook = ("on_give_up", |hooks| &hooks.give_up);
