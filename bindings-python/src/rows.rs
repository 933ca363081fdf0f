//! Macros that declare methods of a class as rows.

/// Declares properties, each one row: `name: type = value;`, where `$object` is the object.
macro_rules! getters {
    ($class:ident as $object:ident: $($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr;)*) => {
        #[pymethods]
        impl $class { $(
            $(#[doc = $doc])*
            #[getter]
            fn $name(&self) -> $type {
                let $object = self;
                $value
            }
        )* }
    };
}
pub(crate) use getters;
