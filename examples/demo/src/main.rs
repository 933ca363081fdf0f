//! Starts the flaky server, lets every host call it, and shows whether they agree.

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use demo::compare::{Comparison, compare};
use demo::host::{self, Host, Report};
use demo::plan::{Plan, paths};
use demo::server::Server;
use demo::table;
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// The arguments, from `cargo xtask demo`.
#[derive(Parser)]
struct Cli {
    /// The seed that all hosts share.
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// A JSON list of the host programs, all of them built.
    #[arg(long)]
    hosts: PathBuf,
    /// The folder of the page that the browser loads.
    #[arg(long)]
    page: PathBuf,
    /// A page of the documentation that shows the table of this seed.
    #[arg(long)]
    shown_in: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    let text = fs::read_to_string(&cli.hosts).with_context(|| format!("cannot read {}", cli.hosts.display()))?;
    let hosts: Vec<Host> = serde_json::from_str(&text).with_context(|| cli.hosts.display().to_string())?;
    let plans = cli.hosts.with_file_name("plans");
    fs::create_dir_all(&plans)?;

    let paths = paths();
    let server = Server::start(paths.clone(), Some(cli.page)).await?;
    eprint!("  calling {} paths from {} hosts ...", paths.len(), hosts.len());
    let mut running = tokio::task::JoinSet::new();
    for host in &hosts {
        let plan = plans.join(format!("{}.json", host.name));
        fs::write(&plan, serde_json::to_vec_pretty(&Plan::new(server.base(&host.name), cli.seed, &paths))?)?;
        let host = host.clone();
        running.spawn(async move {
            let begun = Instant::now();
            (host.name.clone(), host::run(&host, &plan).await, begun.elapsed())
        });
    }
    let mut traces = Vec::new();
    while let Some(finished) = running.join_next().await {
        let (name, trace, took) = finished?;
        eprint!(" {name} {:.1} s{}", took.as_secs_f64(), if running.is_empty() { "" } else { "," });
        std::io::stderr().flush()?;
        traces.push((name, trace));
    }
    eprintln!();

    let mut reports = Vec::new();
    for host in &hosts {
        let Some(index) = traces.iter().position(|(name, _)| *name == host.name) else {
            bail!("{} is in {} twice", host.name, cli.hosts.display());
        };
        let (name, trace) = traces.swap_remove(index);
        let requests = paths.iter().map(|path| server.requests(&name, path.path)).collect();
        reports.push(Report { name, trace, requests });
    }
    let comparison: Comparison = compare(&paths, &reports);
    let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    print!("{}", table::render(&comparison, colours));
    if let Some(page) = cli.shown_in {
        let text = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        if !text.contains(table::render(&comparison, false).trim_start_matches('\n')) {
            bail!("{} does not show this table", page.display());
        }
    }
    Ok(if comparison.agrees() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
