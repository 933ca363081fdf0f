//! The targets, as data in benches/targets.json, and the verdicts on them.

use super::rows::{Row, Rows};
use crate::shell::say;
use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;

/// Where a figure lies beside its limit when a second look could change the verdict.
const CLOSE: f64 = 0.08;

/// The file.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Targets {
    /// By language, who is a peer; everybody else is ours or the base.
    pub(crate) peers: BTreeMap<String, Vec<String>>,
    /// The drawings of works, a bar for each who.
    pub(crate) bars: Vec<Bars>,
    /// The drawings of works that differ in the number of entries, a curve for each who.
    pub(crate) curves: Vec<Curves>,
    /// In the order of the table.
    pub(crate) targets: Vec<Target>,
}

/// A drawing in docs/internals/charts.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bars {
    /// The file's name.
    pub(crate) name: String,
    /// The results it is drawn from.
    pub(crate) lang: String,
    pub(crate) title: String,
    /// The drawings, as far as their figures were measured.
    pub(crate) works: Vec<String>,
}

/// A drawing in docs/internals/charts.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Curves {
    /// The file's name.
    pub(crate) name: String,
    /// The results it is drawn from.
    pub(crate) lang: String,
    pub(crate) title: String,
    /// The works' name without the number: `wheel hold` for `wheel 1e4 hold` and so on.
    pub(crate) family: String,
}

/// One line of the table: several promises about one thing.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    /// The category of the target.
    pub(crate) what: String,
    /// The target in words.
    pub(crate) wanted: String,
    /// The comparisons that it consists of.
    pub(crate) parts: Vec<Comparison>,
}

/// One promise.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Comparison {
    /// The results it is in: `rust`, `python`, `js`, `c` or `sizes`.
    pub(crate) lang: String,
    pub(crate) work: String,
    pub(crate) who: String,
    /// The figure's name.
    #[serde(default = "nanoseconds")]
    pub(crate) figure: String,
    pub(crate) measure: Measure,
    /// The row that it is compared with, unless the figure is taken as it is.
    #[serde(default = "floor")]
    pub(crate) than: String,
    /// The work it is compared with, when that is another one.
    pub(crate) than_work: Option<String>,
    pub(crate) limit: f64,
    /// If it is missed: what stands in the way.
    pub(crate) why: Option<String>,
}

/// How a figure is judged.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Measure {
    /// At most so many times what it is compared with.
    Ratio,
    /// At least so many times faster than what it is compared with.
    Faster,
    /// At most so much more than what it is compared with.
    Over,
    /// At most so much.
    AtMost,
}

/// The verdict on a promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Met,
    Missed,
}

impl Verdict {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
        }
    }
}

/// A promise and what was found.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) part: Comparison,
    /// In the unit of the limit; none when nobody measured it.
    pub(crate) value: Option<f64>,
    /// How far from its limit the figure is that was measured, as a part of it.
    distance: Option<f64>,
    pub(crate) verdict: Verdict,
}

impl Judged {
    /// True if measuring again could change the verdict. Counts and sizes come out the same each time.
    pub(crate) fn is_close(&self) -> bool {
        let timed = matches!(self.part.figure.as_str(), "ns" | "ms");
        timed && self.distance.is_some_and(|distance| distance.abs() <= CLOSE)
    }
}

/// The results by name: `rust`, `python`, `js`, `c`, `sizes`.
pub(crate) type Results = BTreeMap<String, Rows>;

