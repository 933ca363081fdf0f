//! Policies in words: options, documents, presets, the formats of other systems, explanations and lints.

#[cfg(feature = "serde")]
pub(crate) mod document;
pub(crate) mod drawing;
pub(crate) mod explain;
#[cfg(feature = "foreign")]
pub(crate) mod foreign;
pub(crate) mod guard_words;
pub(crate) mod lint;
pub(crate) mod options;
pub(crate) mod path;
pub(crate) mod policy_words;
pub(crate) mod preset;
pub(crate) mod rules;
pub(crate) mod write;
