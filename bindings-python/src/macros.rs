//! The macros of this crate, in scope in every module.

/// Declares the methods and properties of a class in one `#[pymethods]` block, in sections that may be left out:
///
/// - `shown` is what `repr()` shows.
/// - `impl` has methods in full.
/// - `saved by machine` adds the methods that save the machine, and `resumed by method` adds `resume`.
/// - `borrows guards, result -> type` has transitions that borrow guards, each one row: `name(parameters; optional parameters) =
///   value;`, where `result` makes the result of the value.
/// - `mut` and `ref` have methods of one row: `name(parameters) -> type = value;`.
/// - `at` has transitions of a guard, of one row: `name(parameters) -> type = |config, state, now| value;`. Their last parameter
///   is the time, the clock's unless given.
/// - `get` has properties of one row: `name: type = value;`.
///
/// In a row `$object` is the object.
macro_rules! methods {
    ($class:ident as $object:ident $(, shown $format:literal $(, $shown:expr)*)?;
        $(impl { $($item:tt)* })*
        $(saved by $machine:expr $(, resumed by $resume:ident)?;)?
        $(borrows $guards:ident, $result:ident -> $borrows_out:ty { $(
            $(#[doc = $borrows_doc:literal])*
            $borrows:ident(
                $($borrows_arg:ident: $borrows_type:ty),* $(; $($option:ident: $option_type:ty = $option_default:tt),+)?
            ) = $borrows_value:expr;
        )* })?
        $(mut { $(
            $(#[doc = $mut_doc:literal])*
            $mut:ident($($mut_arg:ident: $mut_type:ty $(= $mut_default:tt)?),*) $(-> $mut_out:ty)? = $mut_value:expr;
        )* })?
        $(ref { $(
            $(#[doc = $ref_doc:literal])*
            $ref:ident($($ref_arg:ident: $ref_type:ty $(= $ref_default:tt)?),*) $(-> $ref_out:ty)? = $ref_value:expr;
        )* })?
        $(at { $(
            $(#[doc = $at_doc:literal])*
            $at:ident($($at_arg:ident: $at_type:ty $(= $at_default:tt)?),*) -> $at_out:ty =
                |$config:pat_param, $state:pat_param, $now:pat_param| $at_value:expr;
        )* })?
        $(get { $(
            $(#[doc = $get_doc:literal])*
            $get:ident: $get_type:ty = $get_value:expr;
        )* })?
    ) => {
        #[pymethods]
        impl $class {
            $($($item)*)*

            $(
                fn __repr__(&self) -> String {
                    let $object = self;
                    format!($format $(, $shown)*)
                }
            )?

            $(
                /// The state at that time as bytes, for `resume`, without permits of guards. The policy is that of the operation.
                fn save<'py>(
                    &self,
                    py: Python<'py>,
                    policy: PolicyOrName<'_>,
                    now: Time,
                ) -> Bound<'py, pyo3::types::PyBytes> {
                    let $object = self;
                    pyo3::types::PyBytes::new(py, &$machine.save(policy.core(), now.0))
                }

                /// The state at that time as JSON text.
                fn to_json(&self, policy: PolicyOrName<'_>, now: Time) -> String {
                    let $object = self;
                    $machine.saved(policy.core(), now.0).to_string()
                }

                /// The state at that time as a dict: the fields of its JSON.
                #[pyo3(signature = (policy, now) -> "dict[str, str | int]")]
                fn to_dict<'py>(
                    &self,
                    py: Python<'py>,
                    policy: PolicyOrName<'_>,
                    now: Time,
                ) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
                    let $object = self;
                    $crate::save::fields(py, &$machine.saved(policy.core(), now.0))
                }

                $(
                    /// Resumes a saved state: bytes, JSON text or a dict, from any language, on a clock that reads `now`. Time
                    /// since the save is counted only if `away` is given; `force` accepts a state that was saved under another
                    /// policy.
                    #[staticmethod]
                    #[pyo3(signature = (
                        state: "bytes | str | Mapping[str, Any]", policy, now, *, away = None, force = false
                    ))]
                    fn resume(
                        state: &Bound<'_, PyAny>,
                        policy: PolicyOrName<'_>,
                        now: Time,
                        away: Option<$crate::parameters::Duration<'_, '_>>,
                        force: bool,
                    ) -> PyResult<Self> {
                        let saved = $crate::save::read(state, policy.core(), away, force)?;
                        $crate::save::resumed(state.py(), saved.$resume(policy.core(), now.0)).map(Self)
                    }
                )?
            )?

            $($(
                $(#[doc = $borrows_doc])*
                #[pyo3(signature = ($($borrows_arg,)* $(*, $($option = $option_default),+)?))]
                fn $borrows(
                    &mut self,
                    py: Python<'_>,
                    $($borrows_arg: $borrows_type,)*
                    $($($option: $option_type),+)?
                ) -> $borrows_out {
                    let $object = self;
                    $result($guards.lend(py, |$guards| $borrows_value))
                }
            )*)?

            $($(
                $(#[doc = $mut_doc])*
                #[pyo3(signature = ($($mut_arg $(= $mut_default)?),*))]
                fn $mut(&mut self, $($mut_arg: $mut_type),*) $(-> $mut_out)? {
                    let $object = self;
                    $mut_value
                }
            )*)?

            $($(
                $(#[doc = $ref_doc])*
                #[pyo3(signature = ($($ref_arg $(= $ref_default)?),*))]
                fn $ref(&self, $($ref_arg: $ref_type),*) $(-> $ref_out)? {
                    let $object = self;
                    $ref_value
                }
            )*)?

            $($(
                $(#[doc = $at_doc])*
                #[pyo3(signature = ($($at_arg $(= $at_default)?,)* now = None))]
                fn $at(&self, py: Python<'_>, $($at_arg: $at_type,)* now: Now) -> PyResult<$at_out> {
                    self.0.at(py, now, |$config, $state, $now| $at_value)
                }
            )*)?

            $($(
                $(#[doc = $get_doc])*
                #[getter]
                fn $get(&self) -> $get_type {
                    let $object = self;
                    $get_value
                }
            )*)?
        }
    };
}

/// An object of a Python module, which is imported once.
macro_rules! imported {
    ($py:expr, $module:literal, $name:literal) => {{
        static OBJECT: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        OBJECT.import($py, $module, $name)
    }};
}
