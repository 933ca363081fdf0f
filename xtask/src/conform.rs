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
