//! The scopes around a piece of code: limits, attempts of retries, and the tokens that attempts hand down.
//!
//! A context variable holds the innermost scope. Tasks and threads that start in a scope share it, so they see its end, too.

use crate::guards::nested::Token;
use crate::{clock, config, convert};
use holdoff_core::Timestamp;
use pyo3::exceptions::{PyTimeoutError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Resets the variable in the context where it was set. A generator that began in one context may end in another one, which never
/// had the value.
fn reset(before: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = before.py();
    let reset = imported!(py, "holdoff._limit", "reset_scope")?.call1((before,)).map(drop);
    reset.or_else(|error| if error.is_instance_of::<PyValueError>(py) { Ok(()) } else { Err(error) })
}

/// A scope: a block of code with a limit or a token, or an attempt of a retry.
#[pyclass(frozen, module = "holdoff._holdoff")]
pub(crate) struct Scope {
    kind: Kind,
    /// When the code in the scope must be over by the scope's own limit.
    at: Timestamp,
    /// The token for the retries in the scope; none if the scope hands down the token around it.
    handed: Option<Option<holdoff_core::Token>>,
    /// True if the latest retry in this attempt ended without a success (spec 30.4).
    gave_up: AtomicBool,
    /// True once the code of the scope has ended; tasks that it started may still run.
    over: AtomicBool,
    outer: Mutex<Option<Py<Self>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Block,
    /// A blocking attempt, which nothing ends from outside.
    Attempt,
    /// An asynchronous attempt, which is cancelled at its limit.
    Watched,
}

/// How many scopes there are: without one, no limit holds, and a success has no mark to clear.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// True if there may be a scope around this code.
#[inline]
pub(crate) fn has_scopes() -> bool {
    LIVE.load(Ordering::Relaxed) != 0
}

impl Scope {
    /// The innermost scope around this code that has not ended.
    fn current(py: Python<'_>) -> PyResult<Option<Py<Self>>> {
        if !has_scopes() {
            return Ok(None);
        }
        let scope = imported!(py, "holdoff._limit", "get_scope")?.call0()?.cast_into::<Self>().ok();
        Ok(Self::live(py, scope.map(Bound::unbind)))
    }

    /// The scope, or the first one around it that has not ended.
    fn live(py: Python<'_>, mut scope: Option<Py<Self>>) -> Option<Py<Self>> {
        while let Some(ended) = scope.take_if(|scope| scope.get().over.load(Ordering::Acquire)) {
            scope = ended.get().outer(py);
        }
        scope
    }

    /// The scope around this one. Scopes that have ended are forgotten, so that a chain of tasks does not hold all that began before.
    fn outer(&self, py: Python<'_>) -> Option<Py<Self>> {
        let mut outer = self.outer.lock().unwrap_or_else(PoisonError::into_inner);
        *outer = Self::live(py, outer.take());
        outer.as_ref().map(|outer| outer.clone_ref(py))
    }

    /// Ends the scope. True if the attempt is marked as given up.
    fn end(&self) -> bool {
        self.over.store(true, Ordering::Release);
        self.gave_up.load(Ordering::Acquire)
    }
}

/// A scope may be dropped in a block that never ended.
impl Drop for Scope {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The scope that was entered, and the value with which to reset the variable; none where no scope was needed.
pub(crate) type Entered<'py> = Option<(Bound<'py, Scope>, Bound<'py, PyAny>)>;

fn enter_scope<'py>(
    py: Python<'py>,
    kind: Kind,
    at: Timestamp,
    handed: Option<Option<holdoff_core::Token>>,
) -> PyResult<Entered<'py>> {
    let outer = Scope::current(py)?;
    if let Some(outer) = &outer {
        outer.get().outer(py);
    }
    let [gave_up, over] = [const { AtomicBool::new(false) }; 2];
    LIVE.fetch_add(1, Ordering::Relaxed);
    let scope = Bound::new(py, Scope { kind, at, handed, gave_up, over, outer: Mutex::new(outer) })?;
    let before = imported!(py, "holdoff._limit", "set_scope")?.call1((&scope,))?;
    Ok(Some((scope, before)))
}

/// Enters an attempt that has a limit, or hands down a token.
#[inline]
pub(crate) fn enter(
    py: Python<'_>,
    kind: Kind,
    at: Timestamp,
    token: Option<holdoff_core::Token>,
) -> PyResult<Entered<'_>> {
    if at.is_never() && token.is_none() { Ok(None) } else { enter_scope(py, kind, at, token.map(Some)) }
}

