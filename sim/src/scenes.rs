//! The tables of sim/storm.json: scenarios, the strategies of the clients, and the bounds of each row.

use crate::bounds::Bound;
use crate::picture::Half;
use crate::scenario::Scenario;
use crate::strategy::Strategy;
use crate::sweep::Sweep;
use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name, if the strategy's does not do.
    pub name: Option<String>,
    /// The policy and the guards of each client.
    pub strategy: Strategy,
    /// The rate of the calls, and the fault of the server.
    pub scenario: Scenario,
    /// The bounds that the row must hold.
    pub bounds: Vec<Bound>,
}

/// Rows under a title.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its title, a sentence about the fault.
    pub title: String,
    /// Its lines.
    pub rows: Vec<Row>,
    /// Each row is also drawn second by second, as text.
    pub is_drawn: bool,
    /// Files that show rows.
    pub drawings: Vec<Drawing>,
}

/// A drawing that is checked in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// Its file, from the root of the repository.
    pub file: String,
    /// The names of its rows; all rows of the table unless given.
    pub rows: Option<Vec<String>>,
    /// What the drawing calls these rows.
    #[serde(default)]
    pub names: Vec<String>,
    /// A half of the front page's picture, and not a table of curves.
    #[serde(default)]
    pub half: Option<Half>,
    /// The height of a row.
    #[serde(default)]
    pub height: f64,
    /// Its title; the table's unless given.
    pub title: Option<String>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Policy documents by the names that rows have for them.
    strategies: BTreeMap<String, Value>,
    tables: Vec<FileTable>,
    #[serde(default)]
    sweeps: Vec<Sweep>,
}

/// The content of the file.
#[derive(Clone, Debug)]
pub struct Scenes {
    /// Rows under titles.
    pub tables: Vec<Table>,
    /// One strategy under several outages.
    pub sweeps: Vec<Sweep>,
    /// The strategies by name.
    pub strategies: BTreeMap<String, Strategy>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    title: String,
    #[serde(default)]
    drawn: bool,
    #[serde(default)]
    drawings: Vec<Drawing>,
    /// Fields of [`Scenario`] that the rows share.
    #[serde(default)]
    scenario: Map<String, Value>,
    rows: Vec<FileRow>,
}

#[derive(Deserialize)]
struct FileRow {
    name: Option<String>,
    strategy: String,
    #[serde(default)]
    bounds: Vec<Bound>,
    /// Fields of [`Scenario`] that are the row's own.
    #[serde(flatten)]
    scenario: Map<String, Value>,
}

/// All tables and sweeps, with a seed.
///
/// # Errors
/// The file is wrong; its table and row are named.
pub fn scenes(file: &str, seed: u64) -> Result<Scenes> {
    let File { strategies, tables, sweeps } = serde_json::from_str(file)?;
    let strategies = strategies.into_iter().map(|(name, document)| {
        let strategy = Strategy::read(&name, &document.to_string()).with_context(|| format!("strategy `{name}`"))?;
        Ok((name, strategy))
    });
    let strategies = strategies.collect::<Result<BTreeMap<_, _>>>()?;
    let tables = tables.into_iter().map(|table| {
        let rows = table.rows.into_iter().map(|row| {
            let place = format!("table `{}`, row `{}`", table.title, row.name.as_ref().unwrap_or(&row.strategy));
            row.read(&table.scenario, &strategies, seed).context(place)
        });
        let (title, is_drawn, drawings) = (table.title.clone(), table.drawn, table.drawings);
        Ok(Table { rows: rows.collect::<Result<_>>()?, title, is_drawn, drawings })
    });
    Ok(Scenes { tables: tables.collect::<Result<_>>()?, sweeps, strategies: strategies.clone() })
}

impl FileRow {
    fn read(self, shared: &Map<String, Value>, strategies: &BTreeMap<String, Strategy>, seed: u64) -> Result<Row> {
        let strategy = strategies.get(&self.strategy).context("there is no such strategy")?.clone();
        let mut fields = shared.clone();
        fields.extend(self.scenario);
        let scenario = Scenario { seed, ..serde_json::from_value(Value::Object(fields))? };
        scenario.check()?;
        Ok(Row { name: self.name, strategy, scenario, bounds: self.bounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(row: &str) -> String {
        let file = format!(
            r#"{{"strategies": {{"one": {{}}}}, "tables": [{{"title": "T", "scenario": {{"lasts": 10}}, "rows": [{row}]}}]}}"#
        );
        scenes(&file, 7)
            .map_or_else(|error| format!("{error:#}"), |scenes| format!("{:?}", scenes.tables[0].rows[0].scenario))
    }

    #[test]
    fn a_row_has_the_fields_of_its_table_and_its_own() {
        let shown = error(r#"{"strategy": "one", "rate": 0.5, "fault": {"kind": "errors", "share": 0.25}}"#);
        assert!(shown.contains("rate: 0.5") && shown.contains("lasts: 10") && shown.contains("Errors { share: 0.25 }"));
    }

    #[test]
    fn an_error_names_table_row_and_field() {
        for (row, message) in [
            (r#"{"strategy": "two"}"#, "table `T`, row `two`: there is no such strategy"),
            (
                r#"{"strategy": "one", "rat": 1}"#,
                "table `T`, row `one`: unknown field `rat`, expected one of `clients`",
            ),
            (r#"{"strategy": "one", "rate": 0}"#, "table `T`, row `one`: `rate` = 0: must be from 0.001 to 10000"),
            (
                r#"{"strategy": "one", "fault": {"kind": "errors", "share": 2}}"#,
                "table `T`, row `one`: `fault.share` = 2: must be from 0 to 1",
            ),
        ] {
            assert!(error(row).starts_with(message), "{}", error(row));
        }
    }
}
