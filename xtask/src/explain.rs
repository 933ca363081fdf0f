//! Showing what a policy does.

use crate::shell;
use anyhow::{Result, bail};

/// Prints the delays of a preset or of the policy in a file, which may be in another system's form.
pub(crate) fn explain(what: &str, form: Option<&str>) -> Result<()> {
    // A path is the caller's, and cargo runs the program there.
    let mut command = shell::cargo();
    command.current_dir(std::env::current_dir()?);
    command.args(["run", "--quiet", "--package", "conformance", "--bin", "explain", "--manifest-path"]);
    command.arg(shell::root().join("Cargo.toml")).arg("--").arg(what).args(form);
    if !command.status()?.success() {
        bail!("{what} cannot be explained");
    }
    Ok(())
}
