//! The methods of an operation for the loops written in Python.

use super::{Failed, Operation};
use crate::clock;
use crate::context::{self, Entered, Kind};
use crate::guards::notify::{Notify, Waiting};
use crate::outcome::Outcome;
use crate::parameters::NextStep;
use crate::retrying::Retrying;
use holdoff_core::{Step, StopReason, Ticket, Timestamp};
use pyo3::exceptions::{PyBaseException, PyException};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

methods! { Operation(self, py);
    /// An operation of the function and its arguments in `about`. `noted` is the number of the latest refusal of its budgets before a first
    /// attempt that has run.
    new(
        settings: Py<Retrying>, about: Option<Py<PyTuple>> as "tuple[Any, ...] | None" = None, noted: Option<u32> = None
    ) -> Self = {
        let noted = noted.unwrap_or_else(|| settings.get()._refusals(py));
        let mut operation = Self::of(settings, noted);
        operation.about = about;
        operation
    };

    /// Enters the scope of an attempt; `leave_scope` undoes that. `watched`: the attempt is cancelled at its limit.
    ref enter(; watched: bool) -> PyResult<Entered<'py>> as "Entered" = {
        let kind = if watched { Kind::Watched } else { Kind::Attempt };
        context::enter(py, kind, self.abort_at, self.token_inside())
    };

    /// When to cancel the attempt, in nanoseconds of the clock; None without a limit, or if an attempt around it is cancelled by then.
    ref cancel_at() -> PyResult<Option<u64>> = {
        let limits = context::limits(py)?;
        let at = self.abort_at.min(limits.unwatched);
        Ok((at < limits.watched).then(|| at.as_nanos()))
    };

    /// The nearest of the attempt's own limit and those around it, in nanoseconds of the clock; None without a limit.
    ref limit_ns() -> PyResult<Option<u64>> = {
        let limit = self.abort_at.min(context::limits(py)?.nearest);
        Ok((!limit.is_never()).then(|| limit.as_nanos()))
    };

    /// The first attempt is about to run. Raises Cancelled when it must not.
    mut begin(; asynchronous: bool = false) -> PyResult<()> = {
        self.asynchronous = asynchronous;
        self.first(py)
    };

    /// The answers of asynchronous hooks since the last time, to be awaited; None without any.
    mut hook_answers() -> Option<Py<PyAny>> as "list[tuple[str, Awaitable[object]]] | None" = self.awaited.take();

    /// When waits for the user's own functions end, in nanoseconds of the clock; None without a deadline.
    get deadline_ns: PyResult<Option<u64>> = self.deadline(py).map(|at| (!at.is_never()).then(|| at.as_nanos()));

    /// While an attempt runs: returns True if another one starts beside it.
    mut beside() -> PyResult<bool> = {
        self.stop_if_cancelled(py)?;
        if self.has_used_body(py)? {
            self.wake_at = Timestamp::NEVER;
            return Ok(false);
        }
        let now = self.now(py)?;
        let Some(step) = self.transition(py, now, |call, policy, guards| call.tick(policy, guards, now)) else {
            return Ok(false);
        };
        self.follow(step, [0; 4]);
        let starts = matches!(step, Step::Attempt { .. });
        if starts {
            self.tell_attempt(py)?;
        }
        Ok(starts)
    };

    /// The seconds to wait next; None when the next attempt runs now.
    mut resume() -> PyResult<Option<f64>> = Ok(self.woken(py, None)?.map(clock::single_wait));

    /// The caller cancels the operation.
    mut cancel() = {
        self.last = None;
        self.release(py);
    };

    /// An error ends the wait before the next attempt; its context is the last failure.
    mut interrupt(error: &Bound<'_, PyBaseException>) = {
        self.interrupted(py, PyErr::from_value(error.clone().into_any()));
        self.last = None;
        self.release(py);
    };

    /// The attempt with this number failed: "sleep", "attempt" (start another one), "wait" (others still run) or "stop": raise
    /// the error, which carries the outcome.
    mut fail(
        attempt: u64, error: &Bound<'_, PyException>; timed_out: bool = false, gave_up: bool = false
    ) -> PyResult<NextStep> = {
        let ticket = Some(Ticket::from_raw(attempt));
        self.failed(error.as_any(), timed_out, gave_up, ticket).map(|next| NextStep(next.word()))
    };

    /// The attempt with this number returned; at "stop" the value is the result.
    mut reject(attempt: u64, value: &Bound<'_, PyAny>; gave_up: bool = false) -> PyResult<NextStep> =
        self.rejected(value, gave_up, Some(Ticket::from_raw(attempt))).map(|next| NextStep(next.word()));

    /// Sleep in this thread until the next attempt is due, woken at once by the token.
    mut sleep_until_due() -> PyResult<()> = self.wait_until_due(py, None);

    impl {
        /// The Cancelled exception, caused by the last error.
        #[pyo3(signature = () -> "Exception")]
        pub(super) fn cancelled<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            let error = imported!(py, "holdoff._errors", "Cancelled")?.call1(("the operation was cancelled",))?;
            let (reason, attempts) = (StopReason::Cancelled, self.attempts());
            let outcome = Outcome { reason, attempts, retry_at: Timestamp::NEVER, details: None, innermost: false };
            if let Some(Failed::Error(last)) = self.last.take() {
                error.setattr("__cause__", last)?;
            }
            self.end(py, &Failed::Error(error.clone().unbind()), outcome)?;
            Ok(error)
        }

        fn __clear__(&mut self) {
            self.last = None;
        }
    }

    /// The returned value after which no attempt follows.
    get result: Py<PyAny> = self.ended(py).map_or_else(|| py.None(), Bound::unbind);

    /// The line in which the call waits for others, its place there, and the count to wait past; None unless it waits for others.
    get notify: Option<(Notify, u32, u64)> = self.waiting.as_ref().map(Waiting::arguments);

    /// The function that replaces the error that is about to be raised, if any.
    get fallback: Option<Py<PyAny>> =
        self.settings.get().fallback.as_ref().filter(|_| self.gave_up).map(|fallback| fallback.clone_ref(py));

    /// The token of the caller.
    get token: Option<Py<PyAny>> = self.settings.get().cancel.as_ref().map(|token| token.clone_ref(py));

    visits &self.settings, &self.about, &self.awaited, self.last.as_ref().map(Failed::object);

    /// True if no attempt follows a value that failed, because the wait took too long or a body is used up: return `result` then.
    get over: bool = self.over;

    /// When to call `beside`, in nanoseconds of the clock; None for never.
    get wake_at: Option<u64> = (!self.wake_at.is_never()).then(|| self.wake_at.as_nanos());

    /// The user's own sleep.
    get sleep: Option<Py<PyAny>> = self.settings.get().sleep.as_ref().map(|sleep| sleep.clone_ref(py));

    /// True if a second attempt may run beside the first.
    get hedges: bool = self.settings.get().hedges();

    /// The number of the attempt.
    get attempt: u32 = self.attempts();
}
