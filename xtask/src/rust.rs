//! Testing the Rust crates.

use crate::shell::{self, say};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn format() -> Result<()> {
    shell::step("rust: format", shell::cargo().args(["fmt", "--all", "--check"]))
}

/// The lints, with every feature.
pub(crate) fn clippy() -> Result<()> {
    clippy_of("rust: clippy", &["--workspace", "--all-targets", "--all-features"])
}

/// The lints of what is published, without a feature.
pub(crate) fn clippy_bare() -> Result<()> {
    clippy_of("rust: clippy without features", &["--package", "holdoff-core", "--package", "holdoff", "--all-targets"])
}

fn clippy_of(what: &str, packages: &[&str]) -> Result<()> {
    let mut clippy = shell::cargo();
    shell::step(what, clippy.args(["clippy", "--quiet"]).args(packages).args(["--", "-D", "warnings"]))
}

/// The packages that the tests build together, with every feature. A build of others of them has other features, and would compile the
/// core and all libraries once more.
const PACKAGES: [&str; 12] = [
    "holdoff-core",
    "holdoff",
    "holdoff-reqwest",
    "conformance",
    "demo",
    "holdoff-sim",
    "playground",
    "mini-lab",
    "holdoff-c",
    "holdoff-cli",
    "holdoff-python",
    "real-clients",
];

/// Cargo, about to do something with all packages.
pub(crate) fn cargo_of_all(what: &str) -> Command {
    let mut cargo = shell::cargo();
    cargo.args([what, "--quiet", "--all-features", "--features", "pyo3/extension-module"]);
    cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    cargo
}

/// Builds targets as they are built for the tests: examples and programs of the tests decide about the features, too, so one is built.
pub(crate) fn build(targets: &[&str]) -> Result<()> {
    let mut cargo = cargo_of_all("build");
    shell::step(&format!("rust: build {}", targets.join(" ")), cargo.args(targets).args(["--example", "machine"]))
}

/// A program of the packages, built and ready to start.
pub(crate) fn program(name: &str) -> Result<Command> {
    build(&["--bin", name])?;
    Ok(shell::command(shell::target().join("debug").join(name)))
}

/// The tests of all packages and of this program, and what the core depends on and how large it is.
pub(crate) fn test() -> Result<()> {
    shell::step("rust: build the tests", cargo_of_all("test").arg("--no-run"))?;
    shell::step("rust: tests", cargo_of_all("test").arg("--no-fail-fast"))?;
    shell::step("rust: tests of xtask", shell::cargo().args(["test", "--quiet", "--package", "xtask"]))?;
    let small = ["--no-default-features", "--features", "powers", "--test", "without_rules"];
    let test = ["test", "--quiet", "--package", "holdoff-core"];
    shell::step("rust: tests of the core without rules", shell::cargo().args(test).args(small))?;
    dependencies()?;
    sizes()
}

/// How many random documents and histories the second model decides, too, in a run before a push and in one of all tests.
const DOCUMENTS: [&str; 2] = ["5000", "20000"];

pub(crate) fn model() -> Result<()> {
    second_model(DOCUMENTS[0])
}

pub(crate) fn model_of_all_documents() -> Result<()> {
    second_model(DOCUMENTS[1])
}

/// Holds the core against the rules written down once more, in Python.
fn second_model(documents: &str) -> Result<()> {
    let model = program("model")?;
    let mut python = shell::command("python3");
    python.arg(shell::root().join("tests/model/against.py")).args([documents, "7"]);
    shell::step("rust: against the second model", python.arg(model.get_program()))
}

