//! Policies in words: options, documents, presets, the formats of other systems, explanations and lints.

pub(crate) mod builder;
#[cfg(feature = "serde")]
pub(crate) mod document;
pub(crate) mod draft;
pub(crate) mod explain;
pub(crate) mod foreign;
pub(crate) mod guards;
pub(crate) mod lint;
pub(crate) mod preset;
pub(crate) mod rules;
pub(crate) mod set;
pub(crate) mod write;
