//! The figures that are accepted: benches/baseline.json, one a line, so that a commit shows which it changes.

use super::compare::grew;
use super::{Figure, Unit};
use crate::shell;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;

/// The file.
pub(super) const FILE: &str = "benches/baseline.json";

/// The accepted figures, and what made them.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Baseline {
    pub(super) tools: Tools,
    pub(super) figures: Vec<Accepted>,
}

/// An accepted figure.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Accepted {
    pub(super) figure: Figure,
    /// Why it is larger than it was before.
    pub(super) why: Option<String>,
}

/// The tools that made the code: other compilers make other instructions of the same source.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Tools {
    pub(super) machine: String,
    rustc: String,
    gcc: String,
}

impl Tools {
    /// The tools of this machine.
    pub(super) fn here() -> Result<Self> {
        let version = |text: String| text.lines().next().unwrap_or_default().to_owned();
        Ok(Self {
            machine: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            rustc: version(shell::output(shell::rustc().arg("--version"))?),
            gcc: version(shell::output(shell::command("gcc").arg("--version"))?),
        })
    }

    /// In what they differ from others.
    pub(super) fn difference(&self, now: &Self) -> Option<String> {
        let pairs = [(&self.rustc, &now.rustc), (&self.gcc, &now.gcc)];
        let said = pairs.into_iter().filter(|(was, is)| was != is).map(|(was, is)| format!("{was}, here {is}"));
        let said: Vec<_> = said.collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

impl Baseline {
    /// The checked-in one.
    pub(super) fn read() -> Result<Self> {
        let text = fs::read_to_string(shell::root().join(FILE));
        let text = text.with_context(|| format!("no {FILE}: `cargo xtask check --update` makes one"))?;
        Self::parse(&text).with_context(|| format!("in {FILE}"))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let file: Value = serde_json::from_str(text)?;
        let word =
            |of: &Value, key: &str| of[key].as_str().map(str::to_owned).with_context(|| format!("no {key}: {of}"));
        let tools = &file["made"];
        let tools = Tools { machine: word(tools, "machine")?, rustc: word(tools, "rustc")?, gcc: word(tools, "gcc")? };
        let mut figures = Vec::new();
        for row in file["figures"].as_array().context("no figures")? {
            let value = |unit: Unit| Some((unit, row[unit.name()].as_f64()?));
            let (unit, value) = Unit::ALL.into_iter().find_map(value).with_context(|| format!("no number: {row}"))?;
            let figure =
                Figure { lang: word(row, "lang")?, work: word(row, "work")?, who: word(row, "who")?, unit, value };
            figures.push(Accepted { figure, why: row["why"].as_str().map(str::to_owned) });
        }
        Ok(Self { tools, figures })
    }

    /// The text that [`Baseline::parse`] reads.
    pub(super) fn text(&self) -> Result<String> {
        let quoted = |text: &str| serde_json::to_string(text);
        let Tools { machine, rustc, gcc } = &self.tools;
        let mut text = format!(
            "{{\n  \"made\": {{ \"machine\": {}, \"rustc\": {}, \"gcc\": {} }},\n  \"figures\": [",
            quoted(machine)?,
            quoted(rustc)?,
            quoted(gcc)?
        );
        for (index, Accepted { figure, why }) in self.figures.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let Figure { lang, work, who, unit, value } = figure;
            let [lang, work, who] = [quoted(lang)?, quoted(work)?, quoted(who)?];
            let unit = unit.name();
            write!(text, "{comma}\n    {{ \"lang\": {lang}, \"work\": {work}, \"who\": {who}, \"{unit}\": {value}")?;
            if let Some(why) = why {
                write!(text, ", \"why\": {}", quoted(why)?)?;
            }
            text.push_str(" }");
        }
        text.push_str("\n  ]\n}\n");
        Ok(text)
    }

    pub(super) fn write(&self) -> Result<()> {
        Ok(fs::write(shell::root().join(FILE), self.text()?)?)
    }

    /// With the figures of now: lower ones are taken as they are, higher ones keep the old value as long as the check lets
    /// them be, so that many small steps do not add up unseen; figures that grew more are taken with the reason.
    pub(super) fn updated(&self, now: &[Figure], tools: Tools, why: &str) -> Result<Self> {
        let mut figures = Vec::new();
        let mut unexplained = Vec::new();
        for figure in now {
            let Some(old) = self.figures.iter().find(|old| old.figure.names(figure)) else {
                figures.push(Accepted { figure: figure.clone(), why: None });
                continue;
            };
            let was = old.figure.value;
            figures.push(if grew(was, figure.value) {
                unexplained.push(figure.words());
                Accepted { figure: figure.clone(), why: Some(why.trim().to_owned()) }
            } else if figure.value < was {
                Accepted { figure: figure.clone(), why: None }
            } else {
                old.clone()
            });
        }
        if why.trim().is_empty() && !unexplained.is_empty() {
            bail!("say with --why \"the reason\" why these grew:\n  {}", unexplained.join("\n  "));
        }
        Ok(Self { tools, figures })
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::tests::figure;
    use super::*;

    fn baseline(figures: &[Figure]) -> Baseline {
        let tools = Tools { machine: "m".to_owned(), rustc: "rustc 1".to_owned(), gcc: "gcc 1".to_owned() };
        Baseline { tools, figures: figures.iter().map(|one| Accepted { figure: one.clone(), why: None }).collect() }
    }

    #[test]
    fn what_is_written_is_read_again() -> Result<()> {
        let mut accepted = baseline(&[figure("a", 1), figure("b \"c\"", 2)]);
        accepted.figures[1].why = Some("it had to".to_owned());
        accepted.figures[0].figure = Figure { unit: Unit::Instructions, value: 12.5, ..figure("a", 1) };
        assert_eq!(Baseline::parse(&accepted.text()?)?, accepted);
        Ok(())
    }

    #[test]
    fn what_grew_needs_a_reason_and_keeps_it() -> Result<()> {
        let accepted = baseline(&[figure("a", 100)]);
        let tools = || accepted.tools.clone();
        let error = accepted.updated(&[figure("a", 106)], tools(), "  ").unwrap_err();
        assert!(error.to_string().contains("sizes: state, a"), "{error}");
        let raised = accepted.updated(&[figure("a", 106)], tools(), "a new field ")?;
        assert_eq!(raised.figures, [Accepted { figure: figure("a", 106), why: Some("a new field".to_owned()) }]);
        // The same again needs no reason and does not lose the one there is.
        assert_eq!(raised.updated(&[figure("a", 106)], tools(), "")?, raised);
        // A figure that shrinks again has nothing to explain.
        assert_eq!(raised.updated(&[figure("a", 90)], tools(), "")?.figures[0].why, None);
        Ok(())
    }

    #[test]
    fn small_steps_do_not_add_up() -> Result<()> {
        let accepted = baseline(&[figure("a", 100)]);
        let updated = accepted.updated(&[figure("a", 104)], accepted.tools.clone(), "")?;
        assert_eq!(updated.figures[0].figure, figure("a", 100));
        Ok(())
    }

    #[test]
    fn what_is_new_comes_in_and_what_is_gone_goes() -> Result<()> {
        let accepted = baseline(&[figure("gone", 100)]);
        let updated = accepted.updated(&[figure("new", 7)], accepted.tools.clone(), "")?;
        assert_eq!(updated.figures, [Accepted { figure: figure("new", 7), why: None }]);
        Ok(())
    }

    #[test]
    fn other_tools_are_named() {
        let was = baseline(&[]).tools;
        assert_eq!(was.difference(&was), None);
        let is = Tools { rustc: "rustc 2".to_owned(), ..was.clone() };
        assert_eq!(was.difference(&is).as_deref(), Some("rustc 1, here rustc 2"));
    }
}
