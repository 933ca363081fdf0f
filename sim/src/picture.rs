//! The two halves of the picture on the front page: an outage as curves, and a day with failures as the calls that are lost.
//!
//! Each half is an SVG of its own, so that they stand side by side on a wide screen and below each other on a phone. Its colours follow
//! the reader's colour scheme.

use crate::drawing::{Lane, cut, escaped};
use serde::Deserialize;
use std::fmt::Write as _;

/// A half of the picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// Requests and answered calls, second by second.
    Outage,
    /// A thousand calls as dots, the lost ones marked.
    Lost,
}

const WIDTH: f64 = 430.0;
/// How wide it is shown: two halves fit a page of a code host.
const SHOWN: f64 = 408.0;
/// Left and right of the rows.
const MARGIN: f64 = 14.0;
/// Where the first row begins.
const TOP: f64 = 78.0;
/// The height of the words above a row.
const CAPTION: f64 = 22.0;
/// The height of the curves or dots of a row.
const ROW: f64 = 50.0;
const GAP: f64 = 18.0;
/// The characters of a name that fit beside the figures.
const NAME: usize = 26;
/// The dots of a row, one a call.
const COLUMNS: usize = 100;
const DOTS: usize = 1000;

/// Colours on a light page, and below them on a dark one.
const STYLE: &str = "<style>\
    .bg{fill:#fff}text{fill:#24292f}.faint{fill:#57606a}.bad{fill:#b3261e}.load{fill:#f2a48d}.ill{fill:#eef1f4}.dot{fill:#c5d3dc}\
    .good{stroke:#1a7f43}.can{stroke:#57606a}.axis{stroke:#8c959f}\
    @media (prefers-color-scheme:dark){\
    .bg{fill:#17181c}text{fill:#e6e8eb}.faint{fill:#a3abb5}.bad{fill:#ff8a80}.load{fill:#a3543c}.ill{fill:#26292f}.dot{fill:#5b6874}\
    .good{stroke:#4cc27a}.can{stroke:#a3abb5}.axis{stroke:#6e7681}}</style>";

/// Draws a half; every lane is a row.
#[must_use]
pub fn draw(half: Half, title: &str, lanes: &[Lane<'_>]) -> String {
    let bottom = TOP + lanes.len() as f64 * (CAPTION + ROW + GAP);
    let whole = bottom + 8.0;
    let words = lanes.iter().map(|lane| format!("{}: {}.", escaped(lane.name), figures(half, lane).join(", ")));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {whole}\" width=\"{SHOWN}\" height=\"{:.0}\" role=\"img\" \
         aria-labelledby=\"title text\" font-family=\"-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"13\">\n\
         <title id=\"title\">{title}</title>\n<desc id=\"text\">{words}</desc>\n{STYLE}\n\
         <rect class=\"bg\" width=\"{WIDTH}\" height=\"{whole}\" rx=\"6\"/>\n\
         <text x=\"{MARGIN}\" y=\"28\" font-size=\"16\" font-weight=\"600\">{title}</text>\n",
        whole * SHOWN / WIDTH,
        title = escaped(title),
        words = words.collect::<Vec<_>>().join(" "),
    );
    svg += match half {
        Half::Outage => {
            "<rect class=\"load\" x=\"14\" y=\"44\" width=\"14\" height=\"10\"/>\n<text class=\"faint\" x=\"34\" y=\"54\">requests</text>\n\
             <path class=\"good\" d=\"M104 49H118\" stroke-width=\"3\"/>\n<text class=\"faint\" x=\"124\" y=\"54\">answered calls</text>\n\
             <path class=\"can\" d=\"M228 49H242\" stroke-dasharray=\"3 3\"/>\n<text class=\"faint\" x=\"248\" y=\"54\">what the server can do</text>\n"
        }
        Half::Lost => {
            "<circle class=\"dot\" cx=\"18\" cy=\"49\" r=\"4\"/>\n<text class=\"faint\" x=\"28\" y=\"54\">1,000 calls, one dot each</text>\n\
             <circle class=\"bad\" cx=\"206\" cy=\"49\" r=\"4\"/>\n<text class=\"faint\" x=\"216\" y=\"54\">lost</text>\n"
        }
    };
    let most = lanes.iter().map(peak).fold(1.0, f64::max);
    for (number, lane) in lanes.iter().enumerate() {
        let top = TOP + number as f64 * (CAPTION + ROW + GAP);
        caption(&mut svg, half, lane, top + 14.0);
        match half {
            Half::Outage => curves(&mut svg, lane, top + CAPTION, most),
            Half::Lost => dots(&mut svg, lane, top + CAPTION),
        }
    }
    svg + "</svg>\n"
}

