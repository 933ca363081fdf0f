//! The Rust runner: `conform PATH` runs a vector file or a folder of them.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let path = std::env::args_os().nth(1).map(PathBuf::from).ok_or_else(|| anyhow::anyhow!("usage: conform PATH"))?;
    Ok(if conformance::run::run(&path)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
