//! Faults that `cargo xtask check` finds by reading the sources: imports that go up, circles between files, long files, and words that have
//! to be learned. Each fault is named by file and line.

use anyhow::{Result, bail};
use sources::{CODE, Fault, Files, has_ending, is_test};
use std::collections::BTreeMap;

mod floors;
mod riddles;
mod rust;
mod scripts;
mod sources;

/// The most lines of a file.
const MOST_LINES: usize = 600;

/// Folders in which a rule is not enforced yet: their faults are only counted.
const LATER: [(&str, &[&str]); 4] = [
    ("imports that go up", &[]),
    ("imports in a circle", &["core/src/describe/"]),
    ("long files", &[]),
    ("riddles", &["core/", "bindings-c/", "bindings-python/", "bindings-wasm/", "benches/counts/"]),
];

/// Prints the faults of the sources, and fails if there is one where its rule is enforced. `all` prints the others too.
pub(crate) fn check(all: bool) -> Result<()> {
    let files = sources::read()?;
    let parsed = rust::parse(&files);
    let mut arrows = rust::arrows(&parsed);
    arrows.extend(scripts::arrows(&files));
    let rules =
        [floors::upward(&files, &arrows), floors::circles(&arrows), long(&files), riddles::riddles(&files, &parsed)];
    let mut failed = 0;
    for ((name, later), faults) in LATER.into_iter().zip(rules) {
        let (later, now): (Vec<_>, Vec<_>) =
            faults.into_iter().partition(|fault| later.iter().any(|folder| fault.path.starts_with(folder)));
        for Fault { path, line, message } in now.iter().chain(later.iter().filter(|_| all)) {
            println!("{path}:{line}: {message}");
        }
        if all {
            by_folder(&later);
        }
        println!("{name}: {}, and {} to be done", now.len(), later.len());
        failed += now.len();
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
}
