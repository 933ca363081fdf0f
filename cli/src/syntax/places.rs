//! The places of the characters of a text.

/// The bytes of characters, by their index.
pub(super) struct Places(pub(super) Option<Vec<usize>>, pub(super) usize);

impl Places {
    pub(super) fn of(text: &str) -> Self {
        let bytes = || text.char_indices().map(|(at, _)| at).collect();
        Self((!text.is_ascii()).then(bytes), text.len())
    }

    pub(super) fn byte(&self, index: usize) -> usize {
        let Self(bytes, end) = self;
        bytes.as_ref().map_or(index, |bytes| bytes.get(index).copied().unwrap_or(*end)).min(*end)
    }
}
