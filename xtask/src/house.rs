//! Faults that `cargo xtask check` finds by reading the sources: imports that go up, circles between files, long files, tests
//! that need a real clock, and regular expressions that may be slow. Each fault is named by file and line.

use crate::shell::say;
use anyhow::{Result, bail};
use sources::{CODE, Fault, Files, has_ending, is_test};

mod clocks;
mod floors;
mod regexes;
mod rust;
mod scripts;
mod sources;

/// The most lines of a file.
const MOST_LINES: usize = 600;

/// The modules of the npm package.
const SCRIPTS: &str = "bindings-wasm/src-ts/";

/// Prints the faults of the sources and their number, and fails if there is one.
pub(crate) fn check() -> Result<()> {
    let files = sources::read()?;
    let parsed = rust::parse(&files);
    let mut arrows = rust::arrows(&parsed);
    arrows.extend(scripts::arrows(&files));
    let mut failed = 0;
    for (rule, faults) in [
        ("imports that go up", floors::upward(&files, &arrows)),
        ("imports in a circle", floors::circles(&arrows)),
        ("long files", long(&files)),
        ("tests by a real clock", clocks::faults(&files)?),
        ("slow regular expressions", regexes::faults(&files)),
    ] {
        for Fault { path, line, message } in &faults {
            say!("{path}:{line}: {message}");
        }
        say!("{rule}: {}", faults.len());
        failed += faults.len();
    }
    let chain = floors::longest_chain(&arrows, SCRIPTS);
    say!("longest chain of imports in {SCRIPTS}: {} files: {}", chain.len(), chain.join(", "));
    if failed > 0 {
        bail!("{failed} faults in the sources");
    }
    Ok(())
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