/// Undoes [`enter`]. True if a retry in the attempt ended without a success, and none succeeded after it.
#[inline]
pub(crate) fn leave(entered: &Entered<'_>) -> PyResult<bool> {
    let Some((scope, before)) = entered else { return Ok(false) };
    let gave_up = scope.get().end();
    reset(before)?;
    Ok(gave_up)
}

/// A retry ended: marks the attempt around it, or clears its mark (spec 30.4).
pub(crate) fn retry_ended(py: Python<'_>, gave_up: bool) -> PyResult<()> {
    let mut scope = Scope::current(py)?;
    while let Some(block) = scope.take_if(|scope| scope.get().kind == Kind::Block) {
        scope = block.get().outer(py);
    }
    if let Some(attempt) = scope {
        attempt.get().gave_up.store(gave_up, Ordering::Release);
    }
    Ok(())
}

/// The limits around a piece of code.
pub(crate) struct Limits {
    /// The nearest of all.
    pub(crate) nearest: Timestamp,
    /// The nearest of those inside the nearest attempt that is cancelled at its limit.
    pub(crate) unwatched: Timestamp,
    /// The nearest of that attempt and of those around it.
    pub(crate) watched: Timestamp,
}

/// The limits around this code.
pub(crate) fn limits(py: Python<'_>) -> PyResult<Limits> {
    let [mut unwatched, mut watched] = [Timestamp::NEVER; 2];
    let mut is_watched = false;
    let mut scope = Scope::current(py)?;
    while let Some(inner) = scope {
        let inner = inner.get();
        is_watched |= inner.kind == Kind::Watched;
        let limit = if is_watched { &mut watched } else { &mut unwatched };
        *limit = inner.at.min(*limit);
        scope = inner.outer(py);
    }
    Ok(Limits { nearest: unwatched.min(watched), unwatched, watched })
}

/// The token that the attempt around this hands down, if any.
pub(crate) fn handed(py: Python<'_>) -> PyResult<Option<holdoff_core::Token>> {
    let mut scope = Scope::current(py)?;
    while let Some(inner) = scope {
        if let Some(handed) = inner.get().handed {
            return Ok(handed);
        }
        scope = inner.get().outer(py);
    }
    Ok(None)
}

/// Seconds until that time; an error if it has come.
pub(crate) fn left(py: Python<'_>, at: Timestamp) -> PyResult<Option<f64>> {
    if at.is_never() {
        return Ok(None);
    }
    match at.since(clock::now(py)?).as_nanos() {
        0 => Err(PyTimeoutError::new_err("no time is left: the limit around this code has passed")),
        nanos => Ok(Some(convert::seconds(nanos))),
    }
}

functions! { py;
    /// Leaves a scope. True if a retry in it ended without a success, and none succeeded after it.
    fn leave_scope[entered: Entered<'py> as "Entered"]() -> PyResult<bool> = leave(&entered);

    /// Enters a block with a token, or without one.
    fn enter_token[token: Option<Py<Token>>]() -> PyResult<Entered<'py>> as "Entered" =
        enter_scope(py, Kind::Block, Timestamp::NEVER, Some(token.map(|token| token.get().0)));

    /// Enters a block with a limit that many nanoseconds from now; None sets none.
    fn enter_limit[nanos: Option<u64>]() -> PyResult<Entered<'py>> as "Entered" = match nanos {
        Some(nanos) => {
            let at = clock::now(py)?.after(holdoff_core::Span::from_nanos(nanos));
            enter_scope(py, Kind::Block, at, None)
        }
        None => Ok(None),
    };

    /// The nanoseconds of a limit: 0 if the time is up, None for "none".
    fn limit_nanos[limit: &Bound<'py, PyAny>]() -> PyResult<Option<u64>> = {
        let number = match limit.getattr_opt(intern!(py, "total_seconds"))? {
            Some(total) => total.call0()?,
            None => limit.clone(),
        };
        let is_up = !number.is_instance_of::<pyo3::types::PyBool>()
            && number.extract::<f64>().is_ok_and(|seconds| seconds < 0.0);
        if is_up { Ok(Some(0)) } else { Ok(config::span_or_none("within", limit)?.map(holdoff_core::Span::as_nanos)) }
    };

    /// The token of the attempt that runs now, to be sent as a header; None outside of an attempt with a token.
    fn token() -> PyResult<Option<Token>> = Ok(handed(py)?.map(Token));

    /// Seconds until the code that runs now must be over, never 0; None when nothing limits it. Raises TimeoutError when no time is left.
    ///
    /// For operations that cannot be aborted from outside: hand it on as their timeout.
    fn remaining() -> PyResult<Option<f64>> = left(py, limits(py)?.nearest);
}
