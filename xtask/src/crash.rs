//! Workflows that are killed, and databases that are full or away: what a journal promises, tried (docs/internals/crash.md).

use crate::{engines, python, shell};
use anyhow::Result;
use clap::ValueEnum;

/// Where the journals are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
    Both,
}

/// Rounds of the short form, in SQLite and in PostgreSQL: with the rest of it, about a minute.
const SHORT: (u32, u32) = (25, 10);

/// As many rounds in each database, and every trouble.
pub(crate) fn crash(rounds: u32, database: Database, seed: Option<u64>) -> Result<()> {
    engines::build()?;
    let of = |wanted| if database == wanted || database == Database::Both { rounds } else { 0 };
    let seed = seed.map(|seed| format!("--seed={seed}"));
    harness(of(Database::Sqlite), of(Database::Postgres), seed.as_slice())
}

/// The rounds of every run of the tests, with the installed packages.
pub(crate) fn short() -> Result<()> {
    engines::build()?;
    harness(SHORT.0, SHORT.1, &["--short".to_owned()])
}

/// How late durable retries begin; printed, as no machine that others use can promise it.
pub(crate) fn lateness() -> Result<()> {
    engines::build()?;
    shell::run(python::python(&[]).arg("benches/peers/python/lateness.py"))
}

fn harness(sqlite: u32, postgres: u32, options: &[String]) -> Result<()> {
    let mut command = python::python(&["-m", "crash"]);
    command.args([format!("--sqlite={sqlite}"), format!("--postgres={postgres}")]).args(options);
    command.env("PYTHONPATH", engines::folder().join("tests"));
    shell::run(command.current_dir(engines::folder().join("durable/tests")))
}
