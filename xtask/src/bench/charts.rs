//! Drawings of the results: bars beside the peers, and curves from a thousand entries to ten million.
//!
//! They are SVG on white, so that they are readable on a dark page too. Axes are logarithmic: what is compared differs by
//! a hundred times, and on a linear axis everything but the slowest peer is a line.

use super::targets::{Results, Targets};
use crate::shell;
use anyhow::{Context as _, Result};
use std::fs;

mod bars;
mod curves;
mod style;

/// Draws the results of some languages into docs/internals/charts.
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
    let folder = shell::root().join("docs/internals/charts");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.svg"));
    fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))
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
