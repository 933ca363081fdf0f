//! The Rust runner: `conform PATH` runs a vector file or a folder of them; `conform PATH --logs COUNT --seed S` plays so many
//! random logs with the policies in the folder and prints their digest; `conform PATH --relay LOG` goes on with a call.

use anyhow::{Context as _, Result};
use conformance::{random_logs, relay, run};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: conform PATH [--logs COUNT --seed S | --relay LOG]";

fn main() -> Result<ExitCode> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.map(|at| arguments.get(at + 1).and_then(|value| value.parse::<u64>().ok()).context(USAGE)).transpose()
    };
    let path = arguments.first().map(PathBuf::from).context(USAGE)?;
    if let Some(count) = after("--logs")? {
        println!("{:016x}", random_logs::digest(&path, count, after("--seed")?.unwrap_or(0))?);
        return Ok(ExitCode::SUCCESS);
    }
    if let [_, option, log] = &*arguments
        && option == "--relay"
    {
        relay::leg(log.as_ref())?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(if run::run(&path)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
