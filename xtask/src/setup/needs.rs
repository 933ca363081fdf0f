//! Parts of the project that are wanted, and packages that they need.

use crate::Lang;

/// Which parts of the project are wanted.
#[derive(Clone, Copy)]
pub(super) struct Needs {
    pub(super) rust: bool,
    pub(super) wasm: bool,
    pub(super) python: bool,
    pub(super) c: bool,
    pub(super) demo: bool,
}

impl Needs {
    /// The documentation site: bindings of Python and JavaScript, a browser, and libcurl for programs in C.
    pub(super) const SITE: Self = Self { rust: false, wasm: true, python: true, c: false, demo: true };
    /// The hosts of the demo.
    pub(super) const DEMO: Self = Self { rust: false, wasm: false, python: false, c: false, demo: true };

    pub(super) fn of(lang: Lang) -> Self {
        let all = lang == Lang::All;
        let one = |wanted| all || lang == wanted;
        Self { rust: one(Lang::Rust), wasm: one(Lang::Wasm), python: one(Lang::Python), c: one(Lang::C), demo: all }
    }
}

/// Something to have, and the Debian package that brings it.
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) is_there: fn() -> bool,
}
