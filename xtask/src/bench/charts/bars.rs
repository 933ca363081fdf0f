//! One bar for each who of a work, from fast to slow, on one logarithmic axis for all the works of a language.

use super::style::*;
use crate::bench::rows::Rows;
use crate::bench::table::{self, shown, times};
use crate::bench::targets::{self, Targets};
use anyhow::Result;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The bars of one work.
#[derive(Debug)]
pub(super) struct Panel {
    title: String,
    /// The figure's name.
    figure: &'static str,
    bars: Vec<Bar>,
}

#[derive(Debug)]
struct Bar {
    who: String,
    figure: f64,
    /// The figure with its unit and how it is to the base.
    label: String,
    kind: Kind,
}

const WIDTH: u32 = 920;
const LABELS: u32 = 190;
const FIGURES: u32 = 150;
const HEAD: u32 = 74;
const FOOT: u32 = 34;
const BAR: u32 = 21;
const TITLE: u32 = 34;

/// The works of a drawing, as far as they were measured.
pub(super) fn panels(chart: &targets::Bars, rows: &Rows, targets: &Targets) -> Vec<Panel> {
    chart.works.iter().filter_map(|work| panel(&chart.lang, work, rows, targets)).collect()
}

fn panel(lang: &str, work: &str, rows: &Rows, targets: &Targets) -> Option<Panel> {
    let has = |figure: &&str| rows.of(work).any(|row| row.figures.contains_key(*figure));
    let figure = table::FIGURES.into_iter().find(has)?;
    let base = table::base(lang, rows, targets, work, figure).map(|(_, base)| base);
    let mut bars: Vec<Bar> = rows
        .of(work)
        .filter_map(|row| {
            let value = *row.figures.get(figure).filter(|value| **value > 0.0)?;
            let ratio = base.map_or_else(String::new, |base| format!("  ({})", times(value / base)));
            let label = format!("{}{ratio}", shown(value, figure));
            Some(Bar { who: row.who.clone(), figure: value, label, kind: Kind::of(lang, &row.who, targets) })
        })
        .collect();
    bars.sort_by(|a, b| a.figure.total_cmp(&b.figure));
    Some(Panel { title: work.to_owned(), figure, bars })
}

/// The drawing as SVG.
pub(super) fn draw(title: &str, panels: &[Panel]) -> Result<String> {
    let height = |panel: &Panel| TITLE + BAR * u32::try_from(panel.bars.len()).unwrap_or(0);
    let all = HEAD + FOOT + panels.iter().map(height).sum::<u32>();
    let (low, high) = decades(panels.iter().flat_map(|panel| &panel.bars).map(|bar| bar.figure));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, all)).into_drawing_area();
        root.fill(&WHITE)?;
        head(&root, title)?;
        let (_, mut rest) = root.split_vertically(HEAD);
        for (index, panel) in panels.iter().enumerate() {
            let last = index + 1 == panels.len();
            let (area, below) = rest.split_vertically(height(panel) + if last { FOOT } else { 0 });
            draw_panel(&area, panel, (low, high), last)?;
            rest = below;
        }
        root.present()?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn head(root: &Area<'_>, title: &str) -> Result<()> {
    root.draw(&Text::new(title.to_owned(), (16, 14), style(22, TEXT)))?;
    let mut x = 16;
    for (kind, label) in
        [(Kind::Ours, "holdoff"), (Kind::Base, "floor, or the bare call: the least possible"), (Kind::Peer, "others")]
    {
        root.draw(&Rectangle::new([(x, 47), (x + 12, 59)], kind.color().filled()))?;
        root.draw(&Text::new(label.to_owned(), (x + 18, 46), style(15, FAINT)))?;
        x += 48 + i32::try_from(label.len()).unwrap_or(0) * 7;
    }
    Ok(())
}

fn draw_panel(area: &Area<'_>, panel: &Panel, (low, high): (f64, f64), last: bool) -> Result<()> {
    let count = panel.bars.len() as f64;
    area.draw(&Text::new(panel.title.clone(), (16, 10), bold(17, TEXT)))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(TITLE)
        .margin_right(FIGURES)
        .set_label_area_size(LabelAreaPosition::Left, LABELS)
        .set_label_area_size(LabelAreaPosition::Bottom, if last { FOOT } else { 0 })
        .build_cartesian_2d((low..high).log_scale(), RangedCoordf64::from(count..0.0))?;
    let ticks = |value: &f64| tick(*value, panel.figure);
    let mut mesh = chart.configure_mesh();
    mesh.disable_y_mesh().disable_y_axis().axis_style(LINE).bold_line_style(LINE).light_line_style(WHITE).x_labels(8);
    mesh.x_label_style(style(14, FAINT)).x_label_formatter(&ticks);
    if !last {
        mesh.x_labels(8).disable_x_axis();
    }
    mesh.draw()?;
    for (index, bar) in panel.bars.iter().enumerate() {
        let (top, bottom) = (index as f64 + 0.12, index as f64 + 0.88);
        chart.draw_series(std::iter::once(Rectangle::new(
            [(low, top), (bar.figure, bottom)],
            bar.kind.color().filled(),
        )))?;
        let (_, y) = chart.backend_coord(&(low, index as f64 + 0.5));
        let (x, _) = chart.backend_coord(&(bar.figure, 0.0));
        let color = if bar.kind == Kind::Ours { OURS } else { TEXT };
        let font = if bar.kind == Kind::Ours { bold(15, color) } else { style(15, color) };
        let root = area.strip_coord_spec();
        let (left, top) = root.get_base_pixel();
        let at = |x: i32| (x - left, y - top);
        let right = Pos::new(HPos::Right, VPos::Center);
        root.draw(&Text::new(bar.who.clone(), at(left + i32::try_from(LABELS)? - 10), font.clone().pos(right)))?;
        root.draw(&Text::new(bar.label.clone(), at(x + 7), font.pos(Pos::new(HPos::Left, VPos::Center))))?;
    }
    Ok(())
}
