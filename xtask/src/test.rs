//! The tests as a list of jobs, of which two run at the same time, and how they went.

use crate::shell::{self, say};
use crate::{Lang, audit, baseline, c, cli, conform, crash, demo, docs, engines, generate, house, playground, python};
use crate::{ruby, rust, setup, storm, wasm};
use Lane::{Dev, Either, Products};
use When::{All, Push};
use anyhow::{Result, bail};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Which of the two lanes runs a job. Builds of the same profile wait for each other, so each lane has profiles of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lane {
    /// It builds in the dev profile.
    Dev,
    /// It builds what is shipped.
    Products,
    /// It runs what others have built. A lane that has no other job takes it.
    Either,
}

/// How often a job runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    /// Before each push.
    Push,
    /// With `--all`: what takes long and rarely breaks. CONTRIBUTING.md lists these jobs.
    All,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    name: &'static str,
    lang: Lang,
    lane: Lane,
    when: When,
    run: fn() -> Result<()>,
}

const fn job(name: &'static str, lang: Lang, lane: Lane, when: When, run: fn() -> Result<()>) -> Job {
    Job { name, lang, lane, when, run }
}

/// Every job. In a lane they run in this order; what one needs of the other lane is built once, by whichever asks first.
#[rustfmt::skip]
const JOBS: &[Job] = &[
    job("house", Lang::Rust, Dev, Push, house::check),
    job("format", Lang::Rust, Dev, Push, rust::format),
    job("rust", Lang::Rust, Dev, Push, rust::test),
    job("digests", Lang::Rust, Dev, Push, conform::digests),
    job("model", Lang::Rust, Dev, Push, rust::model),
    job("storm", Lang::Rust, Dev, Push, storm::some_bounds),
    job("completions", Lang::Rust, Dev, Push, cli::completions),
    job("examples", Lang::Rust, Dev, Push, rust::examples),
    job("clippy", Lang::Rust, Dev, Push, rust::clippy),
    job("features", Lang::Rust, Dev, Push, rust::features),
    job("docs", Lang::Rust, Dev, Push, rust::documentation),
    job("generated", Lang::Rust, Dev, Push, generate::check),
    job("js policies", Lang::Wasm, Dev, Push, wasm::options),
    job("js cli", Lang::Wasm, Dev, Push, cli::test_npm),
    job("agree", Lang::All, Dev, Push, conform::agree_in_few),
    job("demo", Lang::All, Dev, Push, demo::test),

    job("npm packages", Lang::Wasm, Products, Push, npm_packages),
    job("py packages", Lang::Python, Products, Push, python_packages),
    job("npm", Lang::Wasm, Products, Push, wasm::declarations),
    job("wheel", Lang::Python, Products, Push, python::build),
    job("c library", Lang::C, Products, Push, c::library),
    job("c pure", Lang::C, Products, Push, c::purity),
    job("embedded", Lang::C, Products, Push, c::test_embedded),

    job("engines", Lang::Python, Either, Push, engines::test),
    job("python", Lang::Python, Either, Push, python::test),
    job("js", Lang::Wasm, Either, Push, wasm::test),
    job("c", Lang::C, Either, Push, c::test),
    job("c++", Lang::C, Either, Push, c::test_cpp),
    job("c headers", Lang::C, Either, Push, c::check_headers),
    job("js lint", Lang::Wasm, Either, Push, wasm::lint),
    job("js vectors", Lang::Wasm, Either, Push, wasm::vectors),
    job("js consumers", Lang::Wasm, Either, Push, wasm::consumers),
    job("bullmq", Lang::Wasm, Either, Push, engines::bullmq::test),
    job("js clients", Lang::Wasm, Either, Push, wasm::clients),
    job("py clients", Lang::Python, Either, Push, python::clients),
    job("py requests", Lang::Python, Either, All, python::requests),
    job("js requests", Lang::Wasm, Either, All, wasm::requests),
    job("audit", Lang::Python, Either, All, audit::test),
    job("py lint", Lang::Python, Either, Push, python::lint),
    job("py types", Lang::Python, Either, Push, python::types),
    job("py vectors", Lang::Python, Either, Push, python::vectors),
    job("py examples", Lang::Python, Either, Push, || python::examples("python")),
    job("py consumer", Lang::Python, Either, Push, python::consumers::test),
    job("engine types", Lang::Python, Either, Push, engines::types),
    job("engine examples", Lang::Python, Either, Push, engines::examples),
    job("c vectors", Lang::C, Either, Push, c::vectors),
    job("ruby", Lang::C, Either, Push, ruby::test),
    job("weights", Lang::All, Either, Push, baseline::weigh),

    job("clippy bare", Lang::Rust, Dev, All, rust::clippy_bare),
    job("each feature", Lang::Rust, Dev, All, rust::each_feature),
    job("before", Lang::Rust, Dev, All, rust::compare),
    job("c clippy", Lang::C, Dev, All, c::clippy),
    job("all documents", Lang::Rust, Dev, All, rust::model_of_all_documents),
    job("all bounds", Lang::Rust, Dev, All, storm::all_bounds),
    job("all logs", Lang::All, Dev, All, conform::agree_in_all),
    job("py cli", Lang::Python, Products, All, cli::test_wheels),
    job("interpreters", Lang::Python, Either, All, python::consumers::interpreters),
    job("py pyright", Lang::Python, Either, All, python::pyright),
    job("engine pyright", Lang::Python, Either, All, engines::pyright),
    job("crash", Lang::Python, Either, All, crash::short),
    job("platforms", Lang::Wasm, Either, All, wasm::platforms),
    job("lab", Lang::Wasm, Either, All, playground::test),
    job("c compilers", Lang::C, Either, All, c::compilers),
    job("c++ compilers", Lang::C, Either, All, c::cpp_compilers),
    job("c packages", Lang::C, Either, All, c::test_packages),
    job("site", Lang::All, Either, All, docs::test),
    job("fronts", Lang::All, Either, All, docs::fronts),
    job("baseline", Lang::All, Either, All, baseline::check),
];

