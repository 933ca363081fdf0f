//! Instructions, by callgrind.
//!
//! The programs run each path 1024 times and then 2048 times with a mark before each, and callgrind says how many
//! instructions lie between the marks. The difference of the two is the path and nothing else: no start, no end, no table
//! that is filled once. It comes out as a whole number, the same each time. Harnesses for such counts (iai-callgrind,
//! gungraun) count a call once, with what surrounds it, and need a runner of the same version on the machine.

use super::{Figure, Unit};
use crate::shell;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// Builds the Rust program and counts.
pub(super) fn rust() -> Result<Vec<Figure>> {
    let build = ["build", "--quiet", "--release", "--package", "counts"];
    shell::step("build the paths that are counted", shell::cargo().args(build))?;
    let rust = shell::target().join("release/counts");
    ensure!(shell::has("valgrind"), "valgrind is missing: `cargo xtask setup` installs it, or says how to");
    let out = shell::target().join("counts.callgrind");
    let mut valgrind = shell::command("valgrind");
    // Names of functions may be mangled.
    valgrind.args(["--quiet", "--tool=callgrind", "--combine-dumps=yes", "--dump-before=*counts*mark*"]);
    valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(&rust);
    let printed = shell::output(valgrind.stdin(Stdio::null()).stderr(Stdio::inherit()))?;
    let printed: Value = serde_json::from_str(&printed).context("the counted program printed something else")?;
    let figures = figures(&printed, &fs::read_to_string(&out)?)?;
    fs::remove_file(out)?;
    Ok(figures)
}

/// The instructions between the marks of a run.
fn figures(printed: &Value, dumps: &str) -> Result<Vec<Figure>> {
    let totals = dumps.lines().filter_map(|line| line.strip_prefix("totals: "));
    let totals = totals.map(|total| Ok(total.trim().parse::<f64>()?)).collect::<Result<Vec<_>>>()?;
    let rows = printed["counted"].as_array().context("nothing was counted")?;
    // Before the first mark of each path, between its marks, and after all.
    ensure!(totals.len() == 3 * rows.len() + 1, "{} counts of {} paths", totals.len(), rows.len());
    let figure = |(row, counts): (&Value, &[f64])| {
        let times = row["times"].as_f64()?;
        let value = ((counts[2] - counts[1]) / times * 10.0).round() / 10.0;
        let (work, who) = (row["work"].as_str()?.to_owned(), row["who"].as_str()?.to_owned());
        Some(Figure { lang: "rust".to_owned(), work, who, unit: Unit::Instructions, value })
    };
    let figures: Option<Vec<_>> = rows.iter().zip(totals.chunks(3)).map(figure).collect();
    figures.context("a path without a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_two_lengths_counts() -> Result<()> {
        let printed = serde_json::json!({"counted": [
            {"work": "loop", "who": "retry", "times": 100},
            {"work": "loop", "who": "bare", "times": 100},
        ]});
        let dumps =
            "part: 1\ntotals: 90000\ntotals: 1010\ntotals: 2012\ntotals: 5\ntotals: 300\ntotals: 550\ntotals: 77\n";
        let got: Vec<_> = figures(&printed, dumps)?.into_iter().map(|one| (one.who, one.value)).collect();
        assert_eq!(got, [("retry".to_owned(), 10.0), ("bare".to_owned(), 2.5)]);
        assert!(figures(&printed, "totals: 1\n").is_err());
        Ok(())
    }
}
