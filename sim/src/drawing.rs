//! Drawings of runs: the load of the server and the successes, second by second.
//!
//! They are SVG without script on white, so that they are readable on a dark page too. Each row is one strategy, and all have the
//! same axes. Names may be anybody's.

use crate::bounds::Figures;
use crate::measure::Measures;
use crate::scenario::Scenario;
use std::fmt::Write as _;

/// One row of a drawing.
#[derive(Clone, Copy, Debug)]
pub struct Lane<'a> {
    /// The name of the strategy.
    pub name: &'a str,
    /// The load and the fault.
    pub scenario: &'a Scenario,
    /// The counts of each second.
    pub measures: &'a Measures,
    /// The figures of the whole run.
    pub figures: &'a Figures,
}

const WIDTH: f64 = 880.0;
/// Where the curves begin and end.
const LEFT: f64 = 160.0;
const RIGHT: f64 = 620.0;
/// Where the curves of the first row begin.
const TOP: f64 = 96.0;
const GAP: f64 = 14.0;
/// The columns of figures end here.
const COLUMNS: [f64; 3] = [706.0, 794.0, 868.0];
/// The highest load that is drawn, in the server's capacity.
const MOST: f64 = 4.0;
/// The characters of a name that fit before its curves.
const NAME: usize = 22;

/// Draws runs of one scenario, each in a row of that height in pixels.
#[must_use]
pub fn draw(title: &str, lanes: &[Lane<'_>], height: f64) -> String {
    let title = escaped(title);
    let load = |lane: &Lane<'_>| {
        let capacity = lane.scenario.capacity();
        lane.measures.attempts.iter().map(|&n| f64::from(n) / capacity).fold(1.0, f64::max)
    };
    let most = (2.0 * lanes.iter().map(load).fold(1.0, f64::max)).ceil().min(2.0 * MOST) / 2.0;
    let bottom = TOP + lanes.len() as f64 * (height + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {whole}\" width=\"{WIDTH}\" height=\"{whole}\" role=\"img\" \
         aria-labelledby=\"title text\" font-family=\"-apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"13\" \
         fill=\"#24292f\">\n<title id=\"title\">{title}</title>\n<desc id=\"text\">{words}</desc>\n\
         <rect width=\"{WIDTH}\" height=\"{whole}\" fill=\"#fff\"/>\n",
        whole = bottom + 24.0,
        words = lanes.iter().map(words).collect::<Vec<_>>().join(" "),
    );
    let mut text = |x: f64, y: f64, rest: &str, words: &str| {
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {rest}>{words}</text>");
    };
    text(12.0, 24.0, "font-size=\"15\" font-weight=\"600\"", &title);
    text(30.0, 48.0, "fill=\"#57606a\"", "attempts a second");
    text(178.0, 48.0, "fill=\"#57606a\"", "successful calls a second");
    text(370.0, 48.0, "fill=\"#57606a\"", &format!("dashed: all that the server can answer; top: {most} times that"));
    let heads = [["attempts a call", "in the fault"], ["calls", "that succeed"], ["recovers", "after"]];
    for (x, [above, below]) in COLUMNS.into_iter().zip(heads) {
        let end = "text-anchor=\"end\" font-size=\"11\" fill=\"#57606a\"";
        text(x, TOP - 20.0, end, above);
        text(x, TOP - 6.0, end, below);
    }
    svg += "<rect x=\"12\" y=\"38\" width=\"14\" height=\"10\" fill=\"#f2a48d\"/>\n\
            <rect x=\"160\" y=\"41\" width=\"14\" height=\"4\" fill=\"#1a7f43\"/>\n";
    if let Some(Lane { scenario, .. }) = lanes.first() {
        let (x, ill) = (across(scenario), scenario.ill());
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#eef1f4\"/>",
            x(ill.start),
            TOP - 6.0,
            x(ill.end) - x(ill.start),
            bottom - TOP,
        );
        for (second, words) in [(0, ""), (ill.start, "fault from "), (ill.end, "to "), (scenario.end(), "")] {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\" fill=\"#57606a\" text-anchor=\"middle\">{words}{second} s</text>",
                x(second),
                bottom + 12.0,
            );
        }
    }
    for (number, lane) in lanes.iter().enumerate() {
        let base = TOP + number as f64 * (height + GAP) + height;
        row(&mut svg, lane, base, height, most);
    }
    svg + "</svg>\n"
}

