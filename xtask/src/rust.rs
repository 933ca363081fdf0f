//! Testing the Rust crates.

use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Every test of this language.
pub(crate) fn test() -> Result<()> {
    anyhow::bail!("not yet")
}

/// The conformance runner for a folder of vectors, built and ready to start.
pub(crate) fn runner(_dir: &Path) -> Result<Command> {
    anyhow::bail!("not yet")
}
