//! What `cargo xtask check` reads in the sources: imports that go up, circles between files, long files, and words that have
//! to be learned. Each fault is named by file and line.

use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::Stdio;

mod floors;
mod riddles;
mod rust;
mod scripts;

/// The most lines of a file.
const MOST_LINES: usize = 600;
/// The endings of files with code.
const CODE: [&str; 9] = ["rs", "py", "ts", "mts", "mjs", "js", "c", "h", "hpp"];

/// The text of each file by its path from the root.
type Files = BTreeMap<String, String>;

/// An import: `line` of the file `from` needs the file `to`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Arrow {
    from: String,
    line: usize,
    to: String,
}

/// A fault of the sources.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Fault {
    path: String,
    line: usize,
    message: String,
}

impl Fault {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// Prints the faults of the sources, and fails if a rule has any that is enforced. The others are on the way to it.
pub(crate) fn check(riddles: bool) -> Result<()> {
    let files = read()?;
    let mut arrows = rust::arrows(&files);
    arrows.extend(scripts::arrows(&files));
    let rules = [
        ("imports that go up", false, floors::upward(&files, &arrows)),
        ("imports in a circle", false, floors::circles(&arrows)),
        ("long files", false, long(&files)),
        ("riddles", false, if riddles { riddles::riddles(&files) } else { Vec::new() }),
    ];
    let mut failed = 0;
    for (name, enforced, faults) in rules {
        for Fault { path, line, message } in &faults {
            println!("{path}:{line}: {message}");
        }
        if name == "riddles" {
            by_folder(&faults);
        }
        println!("{name}: {}", faults.len());
        failed += if enforced { faults.len() } else { 0 };
    }
    if failed > 0 {
        bail!("{failed} faults in the sources");
    }
    Ok(())
}

/// Prints how many faults each folder has.
fn by_folder(faults: &[Fault]) {
    let mut counts = BTreeMap::<String, usize>::new();
    for fault in faults {
        let folders: Vec<_> = fault.path.split('/').collect();
        *counts.entry(folders[..folders.len().min(4) - 1].join("/")).or_default() += 1;
    }
    for (folder, count) in counts {
        println!("{count:6}  {folder}/");
    }
}

/// Every file that git knows or would add, but what .gitattributes marks as generated.
fn read() -> Result<Files> {
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

fn has_ending(path: &str, endings: &[&str]) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

/// Says whether a file is a test by its path.
fn is_test(path: &str) -> bool {
    let mut names = path.split('/').map(|name| name.split('.').next().unwrap_or(name));
    names.any(|name| matches!(name, "test" | "tests" | "fuzz" | "conftest") || name.starts_with("test_"))
        || ["tests.rs", ".test.ts", ".test.mjs", ".test-d.ts"].iter().any(|ending| path.ends_with(ending))
}

fn long(files: &Files) -> Vec<Fault> {
    let code = files.iter().filter(|(path, _)| has_ending(path, &CODE) && !is_test(path));
    let lines = code.map(|(path, text)| (path, text.lines().count()));
    let long = lines.filter(|(_, lines)| *lines > MOST_LINES);
    long.map(|(path, lines)| Fault::new(path, MOST_LINES + 1, format!("the file has {lines} lines"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_a_fault_and_a_long_test_is_none() {
        let long_text = "line\n".repeat(601);
        let files = [("core/src/a.rs", &*long_text), ("core/src/a/tests.rs", &long_text), ("core/src/b.rs", "one\n")]
            .map(|(path, text)| (path.to_owned(), text.to_owned()));
        assert_eq!(long(&files.into()), [Fault::new("core/src/a.rs", 601, "the file has 601 lines")]);
    }

    #[test]
    fn the_generated_header_is_not_read_and_this_file_is() {
        let files = read().unwrap();
        assert!(files.contains_key("xtask/src/house.rs") && !files.contains_key("bindings-c/include/holdoff.h"));
    }
}
