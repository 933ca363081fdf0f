//! The events of an operation, told to its hooks, the listeners and the log.

use super::Operation;
use crate::telemetry;
use holdoff_core::Timestamp;
use pyo3::prelude::*;
use pyo3::types::PyDict;

impl Operation {
    /// Tells an event of the latest attempt to its hook, the listeners and the log. The time is the clock's unless given.
    pub(crate) fn tell(
        &mut self,
        py: Python<'_>,
        (which, hook): telemetry::Hook,
        attempt: u32,
        now: Option<Timestamp>,
        fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
    ) -> PyResult<()> {
        let settings = self.settings.clone_ref(py);
        let hook = hook(&settings.get().hooks);
        if hook.is_none() && !telemetry::listens() && !(which == telemetry::RETRY.0 && telemetry::logs()) {
            return Ok(());
        }
        let now = now.map_or_else(|| self.now(py), Ok)?;
        let elapsed = now.since(self.began.unwrap_or(now)).as_nanos();
        let fields = PyDict::new(py);
        fill(&fields)?;
        let name = &settings.get().name;
        let awaited = imported!(py, "holdoff.telemetry", "tell")?.call1((
            which,
            hook,
            name,
            &self.about,
            attempt,
            elapsed,
            fields,
        ))?;
        if awaited.is_none() {
            return Ok(());
        }
        self.awaited = Some(awaited.unbind());
        // An attempt that begins may turn out to be a coroutine.
        if self.asynchronous || which == telemetry::ATTEMPT.0 { Ok(()) } else { self.refuse_awaited(py) }
    }

    /// Refuses the asynchronous hooks that were told to a blocking loop.
    pub(crate) fn refuse_awaited(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(awaited) = self.awaited.take() else { return Ok(()) };
        let refused = imported!(py, "holdoff.telemetry", "refuse")?.call1((awaited, "by a blocking function"))?;
        Err(PyErr::from_value(refused))
    }

    /// Tells once that an attempt begins.
    pub(crate) fn tell_attempt(&mut self, py: Python<'_>) -> PyResult<()> {
        let number = self.attempts().max(1);
        if number <= self.reported {
            return Ok(());
        }
        self.reported = number;
        self.tell(py, telemetry::ATTEMPT, number, None, |_| Ok(()))
    }
}
