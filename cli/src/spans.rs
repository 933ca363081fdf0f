//! Lines and columns of a text.

/// Line and column, from 1, of a byte. Columns count characters.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
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
        // serde_json counts bytes.
        assert_eq!(byte_at(text, 2, 4), text.find('x').unwrap());
        assert_eq!(byte_at("", 1, 0), 0);
    }
}
