//! Texts that are not of their format.

/// A text that is not of its format: the words, and the byte.
pub(crate) struct Broken {
    pub(crate) words: String,
    pub(crate) at: usize,
}

/// The deepest level of objects and lists.
pub(crate) const DEEPEST: usize = 128;
