//! Attempts at any block of code: the loop that the user writes.

use crate::context::{self, Entered, Kind, Scope};
use crate::operation::{Ended, Next, Operation};
use crate::retrying::{Options, Retrying};
use holdoff_core::Timestamp;
use pyo3::exceptions::{PyException, PyRuntimeError, PyTimeoutError, PyTypeError};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

functions! { py;
    #[doc = include_str!("help/attempts.txt")]
    #[pyo3(text_signature = None)]
    fn attempts(
        policy: Option<&Bound<'py, PyAny>> as "Policy | PresetName | None" = None; **options as "Unpack[AttemptsOptions]"
    ) -> PyResult<Attempts> = {
        let options = Options::new(py, options)?;
        for (name, instead) in [
            ("on_result", "a block of code returns no value: raise an error in the block"),
            ("fallback", "a block of code returns no value: write `try` and `except` around the loop"),
        ] {
            if options.has(name)? {
                return Err(PyTypeError::new_err(format!("attempts() takes no {name}; {instead}")));
            }
        }
        let retrying = Retrying::of_calls(&options.with_policy(policy))?;
        if retrying.hedges() {
            let message = "attempts() cannot hedge: a block of code does not run twice at once; use a function";
            return Err(PyTypeError::new_err(message));
        }
        Ok(Attempts(Py::new(py, retrying)?))
    };
}

/// Attempts at a block of code. Each loop over it is an operation of its own.
#[pyclass(frozen, module = "holdoff.types")]
pub(crate) struct Attempts(Py<Retrying>);

impl Attempts {
    fn begin(&self, py: Python<'_>, asynchronous: bool) -> PyResult<AttemptIterator> {
        let operation = Py::new(py, Operation::of(self.0.clone_ref(py), self.0.get()._refusals(py)))?;
        Ok(AttemptIterator { operation, latest: None, asynchronous })
    }
}

methods! { Attempts(self, py);
    impl {
        fn __iter__(&self, py: Python<'_>) -> PyResult<AttemptIterator> {
            self.begin(py, false)
        }

        fn __aiter__(&self, py: Python<'_>) -> PyResult<AttemptIterator> {
            self.begin(py, true)
        }
    }

    visits &self.0;
}

/// One operation, an attempt at a time; it ends with the attempt that succeeds or with the last error.
#[pyclass(module = "holdoff._holdoff")]
pub(crate) struct AttemptIterator {
    operation: Py<Operation>,
    latest: Option<Py<Attempt>>,
    asynchronous: bool,
}

methods! { AttemptIterator(self, py);
    impl {
        fn __iter__(slf: Py<Self>) -> Py<Self> {
            slf
        }

        fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<Attempt>>> {
            if !self._goes_on(py)? {
                return Ok(None);
            }
            let mut operation = self.operation.bind(py).borrow_mut();
            operation.rest(py, None).inspect_err(|_| operation.cancel(py))?;
            drop(operation);
            self._next(py, None).map(Some)
        }

        fn __aiter__(slf: Py<Self>) -> Py<Self> {
            slf
        }

        fn __anext__(slf: &Bound<'_, Self>) -> PyResult<NextAttempt> {
            let operation = slf.borrow().operation.clone_ref(slf.py());
            let next = imported!(slf.py(), "holdoff._async", "next_attempt")?.call1((slf, operation))?;
            Ok(NextAttempt(next.unbind()))
        }
    }

    /// True if another attempt follows; begins the operation before the first one.
    mut _goes_on() -> PyResult<bool> = {
        let Some(latest) = &self.latest else {
            return self.operation.bind(py).borrow_mut().begin(py, self.asynchronous).map(|()| true);
        };
        let latest = latest.get();
        let state = latest.lock().0;
        if matches!(state, State::New | State::Entered) {
            self.operation.bind(py).borrow_mut().cancel(py);
            let number = latest.number;
            let message = format!("attempt {number} was not made: write `with attempt:` around the block");
            return Err(PyRuntimeError::new_err(message));
        }
        Ok(state == State::Failed)
    };

    /// The next attempt, under that guard if it is asynchronous.
    mut _next(guard: Option<Py<PyAny>> as "Guard | None") -> PyResult<Py<Attempt>> = {
        let operation = self.operation.clone_ref(py);
        let (number, abort_at) = {
            let operation = operation.bind(py).borrow();
            (operation.attempts().max(1), operation.abort_at)
        };
        let limit = abort_at.min(context::limits(py)?.nearest);
        let state = Mutex::new((State::New, None));
        let attempt = Py::new(py, Attempt { operation, number, abort_at, limit, guard, state })?;
        self.latest = Some(attempt.clone_ref(py));
        Ok(attempt)
    };

    visits &self.operation, &self.latest;
}

