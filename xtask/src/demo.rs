//! One flaky server, five hosts.

use anyhow::Result;

/// Builds the hosts, starts the server, runs every host against it and compares.
pub(crate) fn demo(_seed: u64) -> Result<()> {
    anyhow::bail!("not yet")
}
