//! The macros of this crate, in scope in every module.

/// Declares properties, each one row: `name: type = value;`, where `$object` is the object, and what `repr()` shows of it.
macro_rules! getters {
    ($class:ident as $object:ident $(, shown $format:literal $(, $shown:expr)*)?;
     $($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr;)*) => {
        #[pymethods]
        impl $class {
            $(
                fn __repr__(&self) -> String {
                    let $object = self;
                    format!($format $(, $shown)*)
                }
            )?
        $(
            $(#[doc = $doc])*
            #[getter]
            fn $name(&self) -> $type {
                let $object = self;
                $value
            }
        )* }
    };
}

/// Declares methods, each one row: `name(parameters) -> type = value;`, where `$object` is the object, borrowed as `&` or `&mut`
/// says.
macro_rules! methods {
    (&mut $class:ident as $object:ident: $(
        $(#[doc = $doc:literal])*
        $name:ident($($arg:ident: $type:ty $(= $default:tt)?),*) $(-> $out:ty)? = $value:expr;
    )*) => {
        #[pymethods]
        impl $class { $(
            $(#[doc = $doc])*
            #[pyo3(signature = ($($arg $(= $default)?),*))]
            fn $name(&mut self, $($arg: $type),*) $(-> $out)? {
                let $object = self;
                $value
            }
        )* }
    };
    (&$class:ident as $object:ident: $(
        $(#[doc = $doc:literal])*
        $name:ident($($arg:ident: $type:ty $(= $default:tt)?),*) $(-> $out:ty)? = $value:expr;
    )*) => {
        #[pymethods]
        impl $class { $(
            $(#[doc = $doc])*
            #[pyo3(signature = ($($arg $(= $default)?),*))]
            fn $name(&self, $($arg: $type),*) $(-> $out)? {
                let $object = self;
                $value
            }
        )* }
    };
}

/// An object of a Python module, which is imported once.
macro_rules! imported {
    ($py:expr, $module:literal, $name:literal) => {{
        static OBJECT: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        OBJECT.import($py, $module, $name)
    }};
}
