//! Everything that CI runs, and how it went.

use crate::{Lang, baseline, c, cli, conform, crash, demo, docs, engines, house, playground, python, ruby, rust, wasm};
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// A part of the whole: its name and its tests.
type Part = (&'static str, fn() -> Result<()>);

/// Tests the languages one after the other and, when all are meant, that they agree. Goes on after a failure, so that one
/// run says everything.
pub(crate) fn test(lang: Lang) -> Result<()> {
    let mut parts: Vec<Part> = Vec::new();
    for lang in lang.each() {
        let own: &[Part] = match lang {
            Lang::Rust => &[("house", house::check), ("rust", rust::test), ("cli", cli::test)],
            Lang::Wasm => &[
                ("wasm", wasm::test),
                ("cli", cli::test_npm),
                ("bullmq", engines::bullmq::test),
                ("playground", playground::test),
            ],
            Lang::Python => &[
                ("python", python::test),
                ("cli", cli::test_wheels),
                ("engines", engines::test),
                ("crash", crash::short),
            ],
            Lang::C | Lang::All => &[("c", c::test), ("ruby", ruby::test)],
        };
        parts.extend_from_slice(own);
    }
    if lang == Lang::All {
        parts.push(("digests", conform::digests));
        parts.push(("agree", || conform::agree(Lang::All, None, conform::LOGS)));
        parts.push(("demo", || demo::demo(demo::SEED)));
        // The site shows the bindings that the parts of the languages have built.
        parts.push(("site", docs::test));
        // Last, because it weighs what the others have built.
        parts.push(("baseline", baseline::check));
    }
    let begun = Instant::now();
    let outcomes: Vec<_> = parts.iter().map(run).collect();
    println!();
    for (name, took, outcome) in &outcomes {
        println!("  {name:<10}{:>8}  {}", shown(*took), if outcome.is_ok() { "passed" } else { "FAILED" });
    }
    let failed = outcomes.iter().filter(|(_, _, outcome)| outcome.is_err()).count();
    println!("  {:<10}{:>8}\n", "all", shown(begun.elapsed()));
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    if failed > 0 {
        bail!("not everything passed");
    }
    Ok(())
}

fn run(part: &Part) -> (&'static str, Duration, Result<()>) {
    let (name, test) = *part;
    println!("{name}");
    let begun = Instant::now();
    let outcome = test();
    if let Err(error) = &outcome {
        eprintln!("  {name} FAILED: {error:#}");
    }
    (name, begun.elapsed(), outcome)
}

fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}
