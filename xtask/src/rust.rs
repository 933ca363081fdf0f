//! Testing the Rust crates.

use crate::{Lang, generate, setup, shell, storm};
use anyhow::{Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Every test of this language.
pub(crate) fn test() -> Result<()> {
    shell::step("rust: format", shell::cargo().args(["fmt", "--all", "--check"]))?;
    let clippy =
        ["clippy", "--quiet", "--workspace", "--exclude", "holdoff-python", "--all-targets", "--", "-D", "warnings"];
    shell::step("rust: clippy", shell::cargo().args(clippy))?;
    let bare = [
        "clippy",
        "--quiet",
        "--package",
        "holdoff-core",
        "--package",
        "holdoff",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    shell::step("rust: clippy without features", shell::cargo().args(bare))?;
    let test = ["test", "--quiet", "--all-features", "--package", "holdoff-core", "--package", "conformance"];
    shell::step("rust: tests", shell::cargo().args(test))?;
    let small = ["--no-default-features", "--features", "powers", "--test", "without_rules"];
    let test = ["test", "--quiet", "--package", "holdoff-core"];
    shell::step("rust: tests of the core without rules", shell::cargo().args(test).args(small))?;
    shell::step(
        "rust: tests of the host",
        shell::cargo().args(["test", "--quiet", "--package", "holdoff", "--all-features"]),
    )?;
    shell::step(
        "rust: tests of the demo",
        shell::cargo().args(["test", "--quiet", "--package", "demo", "--package", "xtask"]),
    )?;
    second_model()?;
    shell::step("rust: every interleaving of the lock-free limiter", &mut loom())?;
    shell::step("rust: tests of the storm", shell::cargo().args(["test", "--quiet", "--package", "holdoff-sim"]))?;
    shell::step("rust: storm", &mut storm::simulation())?;
    let mut docs = shell::cargo();
    docs.args(["doc", "--quiet", "--no-deps", "--all-features", "--package", "holdoff-core", "--package", "holdoff"]);
    shell::step("rust: documentation", docs.env("RUSTDOCFLAGS", "-D warnings"))?;
    examples()?;
    dependencies()?;
    sizes()?;
    // The stub of the Python module is printed by a tool of Python's environment.
    setup::setup(Lang::Python)?;
    generate::check()
}

/// How many random documents and histories the second model decides, too.
const DOCUMENTS: &str = "20000";

/// Holds the core against the rules written down once more, in Python.
fn second_model() -> Result<()> {
    shell::run(shell::cargo().args(["build", "--quiet", "--package", "conformance", "--bin", "model"]))?;
    let mut python = shell::command("python3");
    python.arg(shell::root().join("tests/model/against.py")).args([DOCUMENTS, "7"]);
    shell::step("rust: against the second model", python.arg(shell::target().join("debug/model")))
}

/// The models that loom runs in every order that threads can take. In a target folder of its own, because the flag rebuilds all.
fn loom() -> Command {
    let mut command = shell::cargo();
    command.args(["test", "--quiet", "--package", "holdoff-core", "--lib", "models"]);
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", shell::target().join("loom"));
    command
}

/// Every example runs and ends well.
fn examples() -> Result<()> {
    for example in fs::read_dir(shell::root().join("bindings-rust/examples"))? {
        let path = example?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut cargo = shell::cargo();
        cargo.args(["run", "--quiet", "--package", "holdoff", "--all-features", "--example", &name]);
        shell::step(&format!("rust: example {name}"), &mut cargo)?;
    }
    Ok(())
}

/// The core depends on powers and roots in software and on a generator of random numbers, and on nothing else.
fn dependencies() -> Result<()> {
    let tree = ["tree", "--package", "holdoff-core", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let tree = shell::output(shell::cargo().args(tree))?;
    let mut names: Vec<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    names.dedup();
    if names != ["holdoff-core", "libm", "rand_core", "rand_pcg"] {
        bail!("the core depends on {}", names.join(", "));
    }
    println!("  rust: the core depends on {}", names[1..].join(", "));
    Ok(())
}

/// Prints the sizes that the core's own test holds.
fn sizes() -> Result<()> {
    let test = ["test", "--quiet", "--package", "conformance", "--test", "all", "sizes::", "--", "--nocapture"];
    let printed = shell::output(shell::cargo().args(test))?;
    printed.lines().filter(|line| line.contains("bytes")).for_each(|line| println!("  rust: {line}"));
    Ok(())
}

/// The conformance runner for a folder of vectors, built and ready to start.
pub(crate) fn runner(dir: &Path) -> Result<Command> {
    shell::run(shell::cargo().args(["build", "--quiet", "--package", "conformance", "--bin", "conform"]))?;
    let mut runner = shell::command(shell::target().join("debug/conform"));
    runner.arg(dir);
    Ok(runner)
}
