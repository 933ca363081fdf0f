//! The storm: the guards of a fleet, in virtual time.

use crate::shell;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Prints the tables, and fails if a bound is missed or the tables differ from the checked-in ones.
pub(crate) fn storm(seed: Option<u64>, write: bool) -> Result<()> {
    let mut command = simulation();
    command.args(seed.map(|seed| format!("--seed={seed}"))).args(write.then_some("--write"));
    if !command.status()?.success() {
        bail!("the guards do not hold what they promise, or the tables have changed");
    }
    Ok(())
}

/// Runs the policy and the scenario of one file.
pub(crate) fn run(file: &Path) -> Result<()> {
    let file = std::path::absolute(file)?;
    if !simulation().arg("--run").arg(file).status()?.success() {
        bail!("the file cannot be run");
    }
    Ok(())
}

/// The simulation with the seed of the snapshot, built with optimisations, or it would take a minute.
pub(crate) fn simulation() -> Command {
    let mut command = shell::cargo();
    command.args(["run", "--quiet", "--release", "--package", "holdoff-sim", "--"]);
    command
}
