//! A caller object: a policy with the options of one use.

use crate::config::must_be;
use crate::guards::loops::LoopBudgets;
use crate::guards::set::{self, Guards};
use crate::on::{On, OnResult};
use crate::policy::{self, Policy};
use crate::{clock, context, convert, telemetry};
use holdoff_core::Timestamp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::sync::Arc;

/// Declares a caller object with its options of one use: the field of each, its value unless given, and the function that reads it
/// from its name and its value.
macro_rules! retrying {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr, $read:expr;)*) => {
        #[doc = include_str!("help/retrying.txt")]
        #[pyclass(frozen, module = "holdoff")]
        pub(crate) struct Retrying {
            pub(crate) policy: Py<Policy>,
            $($(#[$doc])* pub(crate) $name: $type,)*
            /// The budgets that the loop brings, unless the policy or the guards name one.
            pub(crate) budgets: Option<Arc<LoopBudgets>>,
            /// The options as they were given.
            pub(crate) options: Option<Py<PyDict>>,
            /// True if the first attempt has a limit, a token, a judged value, hooks, or guards.
            pub(crate) guarded: bool,
        }

        /// The names of the options of one use.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        impl Retrying {
            fn defaults(policy: &Bound<'_, Policy>, options: Option<Py<PyDict>>) -> Self {
                let budgets = policy.get().budgets.clone();
                let policy = policy.clone().unbind();
                Self { policy, $($name: $default,)* budgets, options, guarded: false }
            }

            fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
                match name {
                    $(stringify!($name) => self.$name = $read(name, value)?,)*
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

retrying! {
    on: On = On::Default, |_, value| On::new(value);
    on_result: Option<OnResult> = None, |_, value| OnResult::new(value);
    classify: Option<Py<PyAny>> = None, function;
    on_attempt: Option<Py<PyAny>> = None, function;
    on_retry: Option<Py<PyAny>> = None, function;
    on_success: Option<Py<PyAny>> = None, function;
    on_give_up: Option<Py<PyAny>> = None, function;
    /// The name of its operations in events, instead of the function's.
    name: Option<Py<PyAny>> = None, |name, value| {
        text(name, value).map(|text| Some(PyString::new(value.py(), &text).into_any().unbind()))
    };
    /// The user's own function of delays.
    delay: Option<Py<PyAny>> = None, function;
    /// The sleep in place of Python's.
    sleep: Option<Py<PyAny>> = None, function;
    cancel: Option<Py<PyAny>> = None, |_, value| token(value).map(Some);
    seed: Option<u64> = None, |name, value| convert::seed(name, value).map(Some);
    /// True if the operation can run twice without harm.
    idempotent: bool = true, yes_or_no;
    guards: Option<Py<Guards>> = None, |_, value| set::of_option(value);
    /// The server that is called; it has a budget of its own. Empty unless given.
    key: String = String::new(), text;
    fallback: Option<Py<PyAny>> = None, function;
}

/// The name of a hook, and the hook.
pub(crate) type Hook = (&'static str, fn(&Retrying) -> &Option<Py<PyAny>>);

pub(crate) const ATTEMPT: Hook = ("on_attempt", |settings| &settings.on_attempt);
pub(crate) const RETRY: Hook = ("on_retry", |settings| &settings.on_retry);
pub(crate) const SUCCESS: Hook = ("on_success", |settings| &settings.on_success);
pub(crate) const GIVE_UP: Hook = ("on_give_up", |settings| &settings.on_give_up);

/// The options of one use, and the fields of a policy beside them, by name; an option that is None is not given.
pub(crate) struct Options<'py> {
    options: Bound<'py, PyDict>,
    policy: Option<Bound<'py, PyAny>>,
    fields: Option<Bound<'py, PyDict>>,
}

impl<'py> Options<'py> {
    pub(crate) fn new(py: Python<'py>, arguments: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let mut all = Self { options: PyDict::new(py), policy: None, fields: None };
        for (name, value) in arguments.into_iter().flatten() {
            let text = name.cast::<PyString>()?.to_string_lossy();
            let option = NAMES.contains(&&*text);
            if text == "policy" {
                all = all.with_policy(Some(&value));
            } else if !option {
                all.fields.get_or_insert_with(|| PyDict::new(py)).set_item(name, value)?;
            } else if !value.is_none() {
                all.options.set_item(name, value)?;
            }
        }
        Ok(all)
    }

    /// The same with this policy.
    pub(crate) fn with_policy(self, policy: Option<&Bound<'py, PyAny>>) -> Self {
        Self { policy: policy.filter(|policy| !policy.is_none()).cloned().or(self.policy), ..self }
    }

    /// True if an option is given.
    pub(crate) fn has(&self, name: &str) -> PyResult<bool> {
        self.options.contains(name)
    }

    /// The name of a policy or a field that is given.
    pub(crate) fn policy_or_field(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let policy = self.policy.as_ref().map(|_| PyString::new(self.options.py(), "policy").into_any());
        Ok(policy.or_else(|| self.fields.as_ref()?.keys().get_item(0).ok()))
    }

    /// The policy that these options and fields give, as a change of another one; none where they give none.
    fn policy(&self, of: Option<&Policy>) -> PyResult<Option<Bound<'py, Policy>>> {
        let py = self.options.py();
        match (&self.policy, &self.fields, of) {
            (None, None, Some(_)) => Ok(None),
            (Some(policy), None, _) => policy::of_option(policy).map(Some),
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
        let mut made = Self::defaults(policy, options.map(|options| options.options.clone().unbind()));
        made.guards = guards;
        for (name, value) in options.into_iter().flat_map(|options| &options.options) {
            made.set(&name.cast::<PyString>()?.to_string_lossy(), &value)?;
        }
        if made.guards.as_ref().is_some_and(|guards| guards.get().names_budget) {
            made.budgets = None;
        }
        made.take_key()?;
        if let (Some(options), Some(guards)) = (options, &made.guards)
            && options.has("guards")?
        {
            // Callers that are made from this one share the set.
            options.options.set_item("guards", guards)?;
        }
        let settings = policy.get();
        let looks = made.cancel.is_some() || made.on_result.is_some() || made.hears() || settings.nesting.is_some();
        made.guarded = looks || settings.core().is_timed() || made.guards.is_some();
        Ok(made)
    }

    /// Guards of a key imply it.
    fn take_key(&mut self) -> PyResult<()> {
        let Some(key) = self.guards.as_ref().and_then(|guards| guards.get().key.as_deref()) else { return Ok(()) };
        if self.key.is_empty() {
            self.key = key.to_owned();
        } else if self.key != key {
            let given = &self.key;
            let message = format!("key = {given:?}: the guards are those of the key {key:?}; leave key out");
            return Err(PyValueError::new_err(message));
        }
        Ok(())
    }

    /// The name of its breaker in events: the key of the guards, if they are a key's own.
    pub(crate) fn breaker_name(&self) -> Option<&str> {
        self.guards.as_ref()?.get().key.as_deref()
    }

    /// The policy of the options, else the default one, with these options.
    pub(crate) fn of(options: &Options<'_>) -> PyResult<Self> {
        let policy = options.policy(None)?;
        let default = || policy::of_fields(options.options.py(), None);
        Self::of_policy(&policy.map_or_else(default, Ok)?, options)
    }

    /// The same for the calls of one use of options alone, which share their budgets with all such calls of this process.
    pub(crate) fn of_calls(options: &Options<'_>) -> PyResult<Self> {
        let mut made = Self::of(options)?;
        let is_own = options.policy.as_ref().is_some_and(|policy| policy.is_instance_of::<Policy>());
        if made.budgets.is_some() && !is_own {
            made.budgets = made.policy.get().budgets_of_calls();
        }
        Ok(made)
    }

    pub(crate) fn of_policy(policy: &Bound<'_, Policy>, options: &Options<'_>) -> PyResult<Self> {
        let own = if !options.has("guards")? { set::of_policy(policy)? } else { None };
        Self::with(policy, own, Some(options))
    }

    /// The same with other options. Fields change the policy; its guards stay unless they change, too.
    pub(crate) fn changed(&self, options: &Options<'_>) -> PyResult<Self> {
        let py = options.options.py();
        let own = self.policy.bind(py);
        let policy = options.policy(Some(own.get()))?.unwrap_or_else(|| own.clone());
        let all = self.options.as_ref().map_or_else(|| Ok(PyDict::new(py)), |options| options.bind(py).copy())?;
        all.update(options.options.as_mapping())?;
        let all = Options { options: all, policy: None, fields: None };
        if !all.has("guards")? && policy.get().document.guards == own.get().document.guards {
            let guards = self.guards.as_ref().map(|guards| guards.clone_ref(py));
            return Self::with(&policy, guards, Some(&all));
        }
        Self::of_policy(&policy, &all)
    }

    /// Runs one transition at `now` with the guards, and with the budget that the loop brings.
    pub(crate) fn with_guards<T>(
        &self,
        py: Python<'_>,
        now: Timestamp,
        transition: impl FnOnce(&mut holdoff_core::Guards<'_>) -> T,
    ) -> T {
        set::with_guards(py, self.guards.as_ref().map(Py::get), |guards| {
            if !self.idempotent {
                // spec 29.9: an operation that may not run twice does not run twice at once.
                guards.hedge = None;
            }
            match &self.budgets {
                Some(budgets) => budgets.with_budget(&self.key, now, guards, transition),
                None => transition(guards),
            }
        })
    }

    /// The time before the first attempt if it has a limit, and when it must be over. Reads the clock unless the time is given.
    #[inline]
    pub(crate) fn limit(
        py: Python<'_>,
        policy: &holdoff_core::Policy,
        started: Option<Timestamp>,
    ) -> PyResult<(Option<Timestamp>, Timestamp)> {
        let started = match started {
            None => policy.is_timed().then(|| clock::now(py)).transpose()?,
            started => started,
        };
        let limit = started.zip(policy.first_limit());
        Ok((started, limit.map_or(Timestamp::NEVER, |(started, limit)| started.after(limit))))
    }

    /// Learns that the first attempt succeeded, without a machine.
    #[inline]
    pub(crate) fn succeeded_at_once(&self, py: Python<'_>) -> PyResult<()> {
        match &self.budgets {
            Some(budgets) if budgets.is_short() => budgets.succeed(py, &self.key)?,
            _ => {}
        }
        context::retry_ended(py, false)
    }

    /// True if a second attempt may run beside the first.
    pub(crate) fn hedges(&self) -> bool {
        self.idempotent && self.guards.as_ref().is_some_and(|guards| guards.get().hedges())
    }

    /// True if it has hooks, or a function of delays.
    fn hears(&self) -> bool {
        let hooks = [&self.on_attempt, &self.on_retry, &self.on_success, &self.on_give_up, &self.delay];
        hooks.into_iter().any(Option::is_some)
    }

    /// True if its operations have hooks or listeners.
    pub(crate) fn is_heard(&self) -> bool {
        self.hears() || telemetry::listens()
    }

    /// The policy's numbers.
    pub(crate) fn core(&self) -> &holdoff_core::Policy {
        self.policy.get().core()
    }
}

fn function(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    if value.is_callable() { Ok(Some(value.clone().unbind())) } else { Err(must_be(name, "a function", value)) }
}

fn yes_or_no(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.cast::<PyBool>().map(|yes| yes.is_true()).map_err(|_| must_be(name, "a bool", value))
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.cast::<PyString>().map(|text| text.to_string_lossy().into_owned());
    text.map_err(|_| must_be(name, "a str", value))
}

fn token(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let known = value.is_instance(imported!(value.py(), "holdoff._cancel", "Cancel")?)?;
    if known { Ok(value.clone().unbind()) } else { Err(must_be("cancel", "a holdoff.Cancel", value)) }
}

functions! { py;
    /// For pickle: a caller with this policy and these options.
    fn unpickled_retrying[
        policy: &Bound<'py, Policy>, options: Bound<'py, PyDict> as "dict[str, object]"
    ]() -> PyResult<Retrying> = Retrying::of_policy(policy, &Options { options, policy: None, fields: None });
}
