//! Rows: figures of a work by a library, read from the programs that measure and stored in benches/results.
//!
//! Figures are rounded as soon as they are read, so that the printed number, the stored number and the number that
//! is judged are the same.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Somebody's figures for a work.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    /// The work, such as `8 delays`.
    pub(crate) work: String,
    /// The doer: a machine of ours, a package, or `floor` or `bare`.
    pub(crate) who: String,
    /// By name: `ns` and `ms` are the fastest sample, `median` the median one; `bytes`, `instructions` and others.
    pub(crate) figures: BTreeMap<String, f64>,
}

/// The rows of one language, in the order in which they were measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Rows(pub(crate) Vec<Row>);

impl Rows {
    /// Reads what a program printed: a list of objects with `work`, `who` and figures.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let list: Vec<Map<String, Value>> = serde_json::from_str(text.trim()).context("the bench printed no list")?;
        let mut rows = Self::default();
        for object in list {
            let name = |key: &str| {
                let name = object.get(key).and_then(Value::as_str).map(str::to_owned);
                name.with_context(|| format!("a row without {key}: {object:?}"))
            };
            let figure = |(key, value): (&String, &Value)| Some((key.clone(), round(value.as_f64()?)));
            let row =
                Row { work: name("work")?, who: name("who")?, figures: object.iter().filter_map(figure).collect() };
            ensure!(!row.figures.is_empty(), "a row without a figure: {object:?}");
            rows.merge(Self(vec![row]));
        }
        Ok(rows)
    }

    /// Adds what was measured again or besides: the least of each figure counts, because a busy machine only adds.
    pub(crate) fn merge(&mut self, other: Self) {
        for row in other.0 {
            let Some(old) = self.0.iter_mut().find(|old| old.work == row.work && old.who == row.who) else {
                self.0.push(row);
                continue;
            };
            for (name, figure) in row.figures {
                old.figures.entry(name).and_modify(|least| *least = least.min(figure)).or_insert(figure);
            }
        }
    }

    /// Puts rows in the place of those of the same names; new ones come last.
    pub(crate) fn replace(&mut self, other: Self) {
        for row in other.0 {
            match self.0.iter_mut().find(|old| old.work == row.work && old.who == row.who) {
                Some(old) => *old = row,
                None => self.0.push(row),
            }
        }
    }

    /// One figure.
    pub(crate) fn get(&self, work: &str, who: &str, figure: &str) -> Option<f64> {
        self.of(work).find(|row| row.who == who)?.figures.get(figure).copied()
    }

    /// The rows of one work.
    pub(crate) fn of(&self, work: &str) -> impl Iterator<Item = &Row> {
        self.0.iter().filter(move |row| row.work == work)
    }

    /// The works, each once.
    pub(crate) fn works(&self) -> Vec<&str> {
        let mut works: Vec<&str> = Vec::new();
        for row in &self.0 {
            if !works.contains(&row.work.as_str()) {
                works.push(&row.work);
            }
        }
        works
    }

    /// The text that [`Rows::parse`] reads, one row a line.
    pub(crate) fn write(&self) -> Result<String> {
        let mut text = "[".to_owned();
        for (index, row) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (work, who) = (serde_json::to_string(&row.work)?, serde_json::to_string(&row.who)?);
            write!(text, "{comma}\n    {{ \"work\": {work}, \"who\": {who}")?;
            for (name, figure) in &row.figures {
                write!(text, ", {}: {figure}", serde_json::to_string(name)?)?;
            }
            text.push_str(" }");
        }
        text.push_str("\n  ]");
        Ok(text)
    }
}

/// To four digits: what lies behind them is noise.
pub(crate) fn round(figure: f64) -> f64 {
    if figure == 0.0 || !figure.is_finite() {
        return figure;
    }
    format!("{figure:.3e}").parse().unwrap_or(figure)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Made-up rows: work, who, nanoseconds.
    pub(crate) fn rows(list: &[(&str, &str, f64)]) -> Rows {
        let row = |&(work, who, nanos): &(&str, &str, f64)| Row {
            work: work.to_owned(),
            who: who.to_owned(),
            figures: BTreeMap::from([("ns".to_owned(), nanos)]),
        };
        Rows(list.iter().map(row).collect())
    }

    #[test]
    fn the_least_of_each_figure_counts() -> Result<()> {
        let mut rows = Rows::parse(r#"[{"work":"a","who":"x","ns":12.34567,"median":13}]"#)?;
        rows.merge(Rows::parse(
            r#"[{"work":"a","who":"x","ns":14,"median":12.5,"bytes":40},{"work":"b","who":"x","ns":1}]"#,
        )?);
        assert_eq!(rows.get("a", "x", "ns"), Some(12.35));
        assert_eq!(rows.get("a", "x", "median"), Some(12.5));
        assert_eq!(rows.get("a", "x", "bytes"), Some(40.0));
        assert_eq!(rows.works(), ["a", "b"]);
        Ok(())
    }

    #[test]
    fn what_is_put_in_its_place_may_be_more() {
        let mut old = rows(&[("a", "x", 1.0), ("b", "x", 2.0)]);
        old.replace(rows(&[("c", "x", 5.0), ("a", "x", 3.0)]));
        assert_eq!(old, rows(&[("a", "x", 3.0), ("b", "x", 2.0), ("c", "x", 5.0)]));
    }

    #[test]
    fn what_is_written_is_read_again() -> Result<()> {
        let rows = rows(&[("a \"b\"", "x", 0.1234), ("c", "y", 123_456.0)]);
        let text = rows.write()?;
        assert_eq!(text.lines().count(), 4);
        let again = Rows::parse(&text)?;
        assert_eq!(again.get("a \"b\"", "x", "ns"), Some(0.1234));
        assert_eq!(again.get("c", "y", "ns"), Some(123_500.0));
        assert_eq!(Rows::parse(&again.write()?)?, again);
        Ok(())
    }

    #[test]
    fn a_row_without_a_name_or_a_figure_is_refused() {
        assert!(Rows::parse(r#"[{"who":"x","ns":1}]"#).is_err());
        assert!(Rows::parse(r#"[{"work":"a","who":"x"}]"#).is_err());
        assert!(Rows::parse("nothing").is_err());
    }
}
