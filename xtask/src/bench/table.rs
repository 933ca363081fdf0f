//! Tables for people: columns of text, for the terminal and as Markdown.

use super::rows::Rows;
use super::targets::{Judged, Measure, Target, Targets, Verdict};
use std::fmt::Write as _;

/// A table: its columns, and rows of as many cells.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Table {
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// For the terminal: numbers to the right, an empty line before each row whose first cell says something.
    pub(crate) fn text(&self) -> String {
        let head: Vec<String> = self.head.iter().map(|&name| name.to_owned()).collect();
        let all = || std::iter::once(&head).chain(&self.rows);
        let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let mut text = String::new();
        for row in all() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if self.is_number(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// For documents.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(self.head.iter().map(|&name| name.to_owned()).collect());
        text.push_str(&line(
            (0..self.head.len()).map(|column| if self.is_number(column) { "---:" } else { "---" }.to_owned()).collect(),
        ));
        for row in &self.rows {
            text.push_str(&line(row.iter().map(|cell| cell.replace('|', "\\|")).collect()));
        }
        text
    }

    fn is_number(&self, column: usize) -> bool {
        ["figure", "base", "to base", "peer's", "faster", "found", "without", "holdoff", "best other"]
            .contains(&self.head[column])
    }
}

/// One line for each of our figures: beside the base of its work and the best peer, with what is aimed at.
pub(crate) fn works(lang: &str, rows: &Rows, targets: &Targets, judged: &[Judged]) -> Table {
    let head = vec!["work", "ours", "figure", "base", "to base", "best peer", "peer's", "faster", "target", "verdict"];
    let mut table = Table { head, rows: Vec::new() };
    for work in rows.works() {
        let has = |figure: &&str| rows.of(work).any(|row| row.figures.contains_key(*figure));
        let figures: Vec<&str> = FIGURES.into_iter().filter(has).collect();
        for figure in figures.iter().copied() {
            let mut label =
                if figures.first() == Some(&figure) { work.to_owned() } else { format!("{work}, {figure}") };
            if figure == "instructions" && figures.len() == 1 {
                label.push_str(", instructions");
            }
            for row in rows.of(work).filter(|row| !is_base(&row.who) && !targets.is_peer(lang, &row.who)) {
                let Some(&ours) = row.figures.get(figure) else { continue };
                let base = base(lang, rows, targets, work, figure);
                let peer = best_peer(lang, rows, targets, work, figure);
                let of_base =
                    |show: fn(f64, f64) -> String| base.map_or_else(String::new, |(_, base)| show(base, ours));
                let of_peer =
                    |show: fn(f64, f64) -> String| peer.map_or_else(String::new, |(_, peer)| show(peer, ours));
                let mut cells = vec![
                    std::mem::take(&mut label),
                    row.who.clone(),
                    shown(ours, figure),
                    base.map_or_else(String::new, |(who, base)| format!("{who} {}", shown(base, figure))),
                    of_base(|base, ours| times(ours / base)),
                    peer.map_or_else(String::new, |(name, _)| name.to_owned()),
                    peer.map_or_else(String::new, |(_, peer)| shown(peer, figure)),
                    of_peer(|peer, ours| times(peer / ours)),
                ];
                let mine = judged.iter().filter(|judged| {
                    let part = &judged.part;
                    part.lang == lang && part.work == work && part.who == row.who && part.figure == figure
                });
                let mut verdicts: Vec<[String; 2]> =
                    mine.map(|judged| [limit(judged), judged.verdict.word().to_owned()]).collect();
                if verdicts.is_empty() {
                    verdicts.push([String::new(), String::new()]);
                }
                for verdict in verdicts {
                    cells.resize(8, String::new());
                    cells.extend(verdict);
                    table.rows.push(std::mem::take(&mut cells));
                }
            }
        }
    }
    table
}

/// Every target in the order of the list, and under each its promises with what was found.
pub(crate) fn targets(all: &[(&Target, Vec<Judged>)]) -> Table {
    let mut table = Table { head: vec!["what", "target", "found", "verdict"], rows: Vec::new() };
    for (target, parts) in all {
        let verdict = verdict(parts).word().to_owned();
        table.rows.push(vec![target.what.clone(), target.wanted.clone(), String::new(), verdict]);
        table.rows.extend(
            parts
                .iter()
                .map(|judged| vec![String::new(), promise(judged), found(judged), judged.verdict.word().to_owned()]),
        );
    }
    table
}

