//! Running a host program.

use crate::trace::Trace;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// A program that calls the paths of a plan; its only further argument is the plan's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The name of the host, in the table and in its requests.
    pub name: String,
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// Environment variables for the program, besides those of this process.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// The result of a host.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the host.
    pub name: String,
    /// Its trace, or why there is none.
    pub trace: Result<Trace, String>,
    /// The requests the server counted, one number for each path of the plan.
    pub requests: Vec<u32>,
}

/// All runs take about ten seconds: a host that needs more hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// Runs a host to its end.
///
/// # Errors
/// A text for a person: it did not start, failed, hung, or printed something else than a trace.
pub async fn run(host: &Host, plan: &Path) -> Result<Trace, String> {
    let Some((program, arguments)) = host.command.split_first() else {
        return Err("has no command".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(plan).envs(&host.env).stdin(Stdio::null()).kill_on_drop(true);
    let output = match tokio::time::timeout(PATIENCE, command.output()).await {
        Err(_) => return Err(format!("is not done after {} s", PATIENCE.as_secs())),
        Ok(Err(error)) => return Err(format!("does not start: {program}: {error}")),
        Ok(Ok(output)) => output,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("failed ({})\n{}", output.status, said.trim_end()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("printed no trace: {error}\n{}", said.trim_end()))
}
