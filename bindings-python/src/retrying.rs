//! A caller object: a policy with the options of one use.

use crate::config;
use crate::guards::set::{self, Guards};
use crate::on::{On, OnResult};
use crate::parameters::{
    CancelToken, Classify, Fallback, GuardsOption, OnErrors, OnGiveUp, OnResults, OnRetry, Seed, SeedNumber,
};
use crate::policy::Policy;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// A policy with the options of one use: call functions with it, or decorate them.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Retrying {
    pub(crate) policy: Py<Policy>,
    pub(crate) on: On,
    pub(crate) on_result: Option<OnResult>,
    pub(crate) classify: Option<Py<PyAny>>,
    pub(crate) on_retry: Option<Py<PyAny>>,
    pub(crate) on_give_up: Option<Py<PyAny>>,
    pub(crate) cancel: Option<Py<PyAny>>,
    pub(crate) seed: Option<u64>,
    /// True if the operation can run twice without harm.
    pub(crate) idempotent: bool,
    pub(crate) guards: Option<Py<Guards>>,
    pub(crate) fallback: Option<Py<PyAny>>,
    /// True if the first attempt has a limit, a token, a judged value, or guards.
    pub(crate) guarded: bool,
    /// True if the first attempt has nothing but a breaker.
    pub(crate) quick: bool,
}

/// The options of one use, as Python passes them.
pub(crate) struct Options<'a, 'py> {
    pub(crate) on: Option<OnErrors<'a, 'py>>,
    pub(crate) on_result: Option<OnResults<'a, 'py>>,
    pub(crate) cancel: Option<CancelToken<'a, 'py>>,
    pub(crate) seed: Seed,
    pub(crate) on_retry: Option<OnRetry<'a, 'py>>,
    pub(crate) on_give_up: Option<OnGiveUp<'a, 'py>>,
    pub(crate) classify: Option<Classify<'a, 'py>>,
    pub(crate) idempotent: bool,
    pub(crate) guards: Option<GuardsOption<'a, 'py>>,
    pub(crate) fallback: Option<Fallback<'a, 'py>>,
}

impl Retrying {
    pub(crate) fn without_options(policy: &Bound<'_, Policy>) -> PyResult<Self> {
        Ok(Self::with(policy, set::of_policy(policy)?))
    }

    fn with(policy: &Bound<'_, Policy>, guards: Option<Py<Guards>>) -> Self {
        let limited = policy.get().core().first_limit().is_some() || policy.get().nesting.is_some();
        Self {
            quick: !limited && guards.as_ref().is_some_and(|guards| guards.get().only_breaker),
            guarded: limited || guards.is_some(),
            guards,
            fallback: None,
            policy: policy.clone().unbind(),
            on: On::Default,
            on_result: None,
            classify: None,
            on_retry: None,
            on_give_up: None,
            cancel: None,
            seed: None,
            idempotent: true,
        }
    }

    pub(crate) fn new(policy: &Bound<'_, Policy>, options: Options<'_, '_>) -> PyResult<Self> {
        let plain = match options.guards {
            None => Self::without_options(policy)?,
            Some(guards) => Self::with(policy, set::of_option(&guards)?),
        };
        let on_result = OnResult::new(options.on_result.as_deref())?;
        let looks = options.cancel.is_some() || on_result.is_some();
        Ok(Self {
            on: On::new(options.on.as_deref())?,
            quick: plain.quick && !looks,
            guarded: plain.guarded || looks,
            fallback: function("fallback", options.fallback.as_deref())?,
            on_result,
            classify: function("classify", options.classify.as_deref())?,
            on_retry: function("on_retry", options.on_retry.as_deref())?,
            on_give_up: function("on_give_up", options.on_give_up.as_deref())?,
            cancel: options.cancel.as_deref().map(token).transpose()?,
            seed: options.seed.map(|SeedNumber(seed)| seed),
            idempotent: options.idempotent,
            ..plain
        })
    }

    /// The policy's numbers.
    pub(crate) fn core(&self) -> &holdoff_core::Policy {
        self.policy.get().core()
    }

    /// True if a second attempt may run beside the first.
    pub(crate) fn hedges(&self) -> bool {
        self.guards.as_ref().is_some_and(|guards| guards.get().hedges())
    }
}

fn function(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    match value {
        Some(value) if !value.is_callable() => {
            Err(PyTypeError::new_err(format!("{name} must be a function, not {}", config::type_name(value))))
        }
        value => Ok(value.map(|value| value.clone().unbind())),
    }
}

fn token(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if value.is_instance(TYPE.import(value.py(), "holdoff._cancel", "Cancel")?)? {
        return Ok(value.clone().unbind());
    }
    Err(PyTypeError::new_err(format!("cancel must be a holdoff.Cancel, not {}", config::type_name(value))))
}