/// The same for the terminal, where a column as wide as the longest target would leave none for the rest.
pub(crate) fn targets_text(all: &[(&Target, Vec<Judged>)]) -> String {
    let width =
        all.iter().flat_map(|(_, parts)| parts).map(|judged| promise(judged).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (target, parts) in all {
        let _ = writeln!(text, "{:<6}  {}: {}", verdict(parts).word(), target.what.replace('`', ""), target.wanted);
        for judged in parts {
            let _ = writeln!(
                text,
                "          {:<width$}  {:>12}  {}",
                promise(judged),
                found(judged),
                judged.verdict.word()
            );
        }
    }
    text
}

/// A target is met when all its promises are.
fn verdict(parts: &[Judged]) -> Verdict {
    let met = parts.iter().all(|judged| judged.verdict == Verdict::Met);
    if met { Verdict::Met } else { Verdict::Missed }
}

/// Figures that have lines of their own.
pub(crate) const FIGURES: [&str; 4] = ["ns", "ms", "instructions", "bytes"];

/// True for a row that shows how little is possible: the base itself, another floor, a loop written by hand.
pub(crate) fn is_base(who: &str) -> bool {
    ["floor", "bare", "by hand", "a call"]
        .iter()
        .any(|name| who.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ' '])))
}

/// The base that a work is compared with: the base of its targets, else the floor, else the call without anything around it.
pub(crate) fn base(
    lang: &str,
    rows: &Rows,
    targets: &Targets,
    work: &str,
    figure: &str,
) -> Option<(&'static str, f64)> {
    let parts = targets.targets.iter().flat_map(|target| &target.parts);
    let of_work = parts.filter(|part| part.lang == lang && part.work == work && part.measure != Measure::AtMost);
    let wanted: Vec<&str> = of_work.map(|part| part.than.as_str()).collect();
    let mut bases = ["floor", "bare"];
    bases.sort_by_key(|base| !wanted.contains(base));
    bases.into_iter().find_map(|who| rows.get(work, who, figure).map(|base| (who, base)))
}