results! {
    /// The next attempt, to be awaited.
    NextAttempt(Py<PyAny>) shown pyo3::type_hint_subscript!(
        pyo3::type_hint_identifier!("collections.abc", "Awaitable"), <Attempt as pyo3::PyTypeInfo>::TYPE_HINT
    ), |py, next| Ok(next.into_bound(py));
}

/// The state of an attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Entered,
    /// Another attempt follows.
    Failed,
    Over,
}

/// The state of an attempt, and the values that it has set in its context.
type Progress = (State, Option<(Py<Scope>, Py<PyAny>)>);

/// One attempt: a context manager around the block, which swallows an error that is to be retried.
#[pyclass(frozen, module = "holdoff.types")]
pub(crate) struct Attempt {
    operation: Py<Operation>,
    number: u32,
    abort_at: Timestamp,
    /// The nearest of its own limit and those around it.
    limit: Timestamp,
    guard: Option<Py<PyAny>>,
    state: Mutex<Progress>,
}

impl Attempt {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The block ends. True if the error is swallowed.
    fn ends<'py>(&self, py: Python<'py>, [kind, error, traceback]: [&Bound<'py, PyAny>; 3]) -> PyResult<bool> {
        let entered = {
            let mut state = self.lock();
            state.0 = State::Over;
            state.1.take()
        };
        let entered: Entered<'py> = entered.map(|(scope, before)| (scope.into_bound(py), before.into_bound(py)));
        let mut gave_up = context::leave(&entered)?;
        let timeout = match &self.guard {
            Some(guard) => {
                let guard = guard.bind(py);
                let ended = guard.call_method1("__exit__", (kind, error, traceback));
                gave_up = guard.getattr("gave_up")?.is_truthy()?;
                match ended {
                    Err(raised) if raised.is_instance_of::<PyTimeoutError>(py) => Some(raised),
                    ended => ended.map(|_| None)?,
                }
            }
            None => None,
        };
        let by = Ended { timed_out: timeout.is_some(), gave_up };
        let ended = timeout.as_ref().map_or_else(|| error.clone(), |timeout| timeout.value(py).clone().into_any());
        let mut operation = self.operation.bind(py).borrow_mut();
        if ended.is_none() {
            operation.succeeded(None, &ended)?;
        } else if !ended.is_instance_of::<PyException>() {
            operation.cancel(py);
            return Ok(false);
        } else if matches!(operation.failed(&ended, by, None)?, Next::Sleep(_)) {
            self.lock().0 = State::Failed;
            return Ok(true);
        }
        operation.refuse_awaited(py, "at the end of a block")?;
        timeout.map_or(Ok(false), Err)
    }
}

methods! { Attempt(self, py);
    impl {
        fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
            let (py, attempt) = (slf.py(), slf.get());
            if attempt.lock().0 != State::New {
                return Err(PyRuntimeError::new_err(format!("attempt {} was made already", attempt.number)));
            }
            let entered = match &attempt.guard {
                Some(guard) => guard.bind(py).call_method0("__enter__").map(|_| None)?,
                None => {
                    let token = attempt.operation.bind(py).borrow().token_inside();
                    context::enter(py, Kind::Attempt, attempt.abort_at, token)?
                }
            };
            let entered = entered.map(|(scope, before)| (scope.unbind(), before.unbind()));
            *attempt.lock() = (State::Entered, entered);
            Ok(slf.clone())
        }

        #[pyo3(signature = (kind: "type[BaseException] | None", error: "BaseException | None", traceback: "TracebackType | None"))]
        fn __exit__<'py>(
            &self, py: Python<'py>, kind: &Bound<'py, PyAny>, error: &Bound<'py, PyAny>, traceback: &Bound<'py, PyAny>
        ) -> PyResult<bool> {
            // After a hook's error, or the token's: the guards get back now what they gave, and not when nobody holds the traceback.
            let ended = self.ends(py, [kind, error, traceback]);
            ended.inspect_err(|_| self.operation.bind(py).borrow_mut().cancel(py))
        }
    }

    /// Its number, from 1.
    get number: u32 = self.number;

    /// Seconds until it must be over, never 0; None without a limit. Raises TimeoutError when no time is left.
    get remaining: PyResult<Option<f64>> = context::left(py, self.limit);

    visits &self.operation, &self.guard;
}
