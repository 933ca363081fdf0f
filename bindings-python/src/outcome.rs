//! The outcome of an operation, attached to the error that goes back to the user.

use crate::convert::optional;
use crate::parameters::{StopReason, StopWord};
use crate::{clock, convert};
use holdoff_core::Timestamp;
use pyo3::exceptions::PyBaseException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::borrow::Cow;

/// Why there was no other attempt, and when another try might succeed.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) reason: holdoff_core::StopReason,
    pub(crate) attempts: u32,
    pub(crate) retry_at: Timestamp,
    /// The tokens that a retry would have cost.
    pub(crate) details: Option<String>,
}

impl Outcome {
    fn text(&self) -> Cow<'static, str> {
        let reason = self.reason.text();
        self.details.as_ref().map_or(Cow::Borrowed(reason), |details| format!("{reason} ({details})").into())
    }
}

methods! { Outcome(self, py);
    new(reason: StopWord, attempts: u32, retry_at_ns: Option<u64> = None, details: Option<String> = None) -> Self = {
        let retry_at = retry_at_ns.map_or(Timestamp::NEVER, Timestamp::from_nanos);
        Self { reason: reason.0, attempts, retry_at, details }
    };

    /// Outcomes are pickled with their errors.
    special __getnewargs__() -> (StopReason, u32, Option<u64>, Option<String>) =
        (StopReason(self.reason), self.attempts, self.retry_at_ns(py), self.details.clone());

    special __repr__() -> String = {
        let retry_at = self.retry_at(py).map_or_else(|| "None".to_owned(), |at| format!("{at:?}"));
        format!("Outcome(reason='{}', attempts={}, retry_at={retry_at})", self.reason, self.attempts)
    };

    /// Seconds from now until another try might succeed, 0 when that is past; None if unknown.
    get retry_in: PyResult<Option<f64>> = {
        let known = (!self.retry_at.is_never()).then(|| clock::now(py)).transpose()?;
        Ok(known.map(|now| convert::seconds(self.retry_at.since(now).as_nanos())))
    };

    /// "permanent", "attempts", "deadline", "hint", "budget", "breaker", "limiter", "bulkhead", "body" or "cancelled".
    get reason: StopReason = StopReason(self.reason);

    /// The reason in a sentence; for a budget of tokens also how many are spent and when there are more.
    get description: String = self.text().into_owned();

    /// How many attempts began.
    get attempts: u32 = self.attempts;

    /// When another try might succeed, on the clock of time.monotonic; None if unknown.
    get retry_at: Option<f64> = self.retry_at_ns(py).map(convert::seconds);

    /// When another try might succeed, on the clock of time.monotonic_ns; None if unknown.
    get retry_at_ns: Option<u64> = (!self.retry_at.is_never()).then(|| self.retry_at.as_nanos());
}

/// The outcome on an error, if there is one.
pub(crate) fn of<'py>(error: &Bound<'py, PyAny>) -> Option<Bound<'py, Outcome>> {
    optional(error, intern!(error.py(), "__holdoff__"))?.cast_into().ok()
}

/// The outcome of an error or of a value, if there is one.
fn known<'py>(ended: &Bound<'py, PyAny>) -> Option<Bound<'py, Outcome>> {
    let attached = of(ended);
    if attached.is_some() || ended.is_instance_of::<PyBaseException>() {
        return attached;
    }
    let recall = imported!(ended.py(), "holdoff._outcomes", "recall").ok()?;
    recall.call1((ended,)).ok()?.cast_into().ok()
}

/// The most errors behind an error that are looked at.
const BEHIND: usize = 64;