/// The peer with the least.
pub(crate) fn best_peer<'a>(
    lang: &str,
    rows: &'a Rows,
    targets: &Targets,
    work: &'a str,
    figure: &str,
) -> Option<(&'a str, f64)> {
    let peers = rows.of(work).filter(|row| targets.is_peer(lang, &row.who));
    let figures = peers.filter_map(|row| Some((row.who.as_str(), *row.figures.get(figure)?)));
    figures.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// A promise in words, with the work and who does it.
pub(crate) fn promise(judged: &Judged) -> String {
    format!("{}: {} {}", judged.part.work, judged.part.who, limit(judged))
}

/// The measured value, in the unit of the promise.
pub(crate) fn found(judged: &Judged) -> String {
    judged.value.map_or_else(|| "not measured".to_owned(), |value| in_unit(value, judged))
}

/// The limit in words.
fn limit(judged: &Judged) -> String {
    let part = &judged.part;
    let than = match &part.than_work {
        Some(work) if part.than == part.who => work.clone(),
        Some(work) => format!("{} of {work}", part.than),
        None => part.than.clone(),
    };
    let limit = in_unit(part.limit, judged);
    let figure = if part.figure == "ns" || part.measure == Measure::AtMost { "" } else { &format!("{} ", part.figure) };
    match part.measure {
        Measure::Ratio => format!("{figure}<= {limit} {than}"),
        Measure::Faster => format!(">= {limit} faster than {than}"),
        Measure::Over => format!("<= {than} {limit}"),
        Measure::AtMost => format!("<= {limit}"),
    }
}

fn in_unit(value: f64, judged: &Judged) -> String {
    match judged.part.measure {
        Measure::Ratio | Measure::Faster => times(value),
        Measure::Over => format!("{}{}", if value < 0.0 { "" } else { "+" }, shown(value, &judged.part.figure)),
        Measure::AtMost if judged.part.figure == "instructions" => format!("{value:.0} instructions"),
        Measure::AtMost => shown(value, &judged.part.figure),
    }
}

/// A ratio, with as many digits as say something.
pub(crate) fn times(ratio: f64) -> String {
    match ratio.abs() {
        size if size < 9.995 => format!("{ratio:.2}x"),
        size if size < 99.95 => format!("{ratio:.1}x"),
        _ => format!("{ratio:.0}x"),
    }
}

/// A figure with its unit; of instructions the number alone.
pub(crate) fn shown(value: f64, figure: &str) -> String {
    let size = value.abs();
    match figure {
        "ns" if size < 100.0 => format!("{value:.1} ns"),
        "ns" if size < 10_000.0 => format!("{value:.0} ns"),
        "ns" if size < 10_000_000.0 => format!("{:.1} µs", value / 1e3),
        "ns" => format!("{:.1} ms", value / 1e6),
        "bytes" if size < 100.0 && value.fract() != 0.0 => format!("{value:.1} B"),
        "bytes" if size < 10_000.0 => format!("{value:.0} B"),
        "bytes" => format!("{:.1} KB", value / 1e3),
        "instructions" => format!("{value:.0}"),
        "ms" => format!("{value:.1} ms"),
        unit => format!("{value} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::rows;
    use super::super::targets::{Results, tests::targets as made_up};
    use super::*;
    use anyhow::Result;

    #[test]
    fn a_line_for_each_of_ours_and_one_more_for_each_promise() -> Result<()> {
        let list = [
            ("8 delays", "backon", 126.0),
            ("8 delays", "floor", 40.0),
            ("8 delays", "retry", 42.0),
            ("8 delays", "schedule", 44.0),
            ("8 delays", "retry crate", 180.0),
        ];
        let results = Results::from([("rust".to_owned(), rows(&list))]);
        let targets = made_up()?;
        let judged: Vec<Judged> = targets.judge(&results).into_iter().flat_map(|(_, parts)| parts).collect();
        let got = works("rust", &results["rust"], &targets, &judged).text();
        let want = "\
work      ours       figure     base  to base  best peer  peer's  faster  target                    verdict
8 delays  retry     42.0 ns  floor 40.0 ns    1.05x  backon     126 ns   3.00x  <= 1.20x floor            met
                                                                          >= 2.00x faster than backon  met
          schedule  44.0 ns  floor 40.0 ns    1.10x  backon     126 ns   2.86x
";
        let squeeze = |text: &str| {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(squeeze(&got), squeeze(want));
        let lines: Vec<&str> = got.lines().collect();
        let column = |line: &str, word: &str| line.find(word);
        assert_eq!(column(lines[0], "target"), column(lines[2], ">= 2"));
        Ok(())
    }

    #[test]
    fn the_block_of_targets_says_what_was_not_measured() -> Result<()> {
        let results =
            Results::from([("rust".to_owned(), rows(&[("8 delays", "floor", 40.0), ("8 delays", "retry", 42.0)]))]);
        let targets_of = made_up()?;
        let table = targets(&targets_of.judge(&results));
        assert_eq!(table.rows[0], ["delays", "1.2x the floor, 2x backon", "", "missed"]);
        assert_eq!(table.rows[1], ["", "8 delays: retry <= 1.20x floor", "1.05x", "met"]);
        assert_eq!(table.rows[2], ["", "8 delays: retry >= 2.00x faster than backon", "not measured", "missed"]);
        assert!(
            table.markdown().starts_with("| what | target | found | verdict |\n| --- | --- | ---: | --- |\n| delays |")
        );
        Ok(())
    }

    #[test]
    fn figures_have_units_and_no_more_digits_than_they_deserve() {
        let cases = [
            (4.56, "ns", "4.6 ns"),
            (1234.0, "ns", "1234 ns"),
            (17_713.0, "ns", "17.7 µs"),
            (25.3, "bytes", "25.3 B"),
            (40.0, "bytes", "40 B"),
            (221_000.0, "bytes", "221.0 KB"),
            (72.0, "instructions", "72"),
            (8.14, "ms", "8.1 ms"),
        ];
        for (value, figure, want) in cases {
            assert_eq!(shown(value, figure), want);
        }
        assert_eq!([times(1.2), times(27.31), times(320.4)], ["1.20x", "27.3x", "320x"]);
    }
}
