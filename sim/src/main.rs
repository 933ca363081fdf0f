//! Runs the storm, prints it, and holds it against its bounds and the snapshot that is checked in.

use anyhow::{Context as _, Result};
use clap::Parser;
use holdoff_sim::report::{quick, report};
use holdoff_sim::single;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The seed of the snapshot.
const SEED: u64 = 7;

/// The tables that are checked in.
const SNAPSHOT: &str = "sim/storm.txt";

/// The arguments, from `cargo xtask storm`.
#[derive(Parser)]
struct Cli {
    /// Where all chance comes from. With another one than the snapshot's only the bounds are checked.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Write the tables and the drawings instead of comparing with them.
    #[arg(long)]
    write: bool,
    /// Play only the bounds that `cargo xtask test` holds, with fewer calls.
    #[arg(long, conflicts_with = "write")]
    quick: bool,
    /// Run only the policy and the scenario of this file, and print the result as JSON.
    #[arg(long, conflicts_with_all = ["seed", "write"])]
    run: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    if let Some(file) = cli.run {
        let document = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let outcome = single::run(&document).with_context(|| file.display().to_string())?;
        println!("{}", serde_json::to_string(&outcome)?);
        return Ok(ExitCode::SUCCESS);
    }
    let report = if cli.quick { quick(cli.seed)? } else { report(cli.seed)? };
    print!("{}", report.text);
    let mut faults = report.missed;
    if cli.seed == SEED && !cli.quick {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let printed = std::iter::once((SNAPSHOT.to_owned(), report.text)).chain(report.drawings);
        for (file, content) in printed {
            let path = root.join(&file);
            if cli.write {
                fs::write(&path, content).with_context(|| format!("cannot write {file}"))?;
            } else if fs::read_to_string(&path).ok() != Some(content) {
                faults.push(format!("{file} is stale: look at what changed, then run `cargo xtask storm --write`"));
            }
        }
    }
    for fault in &faults {
        eprintln!("FAILED: {fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
