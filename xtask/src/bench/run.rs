//! The programs that measure: building what they measure, and running them on one core.

use super::machine;
use super::rows::{Row, Rows, round};
use crate::{Lang, baseline, c, python, shell, wasm};
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The wishes to a program.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Ask<'a> {
    /// Fewer rounds.
    pub(crate) quick: bool,
    /// Also what takes minutes and gigabytes.
    pub(crate) full: bool,
    /// Only works whose names contain this.
    pub(crate) only: Option<&'a str>,
}

/// A program that prints rows.
#[derive(Debug)]
pub(crate) struct Program {
    name: &'static str,
    /// How it is started, without what is asked of it.
    start: Vec<PathBuf>,
    /// True if it knows `--full`.
    full: bool,
    /// True if it prints sizes, which come out the same each time.
    pub(crate) sizes: bool,
}

impl Program {
    fn new<const N: usize>(name: &'static str, start: [PathBuf; N]) -> Self {
        Self { name, start: start.into(), full: false, sizes: false }
    }

    /// Runs it and reads its rows.
    pub(crate) fn run(&self, ask: Ask<'_>) -> Result<Rows> {
        let mut command = Command::new(&self.start[0]);
        command.args(&self.start[1..]);
        if ask.quick {
            command.arg("--quick");
        }
        if ask.full && self.full {
            command.arg("--full");
        }
        if let Some(work) = ask.only {
            command.args(["--only", work]);
        }
        let what = ask.only.map_or_else(|| self.name.to_owned(), |work| format!("{work} again"));
        eprintln!("  measuring {what} ...");
        let begun = Instant::now();
        let mut command = machine::pinned(&command);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let text = shell::output(command.stdin(Stdio::null()).stderr(Stdio::inherit()))?;
        let rows = Rows::parse(&text).with_context(|| format!("from {}", self.name))?;
        eprintln!("  measuring {what} ... {:.1} s", begun.elapsed().as_secs_f64());
        Ok(rows)
    }
}

/// The name that results, targets and documents have for a language.
pub(crate) const fn key(lang: Lang) -> &'static str {
    match lang {
        Lang::Rust => "rust",
        Lang::Wasm => "js",
        Lang::Python => "python",
        Lang::C | Lang::All => "c",
    }
}

/// Builds what is measured of one language, as it is shipped, and says by which programs.
pub(crate) fn build(lang: Lang) -> Result<Vec<Program>> {
    match lang {
        Lang::Rust => {
            let bench = ["bench", "--quiet", "--package", "benches", "--bench", "rows"];
            shell::step("building the benches", shell::cargo().args(bench).arg("--no-run"))?;
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut start = vec![PathBuf::from(cargo)];
            start.extend(bench.iter().map(PathBuf::from));
            start.push("--".into());
            Ok(vec![Program { name: "Rust", start, full: true, sizes: false }])
        }
        Lang::Python => {
            python::build()?;
            let script = |name, file: &str| Program::new(name, [shell::python(), file.into()]);
            Ok(vec![
                script("Python", "benches/peers/python/retry.py"),
                script("Python, fronts", "benches/peers/python/fronts.py"),
            ])
        }
        Lang::Wasm => {
            wasm::build()?;
            let script = |name, file: &str| {
                Program::new(name, ["node".into(), file.into(), shell::root().join("bindings-wasm")])
            };
            Ok(vec![
                script("JavaScript", "benches/peers/js/retry.mjs"),
                script("JavaScript, timers", "benches/peers/js/timers.mjs"),
                script("JavaScript, fronts", "benches/peers/js/fronts.mjs"),
                Program { sizes: true, ..script("what npm packages weigh", "benches/peers/js/sizes.mjs") },
            ])
        }
        Lang::C | Lang::All => Ok(vec![Program::new("C", [c::bench::bench()?])]),
    }
}

/// The counts and sizes of a language: rows for its own results, and rows of sizes.
pub(crate) fn count(lang: Lang) -> Result<(Rows, Rows)> {
    let (mut counts, mut sizes) = (Rows::default(), Rows::default());
    for figure in baseline::measure(lang)? {
        let rows = if figure.lang == "sizes" { &mut sizes } else { &mut counts };
        let figures = BTreeMap::from([(figure.unit.name().to_owned(), round(figure.value))]);
        rows.merge(Rows(vec![Row { work: figure.work, who: figure.who, figures }]));
    }
    Ok((counts, sizes))
}