/// The place of a second.
fn across(scenario: &Scenario) -> impl Fn(u64) -> f64 {
    let end = scenario.end() as f64;
    move |second| LEFT + (RIGHT - LEFT) * second as f64 / end
}

/// One strategy: its name, its curves and its figures.
fn row(svg: &mut String, lane: &Lane<'_>, base: f64, height: f64, most: f64) {
    let x = across(lane.scenario);
    let capacity = lane.scenario.capacity();
    let y = |number: f64| base - height * (number / capacity).min(most) / most;
    let curve = |numbers: &[u32]| {
        let points = numbers.iter().zip(0..).map(|(&number, second)| {
            let middle = (x(second) + x(second + 1)) / 2.0;
            format!("{middle:.1} {:.1}", y(number.into()))
        });
        points.collect::<Vec<_>>().join("L")
    };
    let Lane { measures, figures, .. } = lane;
    let name = escaped(&cut(lane.name, NAME));
    let (first, last) = (x(0), x(lane.scenario.end()));
    let middle = base - height / 2.0 + 5.0;
    let _ = writeln!(
        svg,
        "<text x=\"12\" y=\"{middle:.1}\">{name}</text>\n\
         <path d=\"M{first:.1} {base:.1}L{}L{last:.1} {base:.1}z\" fill=\"#f2a48d\"/>\n\
         <path d=\"M{}\" fill=\"none\" stroke=\"#1a7f43\" stroke-width=\"2\"/>\n\
         <path d=\"M{first:.1} {:.1}H{last:.1}\" fill=\"none\" stroke=\"#57606a\" stroke-dasharray=\"3 3\"/>\n\
         <path d=\"M{first:.1} {base:.1}H{last:.1}\" fill=\"none\" stroke=\"#8c959f\"/>",
        curve(&measures.attempts),
        curve(&measures.goodput),
        y(capacity),
    );
    let shown = [
        format!("{:.2}", figures.load_in_fault),
        format!("{:.1} %", 100.0 * figures.success),
        figures
            .back
            .map_or("never".to_owned(), |after| if after == 0 { "at once".to_owned() } else { format!("{after} s") }),
    ];
    for (end, figure) in COLUMNS.into_iter().zip(shown) {
        let colour = if figure == "never" { " fill=\"#b3261e\" font-weight=\"600\"" } else { "" };
        let _ = writeln!(svg, "<text x=\"{end}\" y=\"{middle:.1}\" text-anchor=\"end\"{colour}>{figure}</text>");
    }
}

/// A row for somebody who does not see it.
fn words(Lane { name, figures, .. }: &Lane<'_>) -> String {
    let back = figures.back.map_or("never".to_owned(), |after| format!("after {after} s"));
    let Figures { load_in_fault, success, .. } = figures;
    let name = escaped(name);
    format!(
        "{name}: {load_in_fault:.2} attempts a call in the fault, {:.1} % of the calls succeed, the server recovers {back}.",
        100.0 * success
    )
}

/// The end of a long name, which for a path is what tells it from others.
#[must_use]
pub fn cut(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(length + 1 - most).collect::<String>())
    }
}

/// Somebody's text as text of XML.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::run;
    use crate::strategy::Strategy;

    #[test]
    fn a_drawing_has_a_row_and_words_for_each_strategy() {
        let strategy = Strategy::read("one", r#"{"attempts": 1}"#).unwrap();
        let scenario = Scenario { clients: 50, after: 10, ..Scenario::default() };
        let measures = run(&scenario, &strategy);
        let figures = Figures::of(&scenario, &measures);
        let lane = |name| Lane { name, scenario: &scenario, measures: &measures, figures: &figures };
        let svg = draw("Title", &[lane("one"), lane("two"), lane("<script>")], 40.0);
        assert_eq!(svg.matches("stroke=\"#1a7f43\"").count(), 3);
        assert!(!svg.contains("<script>"));
        assert!(svg.contains("two: 1.00 attempts a call in the fault"), "{svg}");
    }
}
