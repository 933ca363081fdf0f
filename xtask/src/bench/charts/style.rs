//! Colours, text and axes of the drawings.

use crate::bench::table::is_base;
use crate::bench::targets::Targets;
use plotters::prelude::*;

pub(super) const OURS: RGBColor = RGBColor(29, 78, 216);
pub(super) const BASE: RGBColor = RGBColor(75, 85, 99);
pub(super) const PEER: RGBColor = RGBColor(203, 213, 225);
pub(super) const TEXT: RGBColor = RGBColor(17, 24, 39);
pub(super) const FAINT: RGBColor = RGBColor(107, 114, 128);
pub(super) const LINE: RGBColor = RGBColor(229, 231, 235);

/// The owner of a bar or curve, which decides its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Ours,
    Base,
    Peer,
}

impl Kind {
    pub(super) fn of(lang: &str, who: &str, targets: &Targets) -> Self {
        if is_base(who) {
            Self::Base
        } else if targets.is_peer(lang, who) {
            Self::Peer
        } else {
            Self::Ours
        }
    }

    pub(super) const fn color(self) -> RGBColor {
        match self {
            Self::Ours => OURS,
            Self::Base => BASE,
            Self::Peer => PEER,
        }
    }
}

/// Text of a size and a colour.
pub(super) fn style(size: u32, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&color)
}

/// The same, bold.
pub(super) fn bold(size: u32, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size, FontStyle::Bold).into_font().color(&color)
}

/// The powers of ten around some figures, for an axis on which the least still has a bar.
pub(super) fn decades(figures: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) =
        figures.fold((f64::MAX, f64::MIN), |(least, most), figure| (least.min(figure), most.max(figure)));
    (10_f64.powf((least * 0.7).log10().floor()), most * 1.15)
}

/// A mark of an axis.
pub(super) fn tick(value: f64, figure: &str) -> String {
    match figure {
        "ns" if value < 999.0 => format!("{value} ns"),
        "ns" if value < 999_999.0 => format!("{} µs", value / 1e3),
        "ns" => format!("{} ms", value / 1e6),
        "ms" => format!("{value} ms"),
        _ if value < 999.0 => format!("{value} B"),
        _ => format!("{} KB", value / 1e3),
    }
}