fn npm_packages() -> Result<()> {
    setup::npm(&["bindings-wasm", "engines/bullmq", "benches/peers/js", "examples/demo/javascript"])
}

fn python_packages() -> Result<()> {
    setup::python(setup::PYTHON)
}

/// The jobs that are asked for.
pub(crate) struct Choice {
    pub(crate) lang: Lang,
    /// Those of `When::All`, too.
    pub(crate) all: bool,
    /// These alone, unless it is empty.
    pub(crate) only: Vec<String>,
}

impl Choice {
    fn jobs(&self) -> Result<Vec<Job>> {
        let names = || JOBS.iter().map(|job| job.name);
        if let Some(unknown) = self.only.iter().find(|only| names().all(|name| name != **only)) {
            bail!("no job is called {unknown}; there are: {}", names().collect::<Vec<_>>().join(", "));
        }
        let mut jobs = JOBS.to_vec();
        if self.only.is_empty() {
            jobs.retain(|job| (self.all || job.when == Push) && (self.lang == Lang::All || job.lang == self.lang));
        } else {
            jobs.retain(|job| self.only.iter().any(|only| only == job.name));
        }
        Ok(jobs)
    }
}

/// How a job went.
struct Outcome {
    name: &'static str,
    took: Duration,
    passed: bool,
}

/// Runs the jobs in two lanes. Goes on after a failure, so that one run says everything.
pub(crate) fn test(choice: &Choice) -> Result<()> {
    let jobs = Mutex::new(choice.jobs()?);
    setup::system(choice.lang)?;
    let begun = Instant::now();
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for lane in [Dev, Products] {
            let (jobs, outcomes) = (&jobs, &outcomes);
            scope.spawn(move || {
                loop {
                    // No lock is held while the job runs.
                    let job = next(lane, &mut lock(jobs));
                    let Some(job) = job else { break };
                    let outcome = run(job);
                    lock(outcomes).push(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    say!("");
    for Outcome { name, took, passed } in &outcomes {
        say!("  {name:<16}{:>12}  {}", shown(*took), if *passed { "passed" } else { "FAILED" });
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    say!("  {:<16}{:>12}\n", "all", shown(begun.elapsed()));
    say!("{} passed, {failed} failed", outcomes.len() - failed);
    if failed > 0 {
        bail!("not everything passed");
    }
    Ok(())
}

/// Takes the next job of a lane: one of its own, or one that either lane may run.
fn next(lane: Lane, jobs: &mut Vec<Job>) -> Option<Job> {
    let own = jobs.iter().position(|job| job.lane == lane);
    let at = own.or_else(|| jobs.iter().position(|job| job.lane == Either))?;
    Some(jobs.remove(at))
}

/// Runs a job, whose output is printed when it has ended: the lines of two jobs at once could not be told apart.
fn run(job: Job) -> Outcome {
    let begun = Instant::now();
    let (result, printed) = shell::captured(job.name, job.run);
    let took = begun.elapsed();
    let mut text = format!("{}, {}\n{printed}", job.name, shown(took));
    if let Err(error) = &result {
        text += &format!("  {} FAILED: {error:#}\n", job.name);
    }
    shell::print(&text);
    Outcome { name: job.name, took, passed: result.is_ok() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_has_a_name_of_its_own() {
        let mut names: Vec<_> = JOBS.iter().map(|job| job.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), JOBS.len());
    }

    #[test]
    fn a_lane_takes_its_own_jobs_before_those_of_either() {
        let choice = Choice { lang: Lang::All, all: true, only: Vec::new() };
        let mut jobs = choice.jobs().unwrap();
        let mut taken = Vec::new();
        while let Some(job) = next(Products, &mut jobs) {
            taken.push(job.lane);
        }
        assert!(taken.is_sorted_by_key(|lane| *lane == Either), "{}", taken.len());
        assert!(jobs.iter().all(|job| job.lane == Dev) && !jobs.is_empty());
    }

    #[test]
    fn contributing_lists_what_only_all_runs() {
        let text = std::fs::read_to_string(shell::root().join("CONTRIBUTING.md")).unwrap();
        for job in JOBS.iter().filter(|job| job.when == All) {
            assert!(text.contains(&format!("| {} |", job.name)), "CONTRIBUTING.md does not list {}", job.name);
        }
    }

    #[test]
    fn an_unknown_job_is_told_the_names() {
        let choice = Choice { lang: Lang::All, all: false, only: vec!["hose".into()] };
        let error = choice.jobs().unwrap_err().to_string();
        assert!(error.starts_with("no job is called hose; there are: house, format"), "{error}");
    }
}
