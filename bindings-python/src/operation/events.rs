//! The events of an operation, told to its hooks, the listeners and the log.

use super::{Failed, Operation};
use crate::retrying::{ATTEMPT, Hook, RETRY};
use crate::{config, telemetry};
use holdoff_core::{Failure, FailureKind, Hint, Timestamp};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

/// Where a blocking loop tells hooks.
pub(crate) const BLOCKING: &str = "by a blocking function";

impl Operation {
    /// Tells an event of the latest attempt to its hook, the listeners and the log. The time is the clock's unless given.
    pub(crate) fn tell(
        &mut self,
        py: Python<'_>,
        (which, hook): Hook,
        attempt: u32,
        now: Option<Timestamp>,
        fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
    ) -> PyResult<()> {
        self.tell_change(py)?;
        let is_logged = which == RETRY.0 && telemetry::logs();
        if hook(self.settings.get()).is_none() && !telemetry::listens() && !is_logged {
            return Ok(());
        }
        let settings = self.settings.clone_ref(py);
        let now = now.map_or_else(|| self.now(py), Ok)?;
        let elapsed = now.since(self.began.unwrap_or(now)).as_nanos();
        let fields = PyDict::new(py);
        fields.set_item("key", &settings.get().key)?;
        fill(&fields)?;
        let told = (which, hook(settings.get()), &settings.get().name, &self.about, attempt, elapsed, fields);
        let awaited = imported!(py, "holdoff.telemetry", "tell")?.call1(told)?;
        // An attempt that begins may turn out to be a coroutine.
        self.keep(awaited, which == ATTEMPT.0)
    }

    /// Asks the user's function for the delay after a failure. Its answer is the failure's hint; true if there is one.
    pub(super) fn ask_delay(
        &mut self,
        py: Python<'_>,
        failed: &Failed,
        failure: Option<Failure>,
        attempt: u32,
        now: Timestamp,
    ) -> PyResult<(Option<Failure>, bool)> {
        let settings = self.settings.clone_ref(py);
        let settings = settings.get();
        let asked = failure.filter(|failure| failure.kind != FailureKind::Permanent);
        let (Some(delay), Some(known)) = (&settings.delay, asked) else { return Ok((failure, false)) };
        let elapsed = now.since(self.began.unwrap_or(now)).as_nanos();
        let fields = PyDict::new(py);
        fields.set_item("key", &settings.key)?;
        failed.describe(&fields, failure)?;
        let told = (delay, &settings.name, &self.about, attempt, elapsed, fields);
        let answer = imported!(py, "holdoff.telemetry", "ask")?.call1(told)?;
        let hint = match answer.cast::<PyBool>() {
            _ if answer.is_none() => return Ok((failure, false)),
            Ok(other) if !other.is_true() => Hint::NEVER,
            _ => Hint::after(config::span("delay", &answer)?),
        };
        Ok((Some(known.with_hint(hint)), true))
    }

    /// Keeps the answers of asynchronous hooks for the loop that awaits them.
    pub(super) fn keep(&mut self, awaited: Bound<'_, PyAny>, may_wait: bool) -> PyResult<()> {
        let py = awaited.py();
        if awaited.is_none() {
            return Ok(());
        }
        match &self.awaited {
            Some(earlier) => drop(earlier.bind(py).call_method1("extend", (awaited,))?),
            None => self.awaited = Some(awaited.unbind()),
        }
        if self.asynchronous || may_wait { Ok(()) } else { self.refuse_awaited(py, BLOCKING) }
    }

    /// Refuses the asynchronous hooks that were told at a place that cannot await.
    pub(crate) fn refuse_awaited(&mut self, py: Python<'_>, place: &str) -> PyResult<()> {
        let Some(awaited) = self.awaited.take() else { return Ok(()) };
        let refused = imported!(py, "holdoff.telemetry", "refuse")?.call1((awaited, place))?;
        Err(PyErr::from_value(refused))
    }

    /// Notices a change of the breaker, for listeners.
    pub(super) fn notice_breaker(&mut self, now: Timestamp) {
        if telemetry::listens()
            && let Some(guards) = &self.settings.get().guards
            && let Some((before, after)) = guards.get().breaker_change(now)
        {
            self.changed = Some((before, after, now));
        }
    }

    fn tell_change(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some((before, after, at)) = self.changed.take() else { return Ok(()) };
        let settings = self.settings.get();
        let name = settings.breaker_name().map(|name| PyString::new(py, name).into_any());
        let name = name.or_else(|| settings.name.as_ref().map(|name| name.bind(py).clone()));
        let fields = (name, &settings.key, before.name(), after.name(), at.as_nanos());
        let awaited = imported!(py, "holdoff.telemetry", "tell_change")?.call1(fields)?;
        self.keep(awaited, false)
    }

    /// Tells once that an attempt begins.
    pub(crate) fn tell_attempt(&mut self, py: Python<'_>) -> PyResult<()> {
        let number = self.attempts().max(1);
        if number <= self.reported {
            return Ok(());
        }
        self.reported = number;
        self.tell(py, ATTEMPT, number, None, |_| Ok(()))
    }
}