impl Targets {
    /// Reads the checked-in file.
    pub(crate) fn read() -> Result<Self> {
        let path = crate::shell::root().join("benches/targets.json");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).context("in benches/targets.json")
    }

    /// True for a peer: a package by its name, or a use of it, as in `governor, no clock`.
    pub(crate) fn is_peer(&self, lang: &str, who: &str) -> bool {
        let uses = |name: &String| {
            who.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ' ']))
        };
        self.peers.get(lang).is_some_and(|names| names.iter().any(uses))
    }

    /// Each target with its parts, as far as they belong to the results that are there.
    pub(crate) fn judge(&self, results: &Results) -> Vec<(&Target, Vec<Judged>)> {
        let judged = self.targets.iter().map(|target| {
            let parts = target.parts.iter().filter(|part| results.contains_key(&part.lang));
            (target, parts.map(|part| judge(part, &results[&part.lang])).collect::<Vec<_>>())
        });
        judged.filter(|(_, parts)| !parts.is_empty()).collect()
    }

    /// The names in targets that no measurement has, each with the nearest name. Where a whole language is missing there is
    /// nothing to compare with: its targets are missed.
    pub(crate) fn unknown(&self, results: &Results) -> Vec<String> {
        let mut problems = Vec::new();
        for part in self.targets.iter().flat_map(|target| &target.parts) {
            let Some(rows) = results.get(&part.lang).filter(|rows| !rows.0.is_empty()) else { continue };
            let compared = (part.measure != Measure::AtMost).then_some(part.than.as_str());
            let other = part.than_work.as_deref().unwrap_or(&part.work);
            for (work, who) in
                [Some((part.work.as_str(), part.who.as_str())), compared.map(|who| (other, who))].into_iter().flatten()
            {
                let works = rows.works();
                if !works.contains(&work) {
                    problems.push(unknown("work", work, &part.lang, &works));
                    continue;
                }
                let names: Vec<&str> = rows.of(work).map(|row| row.who.as_str()).collect();
                if !names.contains(&who) {
                    problems.push(unknown(&format!("who of `{work}`"), who, &part.lang, &names));
                }
            }
        }
        problems.sort();
        problems.dedup();
        problems
    }
}

/// Prints what packages and programs weigh beside their bars. Fails where a bar is missed without a reason.
pub(crate) fn weigh(figures: impl Iterator<Item = (String, String, f64)>) -> Result<()> {
    let row = |(work, who, bytes)| Row { work, who, figures: BTreeMap::from([("bytes".to_owned(), bytes)]) };
    let rows = Rows(figures.map(row).collect());
    let targets = Targets::read()?;
    let is_weight = |part: &&Comparison| part.lang == "sizes";
    let mut missed = Vec::new();
    for part in targets.targets.iter().flat_map(|target| &target.parts).filter(is_weight) {
        let judged = judge(part, &rows);
        let kilobytes = |bytes: f64| format!("{:.1} KB", bytes / 1000.0);
        let weight = judged.value.map_or_else(|| "not weighed".to_owned(), kilobytes);
        let (bar, verdict) = (kilobytes(part.limit), judged.verdict.word());
        say!("  {}, {}: {weight} (bar {bar}): {verdict}", part.work, part.who);
        if judged.verdict == Verdict::Missed && part.why.is_none() {
            missed.push(format!("{}, {}", part.work, part.who));
        }
    }
    if missed.is_empty() {
        return Ok(());
    }
    bail!("too heavy, and benches/targets.json has no reason: {}", missed.join("; "))
}

fn judge(part: &Comparison, rows: &Rows) -> Judged {
    let value = value(part, rows);
    let met = value.is_some_and(|value| match part.measure {
        Measure::Faster => value >= part.limit,
        Measure::Ratio | Measure::Over | Measure::AtMost => value <= part.limit,
    });
    // The cost over a base is a small difference of figures that are each as noisy as any.
    let over = if part.measure == Measure::Over { base(part, rows) } else { Some(0.0) };
    let distance = value.zip(over).map(|(value, over)| (value + over) / (part.limit + over) - 1.0);
    Judged { part: part.clone(), value, distance, verdict: if met { Verdict::Met } else { Verdict::Missed } }
}

fn value(part: &Comparison, rows: &Rows) -> Option<f64> {
    let ours = rows.get(&part.work, &part.who, &part.figure)?;
    let base = || base(part, rows);
    match part.measure {
        Measure::Ratio => Some(ours / base()?),
        Measure::Faster => Some(base()? / ours),
        Measure::Over => Some(ours - base()?),
        Measure::AtMost => Some(ours),
    }
}

fn base(part: &Comparison, rows: &Rows) -> Option<f64> {
    rows.get(part.than_work.as_deref().unwrap_or(&part.work), &part.than, &part.figure)
}

fn unknown(what: &str, name: &str, lang: &str, known: &[&str]) -> String {
    let nearest = known.iter().min_by_key(|known| distance(known, name));
    let nearest = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
    format!("benches/targets.json: nobody measured the {what} `{name}` of {lang}{nearest}")
}

/// How many letters have to be added, removed or replaced (Wagner and Fischer 1974).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn nanoseconds() -> String {
    "ns".to_owned()
}

