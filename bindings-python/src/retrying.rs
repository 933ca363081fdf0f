//! A caller object: a policy with the options of one use.

use crate::guards::loops::LoopBudgets;
use crate::guards::set::{self, Guards, Lend as _};
use crate::on::{On, OnResult};
use crate::policy::{self, Policy};
use crate::telemetry::{self, Hooks};
use crate::{config, convert};
use holdoff_core::Timestamp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::sync::Arc;

#[doc = include_str!("help/retrying.txt")]
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Retrying {
    pub(crate) policy: Py<Policy>,
    pub(crate) on: On,
    pub(crate) on_result: Option<OnResult>,
    pub(crate) classify: Option<Py<PyAny>>,
    pub(crate) hooks: Hooks,
    /// The name of its operations in events, instead of the function's.
    pub(crate) name: Option<Py<PyAny>>,
    /// The user's own function of delays.
    pub(crate) delay: Option<Py<PyAny>>,
    /// The sleep in place of Python's.
    pub(crate) sleep: Option<Py<PyAny>>,
    pub(crate) cancel: Option<Py<PyAny>>,
    pub(crate) seed: Option<u64>,
    /// True if the operation can run twice without harm.
    pub(crate) idempotent: bool,
    pub(crate) guards: Option<Py<Guards>>,
    /// The budgets that the loop brings, unless the policy or the guards name one.
    pub(crate) budgets: Option<Arc<LoopBudgets>>,
    /// The server that is called; it has a budget of its own. Empty unless given.
    pub(crate) key: String,
    /// The options as they were given.
    pub(crate) options: Option<Py<PyDict>>,
    pub(crate) fallback: Option<Py<PyAny>>,
    /// True if the first attempt has a limit, a token, a judged value, hooks, or guards.
    pub(crate) guarded: bool,
    /// True if the first attempt has nothing but a breaker.
    pub(crate) quick: bool,
}

/// The names of the options of one use.
const NAMES: &str = "policy on on_result cancel seed on_attempt on_retry on_success on_give_up delay name sleep \
    classify idempotent guards key fallback";

/// The options of one use, and the fields of a policy beside them, by name; an option that is None is not given.
pub(crate) struct Options<'py> {
    options: Bound<'py, PyDict>,
    fields: Option<Bound<'py, PyDict>>,
}

impl<'py> Options<'py> {
    pub(crate) fn new(py: Python<'py>, arguments: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let (options, fields) = (PyDict::new(py), PyDict::new(py));
        for (name, value) in arguments.into_iter().flatten() {
            let text = name.cast::<PyString>()?.to_string_lossy();
            let option = NAMES.split(' ').any(|known| known == text);
            if !option {
                fields.set_item(name, value)?;
            } else if !value.is_none() {
                options.set_item(name, value)?;
            }
        }
        Ok(Self { options, fields: Some(fields).filter(|fields| !fields.is_empty()) })
    }

    /// The same with this policy.
    pub(crate) fn with_policy(self, policy: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        if let Some(policy) = policy {
            self.options.set_item("policy", policy)?;
        }
        Ok(self)
    }

    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.options.get_item(name)
    }

    /// The name of a policy or a field that is given.
    pub(crate) fn policy_or_field(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let policy = self.get("policy")?.map(|_| PyString::new(self.options.py(), "policy").into_any());
        Ok(policy.or_else(|| self.fields.as_ref()?.keys().get_item(0).ok()))
    }

    /// The policy that these options and fields give, as a change of another one; none where they give none.
    fn policy(&self, of: Option<&Policy>) -> PyResult<Option<Bound<'py, Policy>>> {
        let py = self.options.py();
        match (self.get("policy")?, &self.fields, of) {
            (None, None, Some(_)) => Ok(None),
            (Some(policy), None, _) => policy::of_option(&policy).map(Some),
            (None, Some(fields), Some(of)) => of.with_fields(py, fields).map(Some),
            (None, fields, None) => policy::of_fields(py, fields.as_ref()).map(Some),
            (Some(_), Some(_), _) => Err(PyTypeError::new_err("give a policy or its fields, not both")),
        }
    }
}

