//! What a retry costs, beside the least it can cost and beside other libraries, and whether the targets are met.
//!
//! Each language's works run in one process and take turns, and the fastest sample of each counts, because a busy machine
//! disturbs nanoseconds but hardly the ratios of minimums. What lies close to its limit is measured again, so that two runs
//! in a row give the same verdicts.

use crate::Lang;
use anyhow::{Result, bail};
use rows::Rows;
use run::{Ask, Program};
use std::time::Instant;
use targets::{Judged, Results, Target, Targets, Verdict};

mod charts;
mod docs;
mod machine;
mod results;
mod rows;
mod run;
mod table;
mod targets;

/// How often a work is measured again that lies close to its limit.
const AGAIN: u32 = 3;

/// Measures a language, or all; prints the tables, keeps the results, draws them and refreshes docs/performance.md. With
/// `full` also what takes minutes and gigabytes.
pub(crate) fn bench(lang: Lang, quick: bool, full: bool) -> Result<()> {
    let begun = Instant::now();
    let targets = Targets::read()?;
    let (mut kept, mut facts) = results::read()?;
    let (mut fresh, mut problems) = (Results::new(), Vec::new());
    for lang in lang.each() {
        let ask = Ask { quick, full, only: None };
        // Goes on after a failure, so that one run says everything.
        let rows = measure(lang, ask, &targets).unwrap_or_else(|error| {
            problems.push(format!("{}: {error:#}", run::key(lang)));
            Rows::default()
        });
        fresh.insert(run::key(lang).to_owned(), rows);
    }
    problems.extend(targets.unknown(&fresh));
    let measured: Vec<String> = fresh.keys().cloned().collect();
    let machine = machine::facts(quick);
    for (lang, rows) in fresh.iter().filter(|(_, rows)| !rows.0.is_empty()) {
        results::write(lang, &machine, rows)?;
        kept.insert(lang.clone(), rows.clone());
        facts.insert(lang.clone(), machine.clone());
    }
    let judged = targets.judge(&fresh);
    print(&fresh, &targets, &judged, &machine);
    charts::draw(&measured, &kept, &targets)?;
    docs::refresh(&measured, &kept, &facts, &targets)?;
    for promise in docs::unexplained(&judged) {
        eprintln!("  no `why` in benches/targets.json for the miss: {promise}");
    }
    eprintln!("  {:.0} s in all", begun.elapsed().as_secs_f64());
    if !problems.is_empty() {
        bail!("{}", problems.join("\n       "));
    }
    Ok(())
}

/// One language: everything once, and what lies close to its limit again.
fn measure(lang: Lang, ask: Ask<'_>, targets: &Targets) -> Result<Rows> {
    let programs = run::build(lang)?;
    let mut each = Vec::new();
    for program in &programs {
        each.push(program.run(ask)?);
    }
    let mut all = Rows::default();
    each.iter().cloned().for_each(|rows| all.merge(rows));
    let key = run::key(lang);
    for _ in 0..AGAIN {
        let close = close(key, &all, targets);
        if close.is_empty() {
            break;
        }
        for work in close {
            let measures = |(program, rows): (_, &Rows)| rows.works().contains(&work.as_str()).then_some(program);
            for program in programs.iter().zip(&each).filter_map(measures).collect::<Vec<&Program>>() {
                all.merge(program.run(Ask { quick: false, full: ask.full, only: Some(&work) })?);
            }
        }
    }
    Ok(all)
}

/// The works of a language whose verdict another look could change.
fn close(lang: &str, rows: &Rows, targets: &Targets) -> Vec<String> {
    let results = Results::from([(lang.to_owned(), rows.clone())]);
    let judged = targets.judge(&results).into_iter().flat_map(|(_, parts)| parts);
    let mut works: Vec<String> = judged
        .filter(Judged::is_close)
        .flat_map(|judged| [Some(judged.part.work), judged.part.than_work].into_iter().flatten())
        .collect();
    works.sort();
    works.dedup();
    works
}

fn print(
    fresh: &Results,
    targets: &Targets,
    judged: &[(&Target, Vec<Judged>)],
    machine: &serde_json::Map<String, serde_json::Value>,
) {
    let parts: Vec<Judged> = judged.iter().flat_map(|(_, parts)| parts.clone()).collect();
    for (lang, rows) in results::LANGS.iter().filter_map(|lang| Some((lang, fresh.get(*lang)?))) {
        println!("\n{lang}\n\n{}", table::works(lang, rows, targets, &parts).text());
    }
    println!("machine\n");
    for (name, fact) in machine {
        println!("{name:<10}{}", fact.as_str().unwrap_or_default());
    }
    println!("\ntargets\n\n{}", table::targets_text(judged));
    let missed = parts.iter().filter(|judged| judged.verdict == Verdict::Missed).count();
    println!("{} promises met, {missed} missed", parts.len() - missed);
}
