//! The decorator, the caller object and their loop, which costs a successful call one more function call and no decision.

use crate::context::{self, Kind};
use crate::convert::{Returned, in_context};
use crate::coroutine::{COROUTINE, flags_of, is_coroutine, not_awaited, refuse_coroutine};
use crate::failure::Failure;
use crate::guards::loops::LoopBudgets;
use crate::guards::set::Guards;
use crate::on::OnResult;
use crate::operation::events::BLOCKING;
use crate::operation::{Next, Operation};
use crate::policy::Policy;
use crate::retrying::{Options, Retrying};
use crate::{classify, telemetry};
use holdoff_core::{Timestamp, Token};
use pyo3::exceptions::{PyBaseException, PyException};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict, PyTuple};

/// The result of a call: its value, or the error that it raised.
pub(crate) type Attempted<'py> = Result<Bound<'py, PyAny>, Bound<'py, PyBaseException>>;

/// A function, and the arguments to call it with.
#[derive(Clone, Copy)]
pub(crate) struct Invocation<'a, 'py> {
    pub(crate) function: &'a Bound<'py, PyAny>,
    pub(crate) args: &'a Bound<'py, PyTuple>,
    pub(crate) kwargs: Option<&'a Bound<'py, PyDict>>,
}

impl<'py> Invocation<'_, 'py> {
    #[inline]
    fn run(&self) -> Attempted<'py> {
        let py = self.function.py();
        // Before Python 3.12 the error itself has no traceback until it is caught, which is here.
        self.function.call(self.args, self.kwargs).map_err(|raised| raised.into_value(py).into_bound(py))
    }

    fn kwargs(&self) -> Bound<'py, PyDict> {
        self.kwargs.map_or_else(|| PyDict::new(self.args.py()), Clone::clone)
    }

    /// Calls the function until it succeeds or the policy gives up. The first attempt of a `direct` call is only a call of the
    /// function; the caller object is made when that fails.
    #[inline]
    pub(crate) fn retried(
        self,
        direct: bool,
        budgets: Option<&LoopBudgets>,
        retrying: impl FnOnce() -> PyResult<Bound<'py, Retrying>>,
    ) -> Returned<'py> {
        let noted = budgets.map_or(0, LoopBudgets::refusals);
        let first = (direct && !telemetry::listens()).then(|| self.run());
        match first {
            Some(Ok(value))
                if !is_coroutine(&value) && !budgets.is_some_and(LoopBudgets::is_short) && !context::has_scopes() =>
            {
                Ok(value)
            }
            first => Retrying::run_on(&retrying()?, self, first, noted),
        }
    }
}

