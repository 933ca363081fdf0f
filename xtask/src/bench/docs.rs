//! docs/performance.md and docs/internals/performance.md: what is between two marks is written here, what is around them by a
//! person.

use super::results::Facts;
use super::targets::{Judged, Results, Target, Targets, Verdict};
use super::{public, table};
use crate::shell;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::fs;

/// Replaces the parts of the languages that were measured, and what is about all of them. `results` and `facts` are those
/// of every language that was ever measured.
pub(crate) fn refresh(measured: &[String], results: &Results, facts: &Facts, targets: &Targets) -> Result<()> {
    change("docs/performance.md", |text| replace(text, "asked", &public::table(results, targets).markdown()))?;
    change("docs/internals/performance.md", |text| internal(text, measured, results, facts, targets))
}

/// Writes a page with what a function makes of its text.
fn change(page: &str, text: impl FnOnce(&str) -> Result<String>) -> Result<()> {
    let path = shell::root().join(page);
    let old = fs::read_to_string(&path).with_context(|| format!("cannot read {page}"))?;
    fs::write(&path, text(&old).with_context(|| format!("in {page}"))?)?;
    Ok(())
}

/// The page with all targets, their misses, and the drawings of the languages that were measured.
fn internal(old: &str, measured: &[String], results: &Results, facts: &Facts, targets: &Targets) -> Result<String> {
    let judged = targets.judge(results);
    let mut text = replace(old, "targets", &table::targets(&judged).markdown())?;
    text = replace(&text, "misses", &misses(&judged))?;
    for lang in measured.iter().filter(|lang| results.contains_key(*lang)) {
        let machine = facts.get(lang).map(about).unwrap_or_default();
        text = replace(&text, lang, &format!("{}{machine}", charts(lang, results, targets)?))?;
    }
    Ok(text)
}

/// The drawings of a language.
fn charts(lang: &str, results: &Results, targets: &Targets) -> Result<String> {
    let drawings = super::charts::of(lang, results, targets)?;
    Ok(drawings.iter().map(|(name, _)| format!("![{name}](charts/{name}.svg)\n\n")).collect())
}

/// The machine in a sentence.
fn about(facts: &Map<String, Value>) -> String {
    let fact = |name: &str| facts.get(name).and_then(Value::as_str).unwrap_or("unknown");
    format!(
        "{}, {} cores, {}; {}, Node {}, {}, {}; commit {}, {}; pinned {}; rounds: {}.",
        fact("processor"),
        fact("cores"),
        fact("system"),
        fact("rustc"),
        fact("node"),
        fact("python"),
        fact("gcc"),
        fact("commit"),
        fact("day"),
        fact("pinned"),
        fact("rounds"),
    )
}

/// The missed targets, and what stands in the way.
fn misses(judged: &[(&Target, Vec<Judged>)]) -> String {
    let mut text = String::new();
    for (target, parts) in judged {
        for missed in parts.iter().filter(|judged| judged.verdict == Verdict::Missed) {
            let (promise, found) = (table::promise(missed), table::found(missed));
            let why = missed.part.why.as_deref().unwrap_or("Nobody has said yet what stands in the way.");
            let _ = writeln!(text, "- **{}**: {promise}; found {found}. {why}", target.what);
        }
    }
    if text.is_empty() { "None.\n".to_owned() } else { text }
}

/// The missed targets that nobody has explained.
pub(crate) fn unexplained(judged: &[(&Target, Vec<Judged>)]) -> Vec<String> {
    let missed = judged.iter().flat_map(|(_, parts)| parts).filter(|judged| judged.verdict == Verdict::Missed);
    missed.filter(|missed| missed.value.is_some() && missed.part.why.is_none()).map(table::promise).collect()
}

/// The text with another part between the marks of that name.
fn replace(text: &str, name: &str, part: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- bench: begin {name} -->"), format!("<!-- bench: end {name} -->"));
    let from = text.find(&begin).with_context(|| format!("no mark {begin}"))? + begin.len();
    let to = text.find(&end).with_context(|| format!("no mark {end}"))?;
    ensure!(from <= to, "the mark {end} is before its begin");
    Ok(format!("{}\n\n{}\n\n{}", &text[..from], part.trim_end(), &text[to..]))
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::rows;
    use super::super::targets::tests::targets;
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() -> Result<()> {
        let text = "a\n<!-- bench: begin rust -->\nold\n<!-- bench: end rust -->\nb\n";
        let want = "a\n<!-- bench: begin rust -->\n\nnew\n\n<!-- bench: end rust -->\nb\n";
        let got = replace(text, "rust", "new\n")?;
        assert_eq!(got, want);
        assert_eq!(replace(&got, "rust", "new\n")?, want);
        assert!(replace(text, "python", "new").is_err());
        Ok(())
    }

    #[test]
    fn a_miss_is_listed_with_its_reason_and_named_without_one() -> Result<()> {
        let list = [("8 delays", "floor", 5.0), ("8 delays", "retry", 7.0), ("8 delays", "backon", 12.0)];
        let results = Results::from([("rust".to_owned(), rows(&list))]);
        let targets = targets()?;
        let judged = targets.judge(&results);
        let text = misses(&judged);
        assert!(
            text.contains("- **delays**: 8 delays: retry >= 2.00x faster than backon; found 1.71x. backon got better."),
            "{text}"
        );
        assert_eq!(unexplained(&judged), ["8 delays: retry <= 1.20x floor"]);
        Ok(())
    }
}