/// True if a retry gave up on this error or value, on an error that led to it, or on the answer in one; errors from `handled` on, the
/// address of one, are not looked at.
pub(crate) fn gave_up(failed: &Bound<'_, PyAny>, handled: usize) -> bool {
    let py = failed.py();
    let (mut seen, mut left) = (vec![handled], vec![failed.clone()]);
    while let Some(object) = left.pop() {
        let address = object.as_ptr() as usize;
        if seen.contains(&address) || seen.len() > BEHIND {
            continue;
        }
        seen.push(address);
        if known(&object).is_some_and(|outcome| outcome.get().reason != holdoff_core::StopReason::Cancelled) {
            return true;
        }
        if object.is_instance_of::<PyBaseException>() {
            let behind = [intern!(py, "response"), intern!(py, "__context__"), intern!(py, "__cause__")];
            left.extend(behind.into_iter().filter_map(|name| optional(&object, name)));
        }
    }
    false
}

/// The address of the error that this code handles; 0 for none.
pub(crate) fn handled(py: Python<'_>) -> PyResult<usize> {
    let handled = imported!(py, "sys", "exc_info")?.call0()?.get_item(1)?;
    Ok(if handled.is_none() { 0 } else { handled.as_ptr() as usize })
}

/// The error of a call that a guard refused before its first attempt.
pub(crate) fn refused<'py>(
    py: Python<'py>,
    reason: holdoff_core::StopReason,
    retry_at: Timestamp,
    now: Timestamp,
) -> PyResult<Bound<'py, PyAny>> {
    let error = imported!(py, "holdoff._errors", "Refused")?.call1((reason.text(),))?;
    error.setattr(intern!(py, "reason"), reason.name())?;
    if !retry_at.is_never() {
        error.setattr(intern!(py, "retry_at"), convert::seconds(retry_at.as_nanos()))?;
        error.setattr(intern!(py, "retry_in"), convert::seconds(retry_at.since(now).as_nanos()))?;
    }
    Ok(error)
}

functions! { py;
    /// The outcome of the operation that raised this error or returned this value when it gave up; None for others.
    ///
    /// It is the attribute `__holdoff__` of an error, which engines with loops of their own may set, too. Values keep no
    /// attribute: their outcomes are known for as long as the value lives, if Python can have weak references to it. A
    /// response of an HTTP client can, a dict or a str cannot.
    fn outcome_of[ended: &Bound<'_, PyAny> as "object"]() -> Option<Py<Outcome>> = known(ended).map(Bound::unbind);

    /// True if a retry gave up on this error or answer, on an error that led to it, or on the answer in one.
    ///
    /// For the predicates of other retries around this one: what a retry has given up on needs no more attempts.
    fn given_up[failed: &Bound<'_, PyAny> as "object"]() -> bool = gave_up(failed, 0);
}

/// Keeps the outcome of an operation that gave up with a value.
pub(crate) fn remember(value: &Bound<'_, PyAny>, outcome: Outcome) -> PyResult<()> {
    imported!(value.py(), "holdoff._outcomes", "remember")?.call1((value, outcome)).map(drop)
}

/// Attaches the outcome to the error: as an attribute and, from Python 3.11 on, as a note. An exception whose class refuses
/// either goes back to the user without it.
pub(crate) fn attach(error: &Bound<'_, PyAny>, outcome: Outcome) -> PyResult<()> {
    let py = error.py();
    let name = intern!(py, "__holdoff__");
    let ends = if outcome.reason == holdoff_core::StopReason::Cancelled { "stopped" } else { "gave up" };
    let plural = if outcome.attempts == 1 { "" } else { "s" };
    let note = format!("holdoff: {ends} after {} attempt{plural}: {}", outcome.attempts, outcome.text());
    let value = Bound::new(py, outcome)?;
    if error.setattr(name, &value).is_err() {
        // A frozen class refuses; every exception still has a dict of its own.
        let base = py.get_type::<PyBaseException>();
        let _refused = base.call_method1(intern!(py, "__setattr__"), (error, name, &value));
    }
    let Some(add_note) = optional(error, intern!(py, "add_note")) else {
        return Ok(());
    };
    // The same exception object may come by again and again.
    let notes = optional(error, intern!(py, "__notes__")).and_then(|notes| notes.cast_into::<PyList>().ok());
    if notes.is_none_or(|notes| notes.contains(&note).is_ok_and(|there| !there)) {
        let _refused = add_note.call1((note,));
    }
    Ok(())
}