impl Retrying {
    /// A caller with a policy alone.
    pub(crate) fn of_call<'py>(policy: &Bound<'py, Policy>) -> PyResult<Bound<'py, Self>> {
        Bound::new(policy.py(), Self::with(policy, set::of_policy(policy)?, None)?)
    }

    /// A caller with these guards, unless the options have guards of their own.
    fn with(policy: &Bound<'_, Policy>, guards: Option<Py<Guards>>, options: Option<&Options<'_>>) -> PyResult<Self> {
        let mut made = Self {
            quick: false,
            guarded: false,
            policy: policy.clone().unbind(),
            on: option(options, "on")?.map_or(Ok(On::Default), |on| On::new(&on))?,
            on_result: option(options, "on_result")?.map_or(Ok(None), |on_result| OnResult::new(&on_result))?,
            fallback: function(options, "fallback")?,
            classify: function(options, "classify")?,
            hooks: Hooks {
                attempt: function(options, "on_attempt")?,
                retry: function(options, "on_retry")?,
                success: function(options, "on_success")?,
                give_up: function(options, "on_give_up")?,
            },
            delay: function(options, "delay")?,
            name: option(options, "name")?.map(|name| text("name", &name).map(|_| name.unbind())).transpose()?,
            sleep: function(options, "sleep")?,
            cancel: option(options, "cancel")?.map(|cancel| token(&cancel)).transpose()?,
            seed: option(options, "seed")?.map(|seed| convert::seed("seed", &seed)).transpose()?,
            idempotent: option(options, "idempotent")?.map_or(Ok(true), |value| yes_or_no("idempotent", &value))?,
            guards: option(options, "guards")?.map_or(Ok(guards), |guards| set::of_option(&guards))?,
            key: option(options, "key")?.map_or(Ok(String::new()), |key| text("key", &key))?,
            budgets: policy.get().budgets.clone(),
            options: options.map(|options| options.options.clone().unbind()),
        };
        if made.guards.as_ref().is_some_and(|guards| guards.get().names_budget) {
            made.budgets = None;
        }
        if let (Some(options), Some(guards)) = (options, &made.guards)
            && options.get("guards")?.is_some()
        {
            // Callers that are made from this one share the set.
            options.options.set_item("guards", guards)?;
        }
        let settings = policy.get();
        let looks = made.cancel.is_some() || made.on_result.is_some() || made.hears();
        let plain = !settings.core().is_timed() && settings.nesting.is_none() && !looks;
        let only_breaker = made.guards.as_ref().is_some_and(|guards| guards.get().only_breaker);
        (made.quick, made.guarded) = (plain && only_breaker, !plain || made.guards.is_some());
        Ok(made)
    }

    /// The policy of the options, else the default one, with these options.
    pub(crate) fn of(options: &Options<'_>) -> PyResult<Self> {
        let policy = options.policy(None)?;
        let default = || policy::of_fields(options.options.py(), None);
        Self::of_policy(&policy.map_or_else(default, Ok)?, options)
    }

    pub(crate) fn of_policy(policy: &Bound<'_, Policy>, options: &Options<'_>) -> PyResult<Self> {
        let own = if options.get("guards")?.is_none() { set::of_policy(policy)? } else { None };
        Self::with(policy, own, Some(options))
    }

    /// The same with other options. Fields change the policy; its guards stay unless they change, too.
    pub(crate) fn changed(&self, options: &Options<'_>) -> PyResult<Self> {
        let py = options.options.py();
        let own = self.policy.bind(py);
        let policy = options.policy(Some(own.get()))?.unwrap_or_else(|| own.clone());
        let all = self.options.as_ref().map_or_else(|| Ok(PyDict::new(py)), |options| options.bind(py).copy())?;
        all.update(options.options.as_mapping())?;
        let all = Options { options: all, fields: None };
        if all.get("guards")?.is_none() && policy.get().document.guards == own.get().document.guards {
            let guards = self.guards.as_ref().map(|guards| guards.clone_ref(py));
            return Self::with(&policy, guards, Some(&all));
        }
        Self::of_policy(&policy, &all)
    }

    /// Lends the guards for one transition at `now`, and the budget that the loop brings.
    pub(crate) fn lend<T>(
        &self,
        py: Python<'_>,
        now: Timestamp,
        transition: impl FnOnce(&mut holdoff_core::Guards<'_>) -> T,
    ) -> T {
        self.guards.lend(py, |guards| {
            if !self.idempotent {
                // spec 29.9: an operation that may not run twice does not run twice at once.
                guards.hedge = None;
            }
            match &self.budgets {
                Some(budgets) => budgets.lend(py, &self.key, now, guards, transition),
                None => transition(guards),
            }
        })
    }

    /// Learns that the first attempt succeeded, without a machine.
    #[inline]
    pub(crate) fn succeeded_at_once(&self, py: Python<'_>) -> PyResult<()> {
        match &self.budgets {
            Some(budgets) if budgets.is_short() => budgets.succeed(py, &self.key),
            _ => Ok(()),
        }
    }

    /// True if it has hooks, or a function of delays.
    fn hears(&self) -> bool {
        self.hooks.any() || self.delay.is_some()
    }

    /// True if somebody listens to its operations.
    pub(crate) fn is_heard(&self) -> bool {
        self.hears() || telemetry::listens()
    }

    /// The policy's numbers.
    pub(crate) fn core(&self) -> &holdoff_core::Policy {
        self.policy.get().core()
    }
}

#[inline(never)]
fn option<'py>(options: Option<&Options<'py>>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    options.map_or(Ok(None), |options| options.get(name))
}

#[inline(never)]
fn function(options: Option<&Options<'_>>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let Some(function) = option(options, name)? else { return Ok(None) };
    if function.is_callable() {
        return Ok(Some(function.unbind()));
    }
    Err(PyTypeError::new_err(format!("{name} must be a function, not {}", config::type_name(&function))))
}

fn yes_or_no(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value
        .cast::<PyBool>()
        .map(|yes| yes.is_true())
        .map_err(|_| PyTypeError::new_err(format!("{name} must be a bool, not {}", config::type_name(value))))
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.cast::<PyString>().map(|text| text.to_string_lossy().into_owned());
    text.map_err(|_| PyTypeError::new_err(format!("{name} must be a str, not {}", config::type_name(value))))
}

fn token(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if value.is_instance(imported!(value.py(), "holdoff._cancel", "Cancel")?)? {
        return Ok(value.clone().unbind());
    }
    Err(PyTypeError::new_err(format!("cancel must be a holdoff.Cancel, not {}", config::type_name(value))))
}
