//! Writes random sessions with the core's steps: `sessions SEED COUNT FOLDER`, as many of single calls and a quarter as many of
//! calls that share guards. Prints the digest of each file.

use anyhow::{Context as _, Result};
use conformance::{guarded, random_logs, sessions};
use std::path::Path;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [seed, count, folder] = arguments.as_slice() else { anyhow::bail!("usage: sessions SEED COUNT FOLDER") };
    let (seed, count) = (seed.parse().context("SEED")?, count.parse().context("COUNT")?);
    for (name, file) in
        [("calls.json", sessions::sessions(seed, count)), ("guarded.json", guarded::sessions(seed, count / 4))]
    {
        let text = serde_json::to_string(&file)?;
        println!("{:016x}", random_logs::digest_text(&text));
        std::fs::write(Path::new(folder).join(name), text)?;
    }
    Ok(())
}
