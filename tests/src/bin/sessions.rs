//! Writes random sessions with the core's steps: `sessions SEED COUNT FILE`.

use anyhow::{Context as _, Result};

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [seed, count, file] = arguments.as_slice() else { anyhow::bail!("usage: sessions SEED COUNT FILE") };
    let sessions = conformance::sessions::sessions(seed.parse().context("SEED")?, count.parse().context("COUNT")?);
    Ok(std::fs::write(file, serde_json::to_string(&sessions)?)?)
}
