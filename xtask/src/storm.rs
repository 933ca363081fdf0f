//! The storm: the guards of a fleet, in virtual time.

use crate::{rust, shell};
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::Command;

/// The bounds that every run of the tests holds: short outages with a thousand calls a second, and bursts.
pub(crate) fn some_bounds() -> Result<()> {
    shell::step("the storm, a part of it", simulation()?.arg("--quick"))
}

/// All bounds, and the tables as they are checked in.
pub(crate) fn all_bounds() -> Result<()> {
    storm(None, false)
}

/// Prints the tables, and fails if a bound is missed or the tables differ from the checked-in ones.
pub(crate) fn storm(seed: Option<u64>, write: bool) -> Result<()> {
    let mut command = simulation()?;
    command.args(seed.map(|seed| format!("--seed={seed}"))).args(write.then_some("--write"));
    shell::run(&mut command).context("the guards do not hold what they promise, or the tables have changed")
}

/// Runs the policy and the scenario of one file.
pub(crate) fn run(file: &Path) -> Result<()> {
    let file = std::path::absolute(file)?;
    shell::run(simulation()?.arg("--run").arg(file)).context("the file cannot be run")
}

/// The simulation with the seed of the snapshot.
pub(crate) fn simulation() -> Result<Command> {
    rust::program("holdoff-sim")
}
