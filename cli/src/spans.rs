//! The places of values in a JSON text: the core names a value by its path, an editor by line and column.

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;

/// The bytes of the value at `path`, such as `backoff[1].max`, or of the closest value around it that the text has. With `key`,
/// the bytes of the name before it. The last of several values with the same path.
pub(crate) fn find(text: &str, path: &str, key: bool) -> Option<Range<usize>> {
    let mut found: Option<(&str, Option<String>)> = None;
    let mut rest = path;
    let mut node: &RawValue = serde_json::from_str(text).ok()?;
    // Each round goes one level down, along a beginning of the rest of the path.
    while !rest.is_empty() {
        let Ok(entries) = serde_json::Deserializer::from_str(node.get()).deserialize_any(Entries) else { break };
        let matching = entries.into_iter().rev().find_map(|(name, value)| {
            let segment = match &name {
                Name::Key(key) => key.clone(),
                Name::Index(index) => format!("[{index}]"),
            };
            let after = rest.strip_prefix(&segment)?;
            (after.is_empty() || after.starts_with(['.', '[']))
                .then(|| (name, value, after.strip_prefix('.').unwrap_or(after)))
        });
        let Some((name, value, after)) = matching else { break };
        (node, rest) = (value, after);
        found = Some((value.get(), if let Name::Key(key) = name { Some(key) } else { None }));
    }
    let (value, name) = found?;
    // A raw value is a part of the text.
    let start = (value.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let before = text.get(..start)?.trim_end().strip_suffix(':').map(str::trim_end);
    if let (true, Some(name), Some(before)) = (key, name, before) {
        let name = serde_json::to_string(&name).ok()?;
        if before.ends_with(&name) {
            return Some(before.len() - name.len()..before.len());
        }
    }
    Some(start..start + value.len())
}

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

enum Name {
    Key(String),
    Index(usize),
}

/// The entries of an object or a list, in their order, unread.
struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(Name, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry()? {
            entries.push((Name::Key(key), value));
        }
        Ok(entries)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(value) = list.next_element()? {
            entries.push((Name::Index(entries.len()), value));
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "{\n  \"backoff\": [{ \"max\": \"1s\" }, {\"max\" : 5, \"a.b\": 1}],\n  \"é\\n\": 2, \"max\": 1, \"max\": 2\n}";

    fn at(path: &str, key: bool) -> Option<&'static str> {
        find(TEXT, path, key).map(|span| &TEXT[span])
    }

    #[test]
    fn a_path_leads_to_a_value_or_its_name() {
        assert_eq!(at("backoff[1].max", false), Some("5"));
        assert_eq!(at("backoff[1].max", true), Some("\"max\""));
        assert_eq!(at("backoff[0]", false), Some("{ \"max\": \"1s\" }"));
        assert_eq!(at("backoff[1].a.b", true), Some("\"a.b\""));
        // A name that is written in another way than the shortest: the value.
        assert_eq!(at("é\n", true), Some("\"é\\n\""));
        assert_eq!(find(TEXT, "max", false), Some(TEXT.len() - 3..TEXT.len() - 2));
    }

    #[test]
    fn a_value_that_is_not_there_is_sought_around_it() {
        assert_eq!(at("backoff[1].min", true), Some("{\"max\" : 5, \"a.b\": 1}"));
        // A word that stands for an object with a kind.
        assert_eq!(at("backoff[0].max.kind", false), Some("\"1s\""));
        assert_eq!(at("deadline", true), None);
        assert_eq!(at("", true), None);
        assert_eq!(find("{", "max", false), None);
    }

    #[test]
    fn deep_and_long_texts_are_read() {
        let text = format!("{{\"a\": {}{}, \"b\": 1}}", "[".repeat(100), "]".repeat(100));
        assert_eq!(find(&text, "b", false), Some(text.len() - 2..text.len() - 1));
        let list = format!("{{\"a\": [{}1]}}", "1,".repeat(300_000));
        assert_eq!(find(&list, "a[300000]", false), Some(list.len() - 3..list.len() - 2));
    }

    #[test]
    fn places_count_characters() {
        let text = "ab\né\"x";
        assert_eq!(line_and_column(text, text.find('x').unwrap()), (2, 3));
        // serde_json counts bytes.
        assert_eq!(byte_at(text, 2, 4), text.find('x').unwrap());
        assert_eq!(byte_at("", 1, 0), 0);
    }
}
