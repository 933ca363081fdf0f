//! Running vectors in every language.

use crate::{Lang, c, python, rust, shell, wasm};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs every vector file under `dir` in each language: one line a file, and an error when anything failed.
pub(crate) fn conform(lang: Lang, dir: Option<PathBuf>) -> Result<()> {
    let dir = match dir {
        Some(dir) => std::env::current_dir()?.join(dir),
        None => shell::root().join("tests/vectors"),
    };
    if !dir.exists() {
        bail!("{} is not there", dir.display());
    }
    let mut failed = Vec::new();
    for lang in lang.each() {
        let (name, runner): (&str, fn(&Path) -> Result<Command>) = match lang {
            Lang::Rust => ("rust", rust::runner),
            Lang::Wasm => ("wasm", wasm::runner),
            Lang::Python => ("python", python::runner),
            Lang::C | Lang::All => ("c", c::runner),
        };
        let mut command = runner(&dir)?;
        println!("{name}");
        if !command.status()?.success() {
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("vectors failed in {}", failed.join(", "));
    }
    Ok(())
}

/// How many random sessions every language plays, and a quarter as many of calls that share guards.
const SESSIONS: &str = "10000";

/// Plays random sessions, new ones each time unless seeded, in each language: every step must be the same bit for bit.
pub(crate) fn agree(lang: Lang, seed: Option<u64>) -> Result<()> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seed = seed.unwrap_or(since.as_secs());
    let folder = shell::target().join("sessions");
    std::fs::create_dir_all(&folder)?;
    let mut sessions = shell::cargo();
    sessions.args(["run", "--quiet", "--package", "conformance", "--bin", "sessions", "--"]);
    shell::run(sessions.args([&seed.to_string(), SESSIONS]).arg(&folder))?;
    println!("{SESSIONS} random sessions, seed {seed}");
    conform(lang, Some(folder))
}