/// The core decides, refuses and saves as it did at the commit with the tag `core-before-house`: a million steps of random policies.
pub(crate) fn compare() -> Result<()> {
    const BEFORE: &str = "63a4bbf9c6e55d07b3c4c788b727a0a20fb30099";
    let folder = shell::target().join("core-before-house");
    fs::create_dir_all(&folder)?;
    let archive = folder.join("core.tar");
    let git = shell::command("git").args(["archive", BEFORE, "core", "-o"]).arg(&archive).status()?;
    if !git.success() {
        bail!("the history has no commit {BEFORE}: fetch it whole, with `git fetch --unshallow`");
    }
    shell::step("rust: the earlier core", shell::command("tar").arg("-xf").arg(&archive).arg("-C").arg(&folder))?;
    // Two packages of one name do not go into one build, and nothing but the workspace has the versions.
    let manifest = fs::read_to_string(folder.join("core/Cargo.toml"))?;
    let own = "[workspace]\n\n[package]\nname = \"core-before-house\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n";
    let from = |section: &str| manifest.find(section).unwrap_or(manifest.len());
    let sections = manifest.get(from("[features]")..from("[dev-dependencies]")).unwrap_or_default();
    fs::write(folder.join("core/Cargo.toml"), format!("{own}{sections}"))?;
    let manifest = shell::root().join("tests/compare/Cargo.toml");
    let mut compare = shell::cargo();
    compare.args(["run", "--quiet", "--release", "--manifest-path"]).arg(manifest);
    shell::step("rust: against the earlier core", compare.arg("--target-dir").arg(shell::target().join("compare")))
}

/// Each published crate compiles by itself: with its defaults, without a feature, and with each of its features alone.
pub(crate) fn features() -> Result<()> {
    of_each_feature(&["check", "--quiet", "--tests"])
}

/// The same, and its tests pass.
pub(crate) fn each_feature() -> Result<()> {
    of_each_feature(&["test", "--quiet"])
}

fn of_each_feature(what: &[&str]) -> Result<()> {
    for (package, features) in published()? {
        let mut cargo = shell::cargo();
        shell::step(&format!("rust: {} {package}", what[0]), cargo.args(what).args(["--package", &package]))?;
        for feature in std::iter::once("").chain(features.iter().map(String::as_str)) {
            let mut cargo = shell::cargo();
            cargo.args(what).args(["--package", &package, "--no-default-features", "--features", feature]);
            let alone = if feature.is_empty() { "nothing" } else { feature };
            shell::step(&format!("rust: {} {package} with {alone} alone", what[0]), &mut cargo)?;
        }
    }
    Ok(())
}

/// The crates that Rust programs use, with the names of their features, as their manifests have them.
fn published() -> Result<Vec<(String, Vec<String>)>> {
    #[derive(serde::Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
        features: BTreeMap<String, Vec<String>>,
    }
    let listed = shell::output(shell::cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let Metadata { packages } = serde_json::from_str(&listed)?;
    let chosen = packages.into_iter().filter(|package| ["holdoff-core", "holdoff"].contains(&package.name.as_str()));
    let named = chosen.map(|Package { name, features }| {
        (name, features.into_keys().filter(|feature| feature != "default").collect())
    });
    Ok(named.collect())
}

/// The documentation, without a warning.
pub(crate) fn documentation() -> Result<()> {
    let mut docs = shell::cargo();
    docs.args(["doc", "--quiet", "--no-deps", "--all-features", "--package", "holdoff-core", "--package", "holdoff"]);
    shell::step("rust: documentation", docs.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Every example runs and ends well.
pub(crate) fn examples() -> Result<()> {
    build(&["--examples"])?;
    for example in fs::read_dir(shell::root().join("bindings-rust/examples"))? {
        let path = example?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut run = shell::command(shell::target().join("debug/examples").join(&name));
        shell::step(&format!("rust: example {name}"), &mut run)?;
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
    say!("  rust: the core depends on {}", names[1..].join(", "));
    Ok(())
}

/// Prints the sizes that the core's own test holds.
fn sizes() -> Result<()> {
    let printed = shell::output(cargo_of_all("test").args(["--test", "all", "sizes::", "--", "--nocapture"]))?;
    printed.lines().filter(|line| line.contains("bytes")).for_each(|line| say!("  rust: {line}"));
    Ok(())
}

/// The conformance runner for a folder of vectors, built and ready to start.
pub(crate) fn runner(dir: &Path) -> Result<Command> {
    let mut runner = program("conform")?;
    runner.arg(dir);
    Ok(runner)
}
