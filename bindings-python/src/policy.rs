//! `Policy`: the core's policy, made from keyword arguments, a preset's name or a document.

mod methods;

use crate::guards::loops::LoopBudgets;
use crate::on::is_class;
use crate::{config, json};
use holdoff_core::{Document, Nesting};
use pyo3::exceptions::{PyBaseException, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt, PyString};
#[cfg(feature = "stub")]
use pyo3::{inspect::PyStaticExpr, type_hint_identifier, type_hint_union};
use std::sync::Arc;

#[doc = include_str!("help/policy.txt")]
#[pyclass(frozen, eq, module = "holdoff")]
pub(crate) struct Policy {
    pub(crate) document: Document,
    /// True if the document has sections of guards, or of retries in retries.
    pub(crate) guarded: bool,
    /// True if it has rules of its own for failures.
    pub(crate) rules: bool,
    /// The mode inside another retry, if the document has one.
    pub(crate) nesting: Option<Nesting>,
    /// Its own guards, made when they are first needed (see `guards::set`, which knows policies and not the other way round).
    pub(crate) guards: PyOnceLock<Option<Py<PyAny>>>,
    /// The budgets that its loops bring, unless it names one.
    pub(crate) budgets: Option<Arc<LoopBudgets>>,
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        self.document == other.document
    }
}

impl Policy {
    pub(crate) fn of(document: Document) -> Self {
        // They were checked when the document was read.
        let nesting = document.guards.nested().ok().flatten();
        let rules = !document.rules.is_none();
        let budgets = document.guards.budget_of_loops(&document.policy).map(LoopBudgets::new);
        let guarded = document.guards.beside_loop().sections().next().is_some();
        Self { guarded, rules, document, nesting, guards: PyOnceLock::new(), budgets }
    }

    /// The budgets of calls that are made with the fields of this policy alone.
    pub(crate) fn budgets_of_calls(&self) -> Option<Arc<LoopBudgets>> {
        self.document.guards.budget_of_loops(&self.document.policy).map(LoopBudgets::of_calls)
    }

    pub(crate) fn core(&self) -> &holdoff_core::Policy {
        &self.document.policy
    }

    /// The same with other values of these fields, and the same budgets of its loops.
    pub(crate) fn with_fields<'py>(&self, py: Python<'py>, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, Self>> {
        let own = json::loads(&PyString::new(py, &self.document.to_json()))?.cast_into::<PyDict>()?;
        own.update(fields.as_mapping())?;
        let document = config::document(py, None, Some(own.as_mapping()), config::SECOND)?;
        let mut made = Self::of(Document { error_types: self.document.error_types.clone(), ..document });
        if self.document.guards.names_budget() == made.document.guards.names_budget()
            && self.document.guards.budget() == made.document.guards.budget()
            && made.budgets.is_some()
            && self.budgets.is_some()
        {
            made.budgets.clone_from(&self.budgets);
        }
        Bound::new(py, made)
    }
}

/// The policy of an option: a `Policy`, or the name of a preset.
pub(crate) fn of_option<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Policy>> {
    if let Ok(policy) = value.cast::<Policy>() {
        return Ok(policy.clone());
    }
    if value.is_instance_of::<PyString>() {
        return Bound::new(value.py(), Policy::of(config::document(value.py(), Some(value), None, config::SECOND)?));
    }
    let hint = match () {
        () if value.is_instance_of::<PyInt>() => "; the number of attempts is attempts=",
        () if is_class::<PyBaseException>(value) => "; the errors to retry are on=",
        () if value.is_instance_of::<PyDict>() => "; give the fields themselves, or Policy(**fields)",
        () => "",
    };
    let given = config::type_name(value);
    Err(PyTypeError::new_err(format!("policy must be a holdoff.Policy or the name of a preset, not {given}{hint}")))
}

/// The policy with these fields.
pub(crate) fn of_fields<'py>(py: Python<'py>, fields: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, Policy>> {
    let document = config::document(py, None, fields.map(|fields| fields.as_mapping()), config::SECOND)?;
    Bound::new(py, Policy::of(document))
}

/// A policy, or the name of a preset.
pub(crate) struct PolicyOrName<'py>(pub(crate) Bound<'py, Policy>);

impl PolicyOrName<'_> {
    pub(crate) fn core(&self) -> &holdoff_core::Policy {
        self.0.get().core()
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for PolicyOrName<'py> {
    type Error = PyErr;

    #[cfg(feature = "stub")]
    const INPUT_TYPE: PyStaticExpr = type_hint_union!(
        <Policy as pyo3::PyTypeInfo>::TYPE_HINT,
        type_hint_identifier!("holdoff._literals", "PresetName")
    );

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        of_option(&value).map(Self)
    }
}
