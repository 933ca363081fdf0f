//! The cost of a retry, beside the least it can cost and beside other libraries, and the verdicts on the targets.
//!
//! Each language's works run in one process and take turns, and the fastest sample of each counts, because a busy machine
//! disturbs nanoseconds but hardly the ratios of minimums. Figures close to their limit are measured again, so that two runs
//! in a row give the same verdicts.

use crate::Lang;
use anyhow::{Result, bail};
use rows::Rows;
use run::{Ask, Program};
use std::time::{Duration, Instant};
use targets::{Judged, Results, Target, Targets, Verdict};

mod charts;
mod docs;
mod machine;
mod public;
mod results;
mod rows;
mod run;
mod table;
pub(crate) mod targets;

/// The name of the results that are weighed and not timed.
const SIZES: &str = "sizes";

/// How often a work is measured again that lies close to its limit.
const AGAIN: u32 = 3;

/// After so long of that, a quick run begins no other pass.
const LONG: Duration = Duration::from_secs(45);

/// Measures a language, or all; prints the tables, keeps the results, draws them and refreshes the pages about performance. With
/// `full` also what takes minutes and gigabytes.
pub(crate) fn bench(lang: Lang, quick: bool, full: bool) -> Result<()> {
    let begun = Instant::now();
    let targets = Targets::read()?;
    let (mut kept, mut facts) = results::read()?;
    let ask = Ask { quick, full, only: None };
    let mut run = Run { ask, targets: &targets, rows: Results::new(), failed: Vec::new() };
    if lang != Lang::All {
        // Other sizes stay as they are.
        run.rows.extend(kept.get(SIZES).map(|sizes| (SIZES.to_owned(), sizes.clone())));
    }
    lang.each().into_iter().for_each(|lang| run.measure(lang));
    let Run { rows: fresh, failed, .. } = run;
    let broken = |key: &String| failed.iter().any(|(failed, _)| failed == key || key == SIZES);
    let whole = |(key, rows): &(&String, &Rows)| !rows.0.is_empty() && !broken(key);
    // Figures of a partial run do not replace the results of a full one.
    let measured: Vec<String> = fresh.iter().filter(whole).map(|(key, _)| key.clone()).collect();
    let named = |(key, _): &(&String, &Rows)| measured.contains(key) && (lang == Lang::All || *key != SIZES);
    let named = fresh.iter().filter(named).map(|(key, rows)| (key.clone(), rows.clone())).collect();
    let mut problems: Vec<String> = failed.iter().map(|(lang, problem)| format!("{lang}: {problem}")).collect();
    problems.extend(targets.unknown(&named));
    let machine = machine::facts(quick);
    for lang in &measured {
        results::write(lang, &machine, &fresh[lang])?;
        kept.insert(lang.clone(), fresh[lang].clone());
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

/// Judges the stored results and draws them again, without measuring: for a change of the targets, of their reasons or of a drawing.
pub(crate) fn again() -> Result<()> {
    let targets = Targets::read()?;
    let (kept, facts) = results::read()?;
    let judged = targets.judge(&kept);
    println!("targets\n\n{}", table::targets_text(&judged));
    let all: Vec<String> = kept.keys().cloned().collect();
    charts::draw(&all, &kept, &targets)?;
    docs::refresh(&all, &kept, &facts, &targets)?;
    let problems = targets.unknown(&kept);
    if !problems.is_empty() {
        bail!("{}", problems.join("\n       "));
    }
    Ok(())
}

/// The parts of this run.
struct Run<'a> {
    ask: Ask<'a>,
    targets: &'a Targets,
    rows: Results,
    /// Languages that could not be measured, and why.
    failed: Vec<(&'static str, String)>,
}

impl Run<'_> {
    /// One language. Goes on after a failure, so that one run says everything.
    fn measure(&mut self, lang: Lang) {
        let key = run::key(lang);
        self.rows.insert(key.to_owned(), Rows::default());
        if let Err(error) = self.time(lang) {
            self.fail(key, &error);
        }
        match run::count(lang) {
            Ok((counts, sizes)) => {
                self.of(key).merge(counts);
                self.of(SIZES).replace(sizes);
            }
            Err(error) => self.fail(key, &error),
        }
    }

    /// Everything once, and what lies close to its limit again.
    fn time(&mut self, lang: Lang) -> Result<()> {
        let (key, programs) = (run::key(lang), run::build(lang)?);
        let mut works = Vec::new();
        for program in &programs {
            let rows = program.run(self.ask).unwrap_or_else(|error| {
                self.fail(if program.sizes { SIZES } else { key }, &error);
                Rows::default()
            });
            works.push(rows.works().into_iter().map(str::to_owned).collect::<Vec<_>>());
            if program.sizes { self.of(SIZES).replace(rows) } else { self.of(key).merge(rows) }
        }
        let begun = Instant::now();
        for pass in 0..AGAIN {
            if self.ask.quick && pass > 0 && begun.elapsed() > LONG {
                break;
            }
            for work in close(key, &self.rows[key], self.targets) {
                let measures = |(program, works): (_, &Vec<String>)| works.contains(&work).then_some(program);
                for program in programs.iter().zip(&works).filter_map(measures).collect::<Vec<&Program>>() {
                    let again = program.run(Ask { only: Some(&work), ..self.ask })?;
                    self.of(key).merge(again);
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, key: &'static str, error: &anyhow::Error) {
        self.failed.push((key, format!("{error:#}")));
    }

    fn of(&mut self, key: &str) -> &mut Rows {
        self.rows.entry(key.to_owned()).or_default()
    }
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