fn floor() -> String {
    "floor".to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::rows::tests::rows;
    use super::*;

    /// Made-up targets.
    pub(crate) fn targets() -> Result<Targets> {
        let text = r#"{
          "peers": { "rust": ["backon", "retry crate"] },
          "bars": [{ "name": "rust", "lang": "rust", "title": "Rust", "works": ["8 delays"] }],
          "curves": [{ "name": "wheel", "lang": "rust", "title": "Timers", "family": "wheel hold" }],
          "targets": [
            { "what": "delays", "wanted": "1.2x the floor, 2x backon", "parts": [
              { "lang": "rust", "work": "8 delays", "who": "retry", "measure": "ratio", "limit": 1.2 },
              { "lang": "rust", "work": "8 delays", "who": "retry", "measure": "faster", "than": "backon", "limit": 2,
                "why": "backon got better." } ] },
            { "what": "imports", "wanted": "4 ms", "parts": [
              { "lang": "python", "work": "import", "who": "holdoff", "figure": "ms", "measure": "at_most", "limit": 4 } ] }
          ] }"#;
        Ok(serde_json::from_str(text)?)
    }

    fn verdicts(list: &[(&str, &str, f64)]) -> Result<Vec<(Option<f64>, Verdict, bool)>> {
        let results = Results::from([("rust".to_owned(), rows(list))]);
        let targets = targets()?;
        let judged = targets.judge(&results).into_iter().flat_map(|(_, parts)| parts);
        Ok(judged.map(|judged| (judged.value, judged.verdict, judged.is_close())).collect())
    }

    #[test]
    fn at_the_limit_is_met() -> Result<()> {
        let got = verdicts(&[("8 delays", "floor", 5.0), ("8 delays", "retry", 6.0), ("8 delays", "backon", 24.0)])?;
        assert_eq!(got, [(Some(1.2), Verdict::Met, true), (Some(4.0), Verdict::Met, false)]);
        let got = verdicts(&[("8 delays", "floor", 5.0), ("8 delays", "retry", 6.4), ("8 delays", "backon", 12.0)])?;
        assert_eq!(got, [(Some(1.28), Verdict::Missed, true), (Some(1.875), Verdict::Missed, true)]);
        Ok(())
    }

    #[test]
    fn what_nobody_measured_is_missed() -> Result<()> {
        assert_eq!(verdicts(&[])?, [(None, Verdict::Missed, false), (None, Verdict::Missed, false)]);
        Ok(())
    }

    #[test]
    fn a_little_over_a_large_base_is_close() -> Result<()> {
        let mut targets = targets()?;
        let part = &mut targets.targets[0].parts[0];
        (part.measure, part.limit) = (Measure::Over, 2.0);
        for (ours, close) in [(101.0, true), (94.1, true), (110.0, true), (93.0, false), (111.0, false)] {
            let judged = judge(
                &targets.targets[0].parts[0],
                &rows(&[("8 delays", "floor", 100.0), ("8 delays", "retry", ours)]),
            );
            assert_eq!(judged.is_close(), close, "{ours}");
        }
        Ok(())
    }

    #[test]
    fn only_what_was_run_is_judged() -> Result<()> {
        let results = Results::from([("js".to_owned(), Rows::default())]);
        assert!(targets()?.judge(&results).is_empty());
        Ok(())
    }

    #[test]
    fn a_wrong_name_is_an_error_with_the_nearest() -> Result<()> {
        let results = Results::from([("rust".to_owned(), rows(&[("8 delay", "retry", 1.0)]))]);
        let problem = targets()?.unknown(&results).join("\n");
        assert!(problem.contains("the work `8 delays` of rust; did you mean `8 delay`?"), "{problem}");
        let list = [("8 delays", "floor", 5.0), ("8 delays", "retry", 6.0), ("8 delays", "backoff", 12.0)];
        let results = Results::from([("rust".to_owned(), rows(&list))]);
        let problem = targets()?.unknown(&results).join("\n");
        assert!(problem.contains("who of `8 delays` `backon` of rust; did you mean `backoff`?"), "{problem}");
        Ok(())
    }

    #[test]
    fn a_use_of_a_package_is_a_peer_and_a_longer_name_is_not() -> Result<()> {
        let targets = targets()?;
        for (who, peer) in
            [("backon", true), ("backon, seeded", true), ("retry crate", true), ("retry", false), ("backons", false)]
        {
            assert_eq!(targets.is_peer("rust", who), peer, "{who}");
        }
        Ok(())
    }

    #[test]
    fn the_checked_in_targets_are_read() -> Result<()> {
        let targets = Targets::read()?;
        let langs = ["rust", "python", "js", "c", "sizes"];
        for target in &targets.targets {
            assert!(!target.parts.is_empty(), "{}", target.what);
            assert!(target.parts.iter().all(|part| langs.contains(&part.lang.as_str())), "{}", target.what);
        }
        Ok(())
    }
}
