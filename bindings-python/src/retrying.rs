//! A caller object: a policy with the options of one use.

use crate::guards::set::{self, Guards};
use crate::on::{On, OnResult};
use crate::policy::{self, Policy};
use crate::{config, convert};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

#[doc = include_str!("help/retrying.txt")]
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
    /// The options as they were given.
    pub(crate) options: Option<Py<PyDict>>,
    pub(crate) fallback: Option<Py<PyAny>>,
    /// True if the first attempt has a limit, a token, a judged value, or guards.
    pub(crate) guarded: bool,
    /// True if the first attempt has nothing but a breaker.
    pub(crate) quick: bool,
}

/// The names of the options of one use.
const NAMES: &str = "policy on on_result cancel seed on_retry on_give_up classify idempotent guards fallback";

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
    pub(crate) fn without_options(policy: &Bound<'_, Policy>) -> PyResult<Self> {
        Ok(Self::with(policy, set::of_policy(policy)?))
    }

    fn with(policy: &Bound<'_, Policy>, guards: Option<Py<Guards>>) -> Self {
        let mut made = Self {
            quick: false,
            guarded: false,
            guards,
            options: None,
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
        };
        made.note();
        made
    }

    /// Notes what its policy and options come to.
    fn note(&mut self) {
        let policy = self.policy.get();
        let looks = self.cancel.is_some() || self.on_result.is_some();
        let plain = policy.core().first_limit().is_none() && policy.nesting.is_none() && !looks;
        let only_breaker = self.guards.as_ref().is_some_and(|guards| guards.get().only_breaker);
        (self.quick, self.guarded) = (plain && only_breaker, !plain || self.guards.is_some());
    }

    /// The policy of the options, else the default one, with these options.
    pub(crate) fn of(options: &Options<'_>) -> PyResult<Self> {
        let policy = options.policy(None)?;
        let default = || policy::of_fields(options.options.py(), None);
        Self::of_policy(&policy.map_or_else(default, Ok)?, options)
    }

    pub(crate) fn of_policy(policy: &Bound<'_, Policy>, options: &Options<'_>) -> PyResult<Self> {
        let own = if options.get("guards")?.is_none() { set::of_policy(policy)? } else { None };
        Self::with(policy, own).read(options)
    }

    /// The same with the options that are given.
    fn read(mut self, options: &Options<'_>) -> PyResult<Self> {
        if let Some(on) = options.get("on")? {
            self.on = On::new(&on)?;
        }
        if let Some(on_result) = options.get("on_result")? {
            self.on_result = OnResult::new(&on_result)?;
        }
        for (name, own) in [
            ("fallback", &mut self.fallback),
            ("classify", &mut self.classify),
            ("on_retry", &mut self.on_retry),
            ("on_give_up", &mut self.on_give_up),
        ] {
            let Some(function) = options.get(name)? else { continue };
            if !function.is_callable() {
                let given = config::type_name(&function);
                return Err(PyTypeError::new_err(format!("{name} must be a function, not {given}")));
            }
            *own = Some(function.unbind());
        }
        if let Some(cancel) = options.get("cancel")? {
            self.cancel = Some(token(&cancel)?);
        }
        if let Some(seed) = options.get("seed")? {
            self.seed = Some(convert::seed("seed", &seed)?);
        }
        if let Some(idempotent) = options.get("idempotent")? {
            self.idempotent = yes_or_no("idempotent", &idempotent)?;
        }
        if let Some(guards) = options.get("guards")? {
            self.guards = set::of_option(&guards)?;
            // Callers that are made from this one share the set.
            self.guards.as_ref().map_or(Ok(()), |guards| options.options.set_item("guards", guards))?;
        }
        self.options = Some(options.options.clone().unbind());
        self.note();
        Ok(self)
    }

    /// The same with other options. Fields change the policy; its guards stay unless they change, too.
    pub(crate) fn changed(&self, options: &Options<'_>) -> PyResult<Self> {
        let py = options.options.py();
        let own = self.policy.bind(py);
        let policy = options.policy(Some(own.get()))?.unwrap_or_else(|| own.clone());
        let all = self.options.as_ref().map_or_else(|| Ok(PyDict::new(py)), |options| options.bind(py).copy())?;
        all.update(options.options.as_mapping())?;
        let all = Options { options: all, fields: None };
        if all.get("guards")?.is_none() && policy.get().document().guards == own.get().document().guards {
            let guards = self.guards.as_ref().map(|guards| guards.clone_ref(py));
            return Self::with(&policy, guards).read(&all);
        }
        Self::of_policy(&policy, &all)
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

fn yes_or_no(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value
        .cast::<PyBool>()
        .map(|yes| yes.is_true())
        .map_err(|_| PyTypeError::new_err(format!("{name} must be a bool, not {}", config::type_name(value))))
}

fn token(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if value.is_instance(imported!(value.py(), "holdoff._cancel", "Cancel")?)? {
        return Ok(value.clone().unbind());
    }
    Err(PyTypeError::new_err(format!("cancel must be a holdoff.Cancel, not {}", config::type_name(value))))
}
