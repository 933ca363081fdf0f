//! Fuzzing: bytes from outside for as long as one likes. Needs a nightly compiler and a C++ one, which nothing else here does.

use crate::shell;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of cargo-fuzz that is installed.
const CARGO_FUZZ: &str = "0.13.2";

/// Runs a fuzz target, or all of them one after the other, each for that many seconds.
pub(crate) fn fuzz(target: Option<String>, seconds: u64) -> Result<()> {
    let known = targets()?;
    let chosen = match target {
        Some(name) if !known.contains(&name) => bail!("{name} is none of the targets: {}", known.join(", ")),
        Some(name) => vec![name],
        None => known,
    };
    ready()?;
    for name in chosen {
        println!("{name}");
        run(&name, seconds)?;
    }
    Ok(())
}

/// The targets of the fuzz crate, sorted.
fn targets() -> Result<Vec<String>> {
    let folder = shell::root().join("tests/fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Makes sure that there is a nightly compiler and cargo-fuzz. A compiler is the person's to install; cargo-fuzz goes into
/// target/tools and nowhere else.
fn ready() -> Result<()> {
    let works = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    if !works(shell::command("rustup").args(["run", "nightly", "rustc", "--version"])) {
        bail!("fuzzing needs a nightly compiler: rustup toolchain install nightly --profile minimal");
    }
    if !works(shell::command("c++").arg("--version")) {
        bail!("fuzzing needs a C++ compiler, c++: on Debian, apt-get install g++");
    }
    if works(nightly().args(["fuzz", "--version"])) {
        return Ok(());
    }
    shell::download(&format!("cargo-fuzz {CARGO_FUZZ} into {}", tools().display()), || {
        let mut install = shell::cargo();
        install.args(["install", "--locked", "--version", CARGO_FUZZ, "--root"]).arg(tools()).arg("cargo-fuzz");
        install
    })
}

fn tools() -> PathBuf {
    shell::target().join("tools")
}

/// The nightly cargo, which finds cargo-fuzz.
fn nightly() -> Command {
    let mut command = shell::command("rustup");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools().join("bin")).chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
    command.env_remove("CARGO").env_remove("RUSTC").args(["run", "nightly", "cargo"]);
    command
}

fn run(name: &str, seconds: u64) -> Result<()> {
    let folder = shell::target().join("fuzz").join(name);
    let (corpus, artifacts) = (folder.join("corpus"), folder.join("artifacts"));
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    if name == "document" {
        seed(&corpus)?;
    }
    let mut command = nightly();
    command
        .args(["fuzz", "run", "--fuzz-dir", "tests/fuzz", "--target-dir"])
        .arg(shell::target().join("fuzz/build"))
        .arg(name)
        .arg(&corpus);
    command.arg("--").arg(format!("-max_total_time={seconds}")).arg("-max_len=600");
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    let words = shell::root().join("tests/fuzz").join(format!("{name}.dict"));
    if words.exists() {
        command.arg(format!("-dict={}", words.display()));
    }
    shell::run(&mut command)
}

/// The documents of the vectors are where a search for others starts.
fn seed(corpus: &Path) -> Result<()> {
    let file = shell::root().join("tests/vectors/holdoff/by_hand_document.json");
    let vectors: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let cases = vectors["cases"].as_array().into_iter().flatten();
    for (number, text) in cases.filter_map(|case| case["text"].as_str()).enumerate() {
        // The first byte says: a policy document.
        std::fs::write(corpus.join(format!("vector-{number}")), format!("\0{text}"))?;
    }
    Ok(())
}
