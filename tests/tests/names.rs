//! docs/internals/names.md keeps its word: every name in it is one of its language.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Everything a user of a language sees, as one text.
fn surface(folders: &[&str], ends: &[&str]) -> String {
    let mut text = String::new();
    let mut open: Vec<_> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if ends.iter().any(|end| path.extension().is_some_and(|found| found == *end)) {
                text += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    text
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word)
        .any(|(at, _)| !inside(text[..at].chars().next_back()) && !inside(text[at + word.len()..].chars().next()))
}

#[test]
fn every_name_in_the_table_is_one_of_its_language() {
    let languages = [
        surface(&["core/src", "bindings-rust/src"], &["rs"]),
        surface(&["bindings-wasm/src-ts", "engines/bullmq/src"], &["ts"]),
        surface(&["bindings-python/python", "engines/celery/src", "engines/procrastinate/src"], &["py", "pyi"])
            + "holdoff.testing holdoff.machines holdoff.log holdoff.explain",
        surface(&["bindings-c/include"], &["h"]),
    ];
    let table = std::fs::read_to_string(root().join("docs/internals/names.md")).unwrap();
    let mut looked_up = 0;
    for row in table.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').skip(1).collect();
        assert_eq!(cells.len(), languages.len(), "{row}");
        for (cell, surface) in cells.iter().zip(&languages) {
            for name in cell.split('`').skip(1).step_by(2) {
                for part in name.split('.') {
                    assert!(has_word(surface, part), "{name} is not there: {row}");
                    looked_up += 1;
                }
            }
        }
    }
    assert!(looked_up > 100, "the table has {looked_up} names");
}
