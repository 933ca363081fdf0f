//! What a retry costs, beside the least it can cost and beside other libraries: one table of ratios.
//!
//! Each language's works run in one run and take turns, and the fastest sample of each counts, because a busy machine
//! disturbs nanoseconds but hardly the ratios of minimums.

use crate::{Lang, python, shell, wasm};
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Criterion's runs: short ones that take turns are worth more than one long one.
const ROUNDS: u32 = 3;

/// Work, who did it, nanoseconds.
type Row = (String, String, f64);

/// Runs the benches of a language, or of all that have some, and prints the ratios. All of them if they are to be `full`:
/// also those that take a minute and two gigabytes.
pub(crate) fn bench(lang: Lang, full: bool) -> Result<()> {
    let mut tables = Vec::new();
    for lang in lang.each() {
        match lang {
            Lang::Rust => {
                let mut rows = rust()?;
                rows.append(&mut timers(full)?);
                tables.push(("Rust", "floor", rows));
            }
            Lang::Wasm => {
                wasm::build()?;
                let mut both = Vec::new();
                for bench in ["retry", "timers"] {
                    let mut node = shell::command("node");
                    node.arg(format!("benches/peers/js/{bench}.mjs")).arg(shell::root().join("bindings-wasm"));
                    both.append(&mut rows(&mut node)?);
                }
                tables.push(("JavaScript", "bare", both));
            }
            Lang::Python => {
                python::build()?;
                let mut python = shell::command(shell::python());
                tables.push(("Python", "bare", rows(python.arg("benches/peers/python/retry.py"))?));
            }
            Lang::C | Lang::All => {}
        }
    }
    if tables.is_empty() {
        bail!("there is no bench of this language: its calls are the core's own");
    }
    println!("{:<32} {:<18} {:>12} {:>9}", "work", "by", "ns", "ratio");
    for (title, base, rows) in &tables {
        print(title, base, rows);
    }
    Ok(())
}

/// The criterion benches, in rounds; the fastest sample of each.
fn rust() -> Result<Vec<Row>> {
    let mut build = shell::cargo();
    shell::step("building the benches", build.args(["bench", "--quiet", "--package", "benches", "--no-run"]))?;
    let folder = shell::target().join("criterion");
    if folder.exists() {
        // Benches of other names, from another day, are not to be in the table.
        fs::remove_dir_all(&folder)?;
    }
    let mut best: BTreeMap<(String, String), f64> = BTreeMap::new();
    for round in 1..=ROUNDS {
        let mut cargo = shell::cargo();
        cargo.args(["bench", "--quiet", "--package", "benches", "--bench", "decisions", "--"]);
        cargo.args(["--noplot", "--warm-up-time", "0.2", "--measurement-time", "0.4", "--sample-size", "40"]);
        shell::step(&format!("measuring Rust, round {round} of {ROUNDS}"), &mut cargo)?;
        for group in folders(&folder)? {
            for bench in folders(&group)?.iter().map(|who| who.join("new")) {
                // A folder without a sample is one of criterion's reports.
                if bench.join("sample.json").exists() {
                    let (names, nanos) = fastest(&bench).with_context(|| format!("in {}", bench.display()))?;
                    best.entry(names).and_modify(|least| *least = least.min(nanos)).or_insert(nanos);
                }
            }
        }
    }
    Ok(best.into_iter().map(|((work, who), nanos)| (work, who, nanos)).collect())
}

/// What a timer costs; what memory it takes is printed by the way.
fn timers(full: bool) -> Result<Vec<Row>> {
    let mut cargo = shell::cargo();
    cargo.args(["bench", "--quiet", "--package", "benches", "--bench", "timers"]);
    if full {
        cargo.args(["--", "--full"]);
    }
    rows(cargo.stderr(Stdio::inherit()))
}

/// The names of one bench and its fastest sample.
fn fastest(bench: &Path) -> Result<((String, String), f64)> {
    let read = |name: &str| -> Result<Value> { Ok(serde_json::from_str(&fs::read_to_string(bench.join(name))?)?) };
    let (names, sample) = (read("benchmark.json")?, read("sample.json")?);
    let name = |key: &str| names[key].as_str().map(str::to_owned).with_context(|| format!("no {key}"));
    let numbers = |key: &str| sample[key].as_array().into_iter().flatten().filter_map(Value::as_f64);
    let nanos = numbers("times").zip(numbers("iters")).map(|(time, iterations)| time / iterations);
    let nanos = nanos.min_by(f64::total_cmp).context("no samples")?;
    Ok(((name("group_id")?, name("function_id")?), nanos))
}

fn folders(under: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(under).with_context(|| format!("cannot read {}", under.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}

/// What a script prints: a list of {work, who, ns}.
fn rows(command: &mut Command) -> Result<Vec<Row>> {
    eprintln!("  measuring {}", command.get_args().next().unwrap_or_default().display());
    let text = shell::output(command)?;
    let list: Vec<Value> = serde_json::from_str(&text).context("the bench printed no list")?;
    let row = |value: &Value| {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some((text("work")?, text("who")?, value["ns"].as_f64()?))
    };
    list.iter().map(|value| row(value).with_context(|| format!("no row: {value}"))).collect()
}

/// One block a work, from fast to slow.
fn print(title: &str, base: &str, rows: &[Row]) {
    let mut works: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    for (work, who, nanos) in rows {
        works.entry(work).or_default().push((who, *nanos));
    }
    for (work, mut all) in works {
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        let one = all.iter().find(|(who, _)| *who == base).map_or(f64::NAN, |(_, nanos)| *nanos);
        println!();
        let mut label = format!("{title}: {work}");
        for (who, nanos) in all {
            println!("{label:<32} {who:<18} {nanos:>12.1} {:>8.2}x", nanos / one);
            label.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_sample_counts() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("holdoff-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("benchmark.json"), r#"{"group_id":"loop","function_id":"floor"}"#)?;
        fs::write(folder.join("sample.json"), r#"{"iters":[10.0,20.0],"times":[50.0,60.0]}"#)?;
        let got = fastest(&folder);
        fs::remove_dir_all(&folder)?;
        assert_eq!(got?, (("loop".to_owned(), "floor".to_owned()), 3.0));
        Ok(())
    }
}
