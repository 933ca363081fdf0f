//! Lines and columns of a text.

/// Line and column, from 1, of a byte. Columns count characters.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// The lines of a text, for many places in it.
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// The byte at which each line begins.
    starts: Vec<usize>,
    is_ascii: bool,
}

impl<'t> Lines<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, starts, is_ascii: text.is_ascii() }
    }

    /// As [`line_and_column`].
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let column =
            if self.is_ascii { at - start } else { self.text.get(start..at).unwrap_or_default().chars().count() };
        (line, column + 1)
    }
}

/// The byte at a line and a column of bytes, from 1, as serde_json counts them.
pub(crate) fn byte_at(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start..=(start + column.saturating_sub(1)).min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters() {
        let text = "ab\né\"x";
        assert_eq!(line_and_column(text, text.find('x').unwrap()), (2, 3));
        for text in [text, "", "\n", "a\n\nb"] {
            let lines = Lines::of(text);
            for (at, _) in text.char_indices() {
                assert_eq!(lines.place(at), line_and_column(text, at), "{text:?} {at}");
            }
        }
        // serde_json counts bytes.
        assert_eq!(byte_at(text, 2, 4), text.find('x').unwrap());
        assert_eq!(byte_at("", 1, 0), 0);
    }
}
