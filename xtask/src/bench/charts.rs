//! Drawings of the results: bars beside the peers, and curves from a thousand entries to ten million.
//!
//! They are SVG on white, so that they are readable on a dark page too. Axes are logarithmic: what is compared differs by
//! a hundred times, and on a linear axis everything but the slowest peer is a line.

use super::rows::Rows;
use super::table::{self, is_base, shown, times};
use super::targets::{self, Results, Targets};
use crate::shell;
use anyhow::{Context as _, Result};
use plotters::prelude::*;
use std::fs;

mod bars;
mod curves;

const OURS: RGBColor = RGBColor(29, 78, 216);
const BASE: RGBColor = RGBColor(75, 85, 99);
const PEER: RGBColor = RGBColor(203, 213, 225);
const TEXT: RGBColor = RGBColor(17, 24, 39);
const FAINT: RGBColor = RGBColor(107, 114, 128);
const LINE: RGBColor = RGBColor(229, 231, 235);

/// Whose bar or curve it is, which is its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Ours,
    Base,
    Peer,
}

impl Kind {
    fn of(lang: &str, who: &str, targets: &Targets) -> Self {
        if is_base(who) {
            Self::Base
        } else if targets.is_peer(lang, who) {
            Self::Peer
        } else {
            Self::Ours
        }
    }

    const fn color(self) -> RGBColor {
        match self {
            Self::Ours => OURS,
            Self::Base => BASE,
            Self::Peer => PEER,
        }
    }
}

/// Draws the results of some languages into docs/charts.
pub(crate) fn draw(measured: &[String], results: &Results, targets: &Targets) -> Result<()> {
    for lang in measured {
        for (name, svg) in of(lang, results, targets)? {
            write(&name, &svg)?;
        }
    }
    Ok(())
}

/// The drawings of a language: the files' names without `.svg`, and what is in them.
pub(crate) fn of(lang: &str, results: &Results, targets: &Targets) -> Result<Vec<(String, String)>> {
    let Some(rows) = results.get(lang) else { return Ok(Vec::new()) };
    let mut drawings = Vec::new();
    for chart in targets.bars.iter().filter(|chart| chart.lang == lang) {
        let panels = bars::panels(chart, rows, targets);
        if !panels.is_empty() {
            drawings.push((chart.name.clone(), bars::draw(&chart.title, &panels)?));
        }
    }
    for chart in targets.curves.iter().filter(|chart| chart.lang == lang) {
        let panels = curves::panels(chart, rows, targets);
        if !panels.is_empty() {
            drawings.push((chart.name.clone(), curves::draw(&chart.title, &panels)?));
        }
    }
    Ok(drawings)
}

fn write(name: &str, svg: &str) -> Result<()> {
    let folder = shell::root().join("docs/charts");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.svg"));
    fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))
}

/// Text of a size and a colour.
fn style(size: u32, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&color)
}

/// The same, bold.
fn bold(size: u32, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size, FontStyle::Bold).into_font().color(&color)
}

/// The powers of ten around some figures, for an axis on which the least still has a bar.
fn decades(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) =
        figures.fold((f64::MAX, f64::MIN), |(least, most), figure| (least.min(figure), most.max(figure)));
    (10_f64.powf((least * 0.7).log10().floor()), most * 1.15)
}

/// A mark of an axis.
fn tick(value: f64, figure: &str) -> String {
    match figure {
        "ns" if value < 999.0 => format!("{value} ns"),
        "ns" if value < 999_999.0 => format!("{} µs", value / 1e3),
        "ns" => format!("{} ms", value / 1e6),
        "ms" => format!("{value} ms"),
        _ if value < 999.0 => format!("{value} B"),
        _ => format!("{} KB", value / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::rows;
    use super::super::targets::tests::targets;
    use super::*;

    #[test]
    fn each_who_has_a_bar_and_each_family_a_curve() -> Result<()> {
        let mut list = vec![("8 delays", "floor", 10.0), ("8 delays", "retry", 12.0), ("8 delays", "backon", 120.0)];
        let works = ["wheel 1e3 hold", "wheel 1e4 hold", "wheel 1e5 hold"];
        list.extend(works.iter().flat_map(|work| [(*work, "floor", 20.0), (*work, "wheel", 30.0)]));
        let results = Results::from([("rust".to_owned(), rows(&list))]);
        let drawn = of("rust", &results, &targets()?)?;
        let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["rust", "wheel"]);
        for text in ["Rust", "8 delays", "floor", "12.0 ns  (1.20x)", "backon", "100 ns"] {
            assert!(drawn[0].1.lines().any(|line| line == text), "{text}");
        }
        for text in ["Timers", "wheel  30.0 ns", "1e5"] {
            assert!(drawn[1].1.lines().any(|line| line == text), "{text}");
        }
        assert!(of("python", &results, &targets()?)?.is_empty());
        Ok(())
    }
}