impl Retrying {
    /// Continues after a direct call, or makes any other call.
    #[cold]
    #[inline(never)]
    fn run_on<'py>(
        slf: &Bound<'py, Self>,
        call: Invocation<'_, 'py>,
        first: Option<Attempted<'py>>,
        noted: u32,
    ) -> Returned<'py> {
        let py = slf.py();
        match first {
            _ if !call.function.is_callable() => {
                let refused = imported!(py, "holdoff._functions", "refuse_call")?.call1((call.function,))?;
                Err(PyErr::from_value(refused))
            }
            Some(Ok(value)) if !is_coroutine(&value) => slf.get().succeeded_at_once(py).map(|()| value),
            first => Self::run_with_fallback(slf, Operation::of(slf.clone().unbind(), noted), first, call),
        }
    }

    /// The loop from the first attempt, or from its result, and the fallback.
    fn run_with_fallback<'py>(
        slf: &Bound<'py, Self>,
        mut operation: Operation,
        first: Option<Attempted<'py>>,
        call: Invocation<'_, 'py>,
    ) -> Returned<'py> {
        let py = slf.py();
        let hedges = first.is_none() && slf.get().hedges();
        if hedges || slf.get().is_heard() {
            describe(&mut operation, call)?;
        }
        let result = if hedges {
            let race = imported!(py, "holdoff._threads", "race")?;
            let handed = operation.handed_on(py)?;
            let result = race.call1((&handed, call.function, call.args, call.kwargs()));
            operation.gave_up = handed.borrow().gave_up;
            result
        } else {
            Self::run_loop(slf, &mut operation, first, call)
        };
        match (result, &slf.get().fallback) {
            (Err(error), Some(fallback)) if operation.gave_up => {
                let last = error.into_value(py).into_any();
                let value = fallback.bind(py).call1((&last,)).and_then(|value| refuse_coroutine("fallback", value));
                value.map_err(|own| in_context(py, own, &last))
            }
            (result, _) => result,
        }
    }

    fn run_loop<'py>(
        slf: &Bound<'py, Self>,
        operation: &mut Operation,
        first: Option<Attempted<'py>>,
        call: Invocation<'_, 'py>,
    ) -> Returned<'py> {
        let py = slf.py();
        if first.is_none() {
            operation.first(py)?;
        }
        let (mut ended, mut decided) = (first.map(|first| (first, false)), None);
        loop {
            let (last, gave_up) = match ended.take() {
                Some(ended) => ended,
                None => {
                    // A hook may have taken its time since the decision.
                    operation.wait_until_due(py, decided.filter(|_| !slf.get().is_heard()))?;
                    if let Some(value) = operation.ended(py) {
                        return Ok(value);
                    }
                    attempt(operation.abort_at, operation.token_inside(), call)?
                }
            };
            if !last.as_ref().is_ok_and(is_coroutine) {
                operation.refuse_awaited(py, BLOCKING)?;
            }
            decided = Some(match last {
                Ok(value) if is_coroutine(&value) => {
                    // The function turned out to be asynchronous: its coroutine is the first attempt of the awaiting loop.
                    describe(operation, call)?;
                    let drive = imported!(py, "holdoff._async", "drive")?;
                    let handed = operation.handed_on(py)?;
                    let first = [("first", value)].into_py_dict(py)?;
                    return drive.call((handed, call.function, call.args, call.kwargs()), Some(&first));
                }
                Ok(value) => {
                    if slf.get().on_result.is_some() {
                        describe(operation, call)?;
                    }
                    match operation.rejected(&value, gave_up, None)? {
                        Next::Sleep(now) => now,
                        _ => return Ok(value),
                    }
                }
                Err(error) if !error.is_instance_of::<PyException>() => return Err(raised(error)),
                Err(error) => {
                    if let Err(own) = slf.get().refuse_asynchronous(py) {
                        return Err(in_context(py, own, &error.into_any().unbind()));
                    }
                    describe(operation, call)?;
                    match operation.failed(&error, false, gave_up, None)? {
                        Next::Sleep(now) => now,
                        _ => return operation.ended(py).map_or_else(|| Err(raised(error)), Ok),
                    }
                }
            });
        }
    }

    /// Decorates a function.
    fn decorate<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> Returned<'py> {
        imported!(slf.py(), "holdoff._functions", "decorate")?.call1((slf, function))
    }
}

/// Keeps the function and its arguments for events.
fn describe(operation: &mut Operation, call: Invocation<'_, '_>) -> PyResult<()> {
    if operation.about.is_none() {
        let about = (call.function, call.args, call.kwargs());
        operation.about = Some(about.into_pyobject(call.function.py())?.unbind());
    }
    Ok(())
}

