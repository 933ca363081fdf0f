//! Drawings of the results: bars beside the peers, and curves from a thousand entries to ten million.
//!
//! They are SVG on white, so that they are readable on a dark page too. Axes are logarithmic: what is compared differs by
//! a hundred times, and on a linear axis everything but the slowest peer is a line.

use super::rows::Rows;
use super::table::{is_base, shown, times};
use super::targets::{Results, Targets};
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
        let Some(rows) = results.get(lang) else { continue };
        let panels = bars::panels(lang, rows, targets);
        if !panels.is_empty() {
            write(lang, &bars::draw(title(lang), &panels)?)?;
        }
        for chart in curves::charts(lang, rows, targets) {
            write(&chart.name, &curves::draw(&chart)?)?;
        }
    }
    Ok(())
}

/// What [`draw`] draws for a language: names without `.svg`.
pub(crate) fn names(lang: &str, results: &Results, targets: &Targets) -> Vec<String> {
    let Some(rows) = results.get(lang) else { return Vec::new() };
    let bars = (!bars::panels(lang, rows, targets).is_empty()).then(|| lang.to_owned());
    bars.into_iter().chain(curves::charts(lang, rows, targets).into_iter().map(|chart| chart.name)).collect()
}

/// What is over a language's bars.
fn title(lang: &str) -> &'static str {
    match lang {
        "rust" => "Rust: time of one operation",
        "python" => "Python: time of one operation",
        "js" => "JavaScript: time of one operation",
        "c" => "C: time of one operation",
        _ => "Sizes",
    }
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
