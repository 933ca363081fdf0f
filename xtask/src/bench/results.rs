//! The stored results: benches/results, a file for each language with its figures and the machine they are from.

use super::rows::Rows;
use super::targets::Results;
use crate::shell;
use anyhow::{Context as _, Result};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The files by language, in the order in which documents show them.
pub(crate) const LANGS: [&str; 5] = ["rust", "python", "js", "c", "sizes"];

/// The machine of each language's figures.
pub(crate) type Facts = BTreeMap<String, Map<String, Value>>;

fn path(lang: &str) -> PathBuf {
    shell::root().join(format!("benches/results/{lang}.json"))
}

/// The results of the last run of each language.
pub(crate) fn read() -> Result<(Results, Facts)> {
    let (mut results, mut facts) = (Results::new(), Facts::new());
    for lang in LANGS {
        let Ok(text) = fs::read_to_string(path(lang)) else { continue };
        let (machine, rows) = parse(&text).with_context(|| format!("in benches/results/{lang}.json"))?;
        results.insert(lang.to_owned(), rows);
        facts.insert(lang.to_owned(), machine);
    }
    Ok((results, facts))
}

/// Keeps the figures of a language.
pub(crate) fn write(lang: &str, machine: &Map<String, Value>, rows: &Rows) -> Result<()> {
    let path = path(lang);
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    fs::write(&path, text(machine, rows)?).with_context(|| format!("cannot write {}", path.display()))
}

fn text(machine: &Map<String, Value>, rows: &Rows) -> Result<String> {
    let machine = serde_json::to_string_pretty(machine)?.replace('\n', "\n  ");
    Ok(format!("{{\n  \"machine\": {machine},\n  \"rows\": {}\n}}\n", rows.write()?))
}

fn parse(text: &str) -> Result<(Map<String, Value>, Rows)> {
    let mut file: Map<String, Value> = serde_json::from_str(text)?;
    let machine = file.remove("machine").and_then(|machine| machine.as_object().cloned()).context("no machine")?;
    let rows = file.get("rows").context("no rows")?;
    Ok((machine, Rows::parse(&rows.to_string())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rows::tests::rows;

    #[test]
    fn what_is_kept_is_read_again() -> Result<()> {
        let machine = Map::from_iter([("cores".to_owned(), Value::from("2"))]);
        let rows = rows(&[("8 delays", "retry", 42.5), ("8 delays", "floor", 40.0)]);
        assert_eq!(parse(&text(&machine, &rows)?)?, (machine, rows));
        Ok(())
    }
}
