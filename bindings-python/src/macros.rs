//! The macros of this crate, in scope in every module.

/// Declares the methods and properties of a class, each one row, in one `#[pymethods]` block. A row begins with its kind:
///
/// - `ref` and `mut` are methods of an object, `static` is one of the class, `new` is the constructor:
///   `ref name[parameters](parameters; parameters; **name as "type") -> type = value;`, each parameter
///   `name: type as "type in the stub" = default`. Parameters in brackets are given by place alone, parameters after the semicolon
///   by name alone; `**` are all others.
/// - `get name: type = value;` is a property.
/// - `special __name__(parameters) -> type = value;` is a method that the interpreter calls.
/// - `at name(parameters) -> type = |config, state, now| value;` is a transition of a guard. Its last parameter is the time, the
///   clock's unless given.
/// - `shown "format", value;` is what `repr()` shows.
/// - `saves machine;` declares the methods that save a machine; with `resumed by method` also `resume`.
/// - `visits object, object;` are the Python objects that an object holds, for the garbage collector.
/// - `impl { ... }` has methods in full.
///
/// A value may use `self`, `py` and `'py`. The rows are read one after the other into a list of methods, because PyO3 needs all
/// methods in one block.
macro_rules! methods {
    (@ $context:tt [] [$($done:tt)*]) => {
        $($done)*
    };
    (@ $context:tt $class:tt $done:tt $(#[$doc:meta])* fn $($rest:tt)*) => {
        methods! { @method $context $class $done [#[pyfunction] #[allow(clippy::too_many_arguments)] $(#[$doc])*] [] $($rest)* }
    };
    (@ $context:tt [$class:ident] [$($done:tt)*]) => {
        #[pymethods]
        #[allow(clippy::needless_lifetimes, clippy::too_many_arguments)]
        impl $class { $($done)* }
    };
    (@ $context:tt $class:tt [$($done:tt)*] impl { $($item:tt)* } $($rest:tt)*) => {
        methods! { @ $context $class [$($done)* $($item)*] $($rest)* }
    };
    (@ ($this:ident, $py:ident) $class:tt $done:tt $(#[$doc:meta])* ref $($rest:tt)*) => {
        methods! { @method ($this, $py) $class $done [$(#[$doc])*] [&$this,] $($rest)* }
    };
    (@ ($this:ident, $py:ident) $class:tt $done:tt $(#[$doc:meta])* mut $($rest:tt)*) => {
        methods! { @method ($this, $py) $class $done [$(#[$doc])*] [&mut $this,] $($rest)* }
    };
    (@ $context:tt $class:tt $done:tt $(#[$doc:meta])* static $($rest:tt)*) => {
        methods! { @method $context $class $done [$(#[$doc])* #[staticmethod]] [] $($rest)* }
    };
    (@ $context:tt $class:tt $done:tt $(#[$doc:meta])* new $($rest:tt)*) => {
        methods! { @method $context $class $done [$(#[$doc])* #[new]] [] new $($rest)* }
    };
    (@method ($this:tt, $py:ident) $class:tt [$($done:tt)*] [$($attribute:tt)*] [$($receiver:tt)*]
        $name:ident $([$($place:ident: $place_type:ty $(as $place_hint:literal)? $(= $place_default:tt)?),+])? (
            $($arg:ident: $type:ty $(as $hint:literal)? $(= $default:tt)?),*
            $(; $($option:ident: $option_type:ty $(as $option_hint:literal)? $(= $option_default:tt)?),+)?
            $(; ** $others:ident as $others_hint:literal)?
        ) $(-> $out:ty $(as $out_hint:literal)?)? = $value:expr;
        $($rest:tt)*
    ) => {
        methods! { @ ($this, $py) $class [
            $($done)*
            $($attribute)*
            #[pyo3(signature = (
                $($($place $(: $place_hint)? $(= $place_default)?,)+ /,)? $($arg $(: $hint)? $(= $default)?,)*
                $(*, $($option $(: $option_hint)? $(= $option_default)?,)+)? $(**$others: $others_hint)?
            ) $($(-> $out_hint)?)?)]
            pub(crate) fn $name<'py>(
                $($receiver)* $py: Python<'py>, $($($place: $place_type,)+)? $($arg: $type,)*
                $($($option: $option_type,)+)? $($others: Option<&Bound<'py, pyo3::types::PyDict>>)?
            ) $(-> $out)? {
                let _ = $py;
                $value
            }
        ] $($rest)* }
    };
    (@ ($this:ident, $py:ident) $class:tt [$($done:tt)*]
        $(#[$doc:meta])* get $name:ident: $type:ty = $value:expr; $($rest:tt)*
    ) => {
        methods! { @ ($this, $py) $class [
            $($done)*
            $(#[$doc])*
            #[getter]
            pub(crate) fn $name<'py>(&$this, $py: Python<'py>) -> $type {
                let _ = $py;
                $value
            }
        ] $($rest)* }
    };
    (@ ($this:ident, $py:ident) $class:tt [$($done:tt)*]
        $(#[$doc:meta])* special $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? = $value:expr; $($rest:tt)*
    ) => {
        methods! { @ ($this, $py) $class [
            $($done)*
            $(#[$doc])*
            fn $name<'py>(&$this, $py: Python<'py>, $($arg: $type),*) $(-> $out)? {
                let _ = $py;
                $value
            }
        ] $($rest)* }
    };
    (@ ($this:ident, $py:ident) $class:tt $done:tt
        $(#[$doc:meta])* at $name:ident($($arg:ident: $type:ty $(= $default:tt)?),*) -> $out:ty =
            |$config:pat_param, $state:pat_param, $now:pat_param| $value:expr; $($rest:tt)*
    ) => {
        methods! { @ ($this, $py) $class $done
            $(#[$doc])*
            ref $name($($arg: $type $(= $default)?,)* now: Now = None) -> PyResult<$out> =
                $this.0.at($py, now, |$config, $state, $now| $value);
            $($rest)*
        }
    };
    (@ ($this:ident, $py:ident) $class:tt $done:tt shown $format:literal $(, $shown:expr)*; $($rest:tt)*) => {
        methods! { @ ($this, $py) $class $done
            special __repr__() -> String = format!($format $(, $shown)*);
            $($rest)*
        }
    };
    (@ ($this:ident, $py:ident) $class:tt [$($done:tt)*] visits $($object:expr),+; $($rest:tt)*) => {
        methods! { @ ($this, $py) $class [
            $($done)*
            fn __traverse__(&$this, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
                $(visit.call($object)?;)+
                Ok(())
            }
        ] $($rest)* }
    };
    (@ ($this:ident, $py:ident) $class:tt $done:tt saves $machine:expr $(, resumed by $resume:ident)?; $($rest:tt)*) => {
        methods! { @ ($this, $py) $class $done
            /// The state at that time as bytes, for `resume`, without permits of guards. The policy is that of the operation.
            ref save(policy: PolicyOrName<'_>, now: Time) -> Bound<'py, pyo3::types::PyBytes> =
                pyo3::types::PyBytes::new($py, &$machine.save(policy.core(), now.0));

            /// The state at that time as JSON text.
            ref to_json(policy: PolicyOrName<'_>, now: Time) -> String = $machine.saved(policy.core(), now.0).to_string();

            /// The state at that time as a dict: the fields of its JSON.
            ref to_dict(policy: PolicyOrName<'_>, now: Time) -> PyResult<Bound<'py, pyo3::types::PyDict>>
                as "dict[str, str | int]" = $crate::json::dict($py, &$machine.saved(policy.core(), now.0).to_string());

            $(
                /// Resumes a saved state: bytes, JSON text or a dict, from any language, on a clock that reads `now`. Time
                /// since the save is counted only if `away` is given; `force` accepts a state that was saved under another
                /// policy.
                static resume(
                    state: &Bound<'_, PyAny> as "bytes | str | Mapping[str, Any]", policy: PolicyOrName<'_>, now: Time;
                    away: Option<$crate::parameters::Duration<'_, '_>> = None, force: bool = false
                ) -> PyResult<Self> = {
                    let saved = $crate::save::read(state, policy.core(), away, force)?;
                    $crate::config::valid($py, saved.$resume(policy.core(), now.0)).map(Self)
                };
            )?

            $($rest)*
        }
    };
    ($class:ident $context:tt; $($rows:tt)*) => {
        methods! { @ $context [$class] [] $($rows)* }
    };
}

/// Declares functions of the module, each one row that begins with `fn`, as `methods!` declares methods.
macro_rules! functions {
    ($py:ident; $($rows:tt)*) => {
        methods! { @ (_, $py) [] [] $($rows)* }
    };
}

/// Declares the types of results that become one Python object; `shown` is the type in the stub.
macro_rules! results {
    ($($(#[$doc:meta])* $name:ident($inner:ty) shown $shown:expr, |$py:pat_param, $value:pat_param| $object:expr;)*) => { $(
        $(#[$doc])*
        pub(crate) struct $name(pub(crate) $inner);

        impl<'py> IntoPyObject<'py> for $name {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;

            #[cfg(feature = "stub")]
            const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = $shown;

            fn into_pyobject(self, $py: Python<'py>) -> PyResult<Self::Output> {
                let Self($value) = self;
                $object
            }
        }
    )* };
}

/// An object of a Python module, which is imported once.
macro_rules! imported {
    ($py:expr, $module:literal, $name:literal) => {{
        static OBJECT: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        OBJECT.import($py, $module, $name)
    }};
}
