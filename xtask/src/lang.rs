//! The languages that tasks run for.

use clap::ValueEnum;

/// The languages of the project.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Lang {
    Rust,
    /// Also called `js`.
    #[value(alias = "js")]
    Wasm,
    Python,
    /// With `ruby`, which is made from the interface of C.
    #[value(alias = "ruby")]
    C,
    All,
}

impl Lang {
    /// The languages meant, in the order they are built.
    pub(crate) fn each(self) -> Vec<Self> {
        match self {
            Self::All => vec![Self::Rust, Self::Wasm, Self::Python, Self::C],
            one => vec![one],
        }
    }
}