/// The highest load of a run, in the server's capacity.
fn peak(lane: &Lane<'_>) -> f64 {
    let capacity = lane.scenario.capacity();
    lane.measures.attempts.iter().map(|&n| f64::from(n) / capacity).fold(0.0, f64::max)
}

/// The share of the calls during the fault that fail in the end.
fn lost(lane: &Lane<'_>) -> f64 {
    1.0 - lane.figures.success_in_fault
}

/// The two figures of a row, in words.
fn figures(half: Half, lane: &Lane<'_>) -> [String; 2] {
    match half {
        Half::Outage => [
            format!("{:.1} times the load", lane.figures.load_in_fault),
            match lane.figures.back {
                None => "never recovers".to_owned(),
                Some(0) => "recovers at once".to_owned(),
                Some(after) => format!("recovers after {after} s"),
            },
        ],
        Half::Lost => {
            let share = 100.0 * lost(lane);
            let share = if share < 1.0 { format!("{share:.2}") } else { format!("{share:.1}") };
            [format!("{:.2} times the load", lane.figures.load_in_fault), format!("{share} % lost")]
        }
    }
}

/// The name of a row and its figures; the bad one is marked.
fn caption(svg: &mut String, half: Half, lane: &Lane<'_>, y: f64) {
    let [load, end] = figures(half, lane);
    let is_bad = match half {
        Half::Outage => lane.figures.back.is_none(),
        Half::Lost => lost(lane) >= 0.01,
    };
    let class = if is_bad { " class=\"bad\" font-weight=\"600\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{y}\" font-weight=\"600\">{}</text>\n\
         <text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{load}, <tspan{class}>{end}</tspan></text>",
        escaped(&cut(lane.name, NAME)),
        WIDTH - MARGIN,
    );
}

/// Requests as an area, answered calls as a line, and the time of the fault as a band.
fn curves(svg: &mut String, lane: &Lane<'_>, top: f64, most: f64) {
    let scenario = lane.scenario;
    let (capacity, end, base) = (scenario.capacity(), scenario.end() as f64, top + ROW);
    let x = |second: f64| MARGIN + (WIDTH - 2.0 * MARGIN) * second / end;
    let y = |number: f64| base - ROW * number / capacity / most;
    let curve = |numbers: &[u32]| {
        let points =
            numbers.iter().zip(0..).map(|(&n, second)| format!("{:.1} {:.1}", x(f64::from(second) + 0.5), y(n.into())));
        points.collect::<Vec<_>>().join("L")
    };
    let ill = scenario.ill();
    let (first, last, from, to) = (x(0.0), x(end), x(ill.start as f64), x(ill.end as f64));
    let _ = writeln!(
        svg,
        "<rect class=\"ill\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{ROW}\"/>\n\
         <path class=\"load\" d=\"M{first:.1} {base:.1}L{}L{last:.1} {base:.1}z\"/>\n\
         <path class=\"good\" d=\"M{}\" fill=\"none\" stroke-width=\"2\"/>\n\
         <path class=\"can\" d=\"M{first:.1} {:.1}H{last:.1}\" fill=\"none\" stroke-dasharray=\"3 3\"/>\n\
         <path class=\"axis\" d=\"M{first:.1} {base:.1}H{last:.1}\" fill=\"none\"/>\n\
         <text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"middle\">down for {} s</text>",
        to - from,
        curve(&lane.measures.attempts),
        curve(&lane.measures.goodput),
        y(capacity),
        (from + to) / 2.0,
        base + 12.0,
        ill.end - ill.start,
    );
}

