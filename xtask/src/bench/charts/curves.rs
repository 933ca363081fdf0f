//! The cost of one entry while there are more and more of them: nanoseconds and bytes, a curve for each library.

use super::style::*;
use crate::bench::rows::Rows;
use crate::bench::table::shown;
use crate::bench::targets::{self, Targets};
use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The curves of one figure.
#[derive(Debug)]
pub(super) struct Panel {
    title: &'static str,
    figure: &'static str,
    curves: Vec<Curve>,
}

#[derive(Debug)]
struct Curve {
    who: String,
    kind: Kind,
    /// Entries and figure, in order.
    points: Vec<(f64, f64)>,
}

const SIZE: (u32, u32) = (1160, 440);
const HEAD: u32 = 50;
const NAMES: u32 = 230;

/// The work without its number, and the number.
fn family(work: &str) -> Option<(String, f64)> {
    let words: Vec<&str> = work.split(' ').collect();
    let at =
        words.iter().position(|word| word.strip_prefix("1e").is_some_and(|digits| digits.parse::<u32>().is_ok()))?;
    let count = words[at].parse().ok()?;
    let rest: Vec<&str> = words[..at].iter().chain(&words[at + 1..]).copied().collect();
    Some((rest.join(" "), count))
}

/// A panel for each figure of the works of a family that has three sizes at least.
pub(super) fn panels(chart: &targets::Curves, rows: &Rows, targets: &Targets) -> Vec<Panel> {
    let panels = [("time", "ns"), ("memory", "bytes")].map(|(title, figure)| {
        let mut curves: Vec<Curve> = Vec::new();
        for row in &rows.0 {
            let Some((_, count)) = family(&row.work).filter(|(family, _)| *family == chart.family) else { continue };
            let Some(&value) = row.figures.get(figure).filter(|value| **value > 0.0) else { continue };
            match curves.iter_mut().find(|curve| curve.who == row.who) {
                Some(curve) => curve.points.push((count, value)),
                None => curves.push(Curve {
                    who: row.who.clone(),
                    kind: Kind::of(&chart.lang, &row.who, targets),
                    points: vec![(count, value)],
                }),
            }
        }
        curves.iter_mut().for_each(|curve| curve.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
        // Ours last, so that it lies over the others.
        curves.sort_by_key(|curve| curve.kind == Kind::Ours);
        Panel { title, figure, curves }
    });
    panels.into_iter().filter(|panel| panel.curves.iter().any(|curve| curve.points.len() > 2)).collect()
}

/// The drawing as SVG.
pub(super) fn draw(title: &str, panels: &[Panel]) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw(&Text::new(title.to_owned(), (16, 14), style(22, TEXT)))?;
        let (_, below) = root.split_vertically(HEAD);
        for (area, panel) in below.split_evenly((1, panels.len())).iter().zip(panels) {
            draw_panel(area, panel)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn draw_panel(area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, panel: &Panel) -> Result<()> {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let figures = || points().map(|point| point.1);
    let (low, high) = (figures().fold(f64::MAX, f64::min) * 0.6, figures().fold(f64::MIN, f64::max) * 1.4);
    let (least, most) = points().fold((f64::MAX, f64::MIN), |(a, b), point| (a.min(point.0), b.max(point.0)));
    area.draw(&Text::new(panel.title, (16, 2), bold(17, TEXT)))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(34)
        .margin_right(NAMES)
        .set_label_area_size(LabelAreaPosition::Left, 70)
        .set_label_area_size(LabelAreaPosition::Bottom, 40)
        .build_cartesian_2d((least..most).log_scale(), (low..high).log_scale())?;
    let ticks = |value: &f64| tick(*value, panel.figure);
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(LINE).bold_line_style(LINE).light_line_style(WHITE).label_style(style(14, FAINT));
    mesh.x_labels(5).y_labels(6).x_label_formatter(&|count| count_of(*count));
    mesh.y_label_formatter(&ticks);
    mesh.draw()?;
    let (left, top) = area.strip_coord_spec().get_base_pixel();
    let mut names = Vec::new();
    for curve in &panel.curves {
        let color = if curve.kind == Kind::Peer { RGBColor(148, 163, 184) } else { curve.kind.color() };
        let wide = color.stroke_width(if curve.kind == Kind::Ours { 3 } else { 2 });
        chart.draw_series(LineSeries::new(curve.points.iter().copied(), wide))?;
        chart.draw_series(curve.points.iter().map(|point| Circle::new(*point, 3, color.filled())))?;
        if let Some(last) = curve.points.last() {
            let (x, y) = chart.backend_coord(last);
            let text = format!("{}  {}", curve.who, shown(last.1, panel.figure));
            let color = if curve.kind == Kind::Peer { FAINT } else { curve.kind.color() };
            names.push(Name { from: (x - left, y - top), y: y - top, text, color });
        }
    }
    apart(&mut names);
    let (edge, _) = chart.backend_coord(&(most, low));
    for Name { from, y, text, color } in names {
        let at = edge - left + 26;
        area.draw(&PathElement::new([(from.0 + 6, from.1), (edge - left + 6, from.1), (at - 4, y)], LINE))?;
        area.draw(&Text::new(text, (at, y), style(14, color).pos(Pos::new(HPos::Left, VPos::Center))))?;
    }
    Ok(())
}

/// The name of a curve: where the curve ends, and how far down the name stands.
struct Name {
    from: (i32, i32),
    y: i32,
    text: String,
    color: RGBColor,
}

/// Moves names that would lie over each other: down from the top, and up again where that was too far.
fn apart(names: &mut [Name]) {
    const LINE: i32 = 16;
    let bottom = i32::try_from(SIZE.1 - HEAD).unwrap_or(i32::MAX) - 44;
    names.sort_by_key(|name| name.y);
    for index in 1..names.len() {
        names[index].y = names[index].y.max(names[index - 1].y + LINE);
    }
    let mut least = bottom;
    for name in names.iter_mut().rev() {
        name.y = name.y.min(least);
        least = name.y - LINE;
    }
}

fn count_of(count: f64) -> String {
    format!("1e{:.0}", count.log10())
}