methods! { Retrying(self, py);
    #[pyo3(text_signature = None)]
    new[policy: Option<Bound<'py, PyAny>> as "Policy | PresetName | None" = None](
        ; **options as "Unpack[RetryingOptions]"
    ) -> PyResult<Self> = Self::of(&Options::new(py, options)?.with_policy(policy.as_ref()));

    /// A caller with the given options and fields instead of its own; all others stay.
    ref with_options(; **options as "Unpack[RetryOptions]") -> PyResult<Self> =
        self.changed(&Options::new(py, options)?);

    impl {
        /// The function, retried.
        #[pyo3(signature = (function: "Callable[_P, _R]", /) -> "Decorated[_P, _R]")]
        fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> Returned<'py> {
            Self::decorate(slf, function)
        }

        /// Call the function until it succeeds or the policy gives up.
        #[pyo3(signature = (function: "Callable[_P, _R]", /, *args: "_P.args", **kwargs: "_P.kwargs") -> "_R")]
        pub(crate) fn call<'py>(
            slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>,
            kwargs: Option<&Bound<'py, PyDict>>
        ) -> Returned<'py> {
            // The guards of an asynchronous function must not be asked twice.
            if slf.get().guards.is_some() && flags_of(function)? & COROUTINE != 0 {
                return Self::decorate(slf, function)?.call(args, kwargs);
            }
            Self::_run(slf, function, args, kwargs)
        }

        /// Calls a function that is no `async def`, with these arguments.
        #[pyo3(signature = (function: "Callable[..., Any]", args: "tuple[Any, ...]", kwargs: "dict[str, Any]", /) -> "Any")]
        fn _run<'py>(
            slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>,
            kwargs: Option<&Bound<'py, PyDict>>
        ) -> Returned<'py> {
            let retrying = slf.get();
            Invocation { function, args, kwargs }.retried(!retrying.guarded, retrying.budgets.as_deref(), || Ok(slf.clone()))
        }
    }

    /// The failure of an error; None for a fault of the program itself, which guards do not count, and for control flow.
    ref failure_of(error: &Bound<'_, PyException>; timed_out: bool = false) -> PyResult<Option<Failure>> =
        Ok(classify::classify(error.as_any(), timed_out, self)?.failure().map(Failure));

    /// True if a second attempt may run beside the first.
    get _hedges: bool = self.hedges();

    /// True if a function replaces the last error.
    get _replaces: bool = self.fallback.is_some();

    /// The first attempt succeeded, without an operation.
    ref _succeeded() -> PyResult<()> = self.succeeded_at_once(py);

    /// Pickled with its policy and its options.
    special __reduce__() -> Returned<'py> = {
        let options = self.options.as_ref().map_or_else(|| PyDict::new(py), |options| options.bind(py).clone());
        let make = py.import("holdoff._holdoff")?.getattr("unpickled_retrying")?;
        Ok((make, (&self.policy, options)).into_pyobject(py)?.into_any())
    };

    visits
        &self.policy, &self.guards, &self.options, &self.classify, &self.on_attempt,
        &self.on_retry, &self.on_success, &self.on_give_up, &self.name, &self.sleep, &self.fallback,
        &self.delay, &self.cancel, self.on.object(), self.on_result.as_ref().and_then(OnResult::object);

    /// The policy.
    get policy: Py<Policy> = self.policy.clone_ref(py);

    /// The guards of the option, else the policy's own; None without any.
    get guards: Option<Py<Guards>> = self.guards.as_ref().map(|guards| guards.clone_ref(py));

    /// True if the first attempt has a limit, a token, a judged value, hooks, or guards.
    get _guarded: bool = self.guarded;

    /// The number of the latest refusal of the budgets that its loops bring.
    get _refusals: u32 = self.budgets.as_ref().map_or(0, |budgets| budgets.refusals());
}

functions! { py;
    #[doc = include_str!("help/retry.txt")]
    #[pyo3(text_signature = None)]
    fn retry[function: Option<&Bound<'py, PyAny>> = None](; **options as "Unpack[RetryOptions]") -> Returned<'py> = {
        let retrying = Bound::new(py, Retrying::of(&Options::new(py, options)?)?)?;
        match function {
            Some(function) => Retrying::decorate(&retrying, function),
            None => Ok(retrying.into_any()),
        }
    };
}

/// One attempt, whose function can read its limit and its token. True if the latest retry in it ended without a success.
fn attempt<'py>(
    abort_at: Timestamp,
    token: Option<Token>,
    call: Invocation<'_, 'py>,
) -> PyResult<(Attempted<'py>, bool)> {
    let py = call.function.py();
    let entered = context::enter(py, Kind::Attempt, abort_at, token)?;
    let result = call.run();
    let gave_up = context::leave(&entered)?;
    Ok((result, gave_up))
}

impl Retrying {
    /// Refuses asynchronous functions that a blocking loop would have to await.
    fn refuse_asynchronous(&self, py: Python<'_>) -> PyResult<()> {
        for (name, function) in [("fallback", &self.fallback), ("sleep", &self.sleep)] {
            if let Some(function) = function
                && flags_of(function.bind(py))? & COROUTINE != 0
            {
                return Err(not_awaited(name));
            }
        }
        Ok(())
    }
}

fn raised(error: Bound<'_, PyBaseException>) -> PyErr {
    PyErr::from_value(error.into_any())
}