/// A thousand calls, with as many marked as are lost of a thousand.
fn dots(svg: &mut String, lane: &Lane<'_>, top: f64) {
    let step = (WIDTH - 2.0 * MARGIN) / COLUMNS as f64;
    let rows = DOTS / COLUMNS;
    let marked = (lost(lane) * DOTS as f64).round() as usize;
    let radius = step * 0.36;
    let _ = writeln!(
        svg,
        "<defs><pattern id=\"d{top}\" x=\"{MARGIN}\" y=\"{top}\" width=\"{step:.2}\" height=\"{step:.2}\" patternUnits=\"userSpaceOnUse\">\
         <circle class=\"dot\" cx=\"{half:.2}\" cy=\"{half:.2}\" r=\"{radius:.2}\"/></pattern></defs>\n\
         <rect x=\"{MARGIN}\" y=\"{top}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"url(#d{top})\"/>",
        step * COLUMNS as f64,
        step * rows as f64,
        half = step / 2.0,
    );
    let mut path = String::new();
    for number in 0..marked {
        // Multiples of a number without a common factor with 1,000 spread the dots and hit none twice.
        let at = (number * 617 + 89) % DOTS;
        let x = MARGIN + ((at % COLUMNS) as f64 + 0.5) * step;
        let y = top + ((at / COLUMNS) as f64 + 0.5) * step;
        let _ = write!(
            path,
            "M{:.2} {y:.2}a{radius:.2} {radius:.2} 0 1 0 {w:.2} 0a{radius:.2} {radius:.2} 0 1 0 -{w:.2} 0",
            x - radius,
            w = 2.0 * radius
        );
    }
    if marked > 0 {
        let _ = writeln!(svg, "<path class=\"bad\" d=\"{path}\"/>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Figures;
    use crate::fleet::run;
    use crate::scenario::Scenario;
    use crate::strategy::Strategy;

    fn drawn(half: Half, policy: &str, fault: &str) -> String {
        let strategy = Strategy::read("one", policy).unwrap();
        let fault = serde_json::from_str(fault).unwrap();
        let scenario = Scenario { clients: 400, fault, ..Scenario::default() };
        let measures = run(&scenario, &strategy);
        let figures = Figures::of(&scenario, &measures);
        draw(half, "Title", &[Lane { name: "<one>", scenario: &scenario, measures: &measures, figures: &figures }])
    }

    #[test]
    fn a_row_of_an_outage_says_load_and_recovery() {
        let svg = drawn(Half::Outage, r#"{"attempts": 1}"#, r#"{"kind": "down"}"#);
        assert!(svg.contains("1.0 times the load, <tspan>recovers at once</tspan>"), "{svg}");
        assert!(svg.contains("&lt;one&gt;: 1.0 times the load, recovers at once."), "{svg}");
    }

    #[test]
    fn a_row_of_lost_calls_marks_as_many_dots_as_are_lost() {
        let svg = drawn(Half::Lost, r#"{"attempts": 1}"#, r#"{"kind": "errors", "share": 0.5}"#);
        let (_, share) = svg
            .split_once("font-weight=\"600\">")
            .unwrap()
            .1
            .split_once("<tspan class=\"bad\" font-weight=\"600\">")
            .unwrap();
        let share: f64 = share.split_once(" % lost").unwrap().0.parse().unwrap();
        let dots = svg.matches("0 1 0 -").count() as f64;
        assert!((share - 50.0).abs() < 2.0 && (dots / 10.0 - share).abs() < 0.11, "{share} {dots}");
    }
}
