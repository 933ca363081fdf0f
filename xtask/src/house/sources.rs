//! The files of the repository, and where they are at fault.

use crate::shell;
use anyhow::{Context as _, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::Stdio;

/// The endings of files with code.
pub(super) const CODE: [&str; 9] = ["rs", "py", "ts", "mts", "mjs", "js", "c", "h", "hpp"];

/// The text of each file by its path from the root.
pub(super) type Files = BTreeMap<String, String>;

/// An import: `line` of the file `from` needs the file `to`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Arrow {
    pub(super) from: String,
    pub(super) line: usize,
    pub(super) to: String,
}

/// A fault of the sources.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Fault {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// Every file that git knows or would add, but what .gitattributes marks as generated.
pub(super) fn read() -> Result<Files> {
    let listed = shell::output(shell::command("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]))?;
    let mut attributes = shell::command("git")
        .args(["check-attr", "--stdin", "linguist-generated"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    attributes.stdin.take().context("git reads no paths")?.write_all(listed.as_bytes())?;
    let attributes = String::from_utf8(attributes.wait_with_output()?.stdout)?;
    let generated: BTreeSet<_> =
        attributes.lines().filter_map(|line| line.strip_suffix(": linguist-generated: set")).collect();
    let mut files = Files::new();
    for path in listed.lines().filter(|path| !generated.contains(path)) {
        let wanted = path.ends_with(".md") || path.ends_with("package.json") || has_ending(path, &CODE);
        if wanted && let Ok(text) = std::fs::read_to_string(shell::root().join(path)) {
            files.insert(path.to_owned(), text);
        }
    }
    Ok(files)
}

pub(super) fn has_ending(path: &str, endings: &[&str]) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

/// The path of a file that another one names from its own folder.
pub(super) fn beside(from: &str, path: &str) -> Option<String> {
    let mut folders: Vec<_> = from.split('/').collect();
    folders.pop();
    for name in path.split('/') {
        match name {
            "." => {}
            ".." => drop(folders.pop()?),
            name => folders.push(name),
        }
    }
    Some(folders.join("/"))
}

/// Says whether a file is a test by its path.
pub(super) fn is_test(path: &str) -> bool {
    let mut names = path.split('/').map(|name| name.split('.').next().unwrap_or(name));
    names.any(|name| matches!(name, "test" | "tests" | "fuzz" | "conftest") || name.starts_with("test_"))
        || ["tests.rs", ".test.ts", ".test.mjs", ".test-d.ts"].iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_header_is_not_read_and_this_file_is() {
        let files = read().unwrap();
        assert!(files.contains_key("xtask/src/house.rs") && !files.contains_key("bindings-c/include/holdoff.h"));
    }
}
