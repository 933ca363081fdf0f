//! `cargo xtask`: everything a person runs on this repository.

use anyhow::Result;
use clap::{Parser, Subcommand};
use lang::Lang;
use std::path::PathBuf;
use std::process::ExitCode;

mod audit;
mod baseline;
mod bench;
mod c;
mod cli;
mod conform;
mod crash;
mod demo;
mod docs;
mod engines;
mod fuzz;
mod generate;
mod house;
mod lang;
mod notices;
mod playground;
mod python;
mod ruby;
mod rust;
mod setup;
mod shell;
mod storm;
mod test;
mod wasm;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set up, build, test, conform, demo, bench.")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what is missing: wasm target, Python environment, npm packages, Debian packages when root.
    Setup {
        #[arg(long, default_value = "all")]
        lang: Lang,
    },
    /// Build what is shipped into target/dist: npm tarball, wheels of all platforms, sources, installed C library.
    Dist {
        #[arg(long, default_value = "all")]
        lang: Lang,
        /// Python wheels for every platform, not for this machine alone: takes a quarter of an hour.
        #[arg(long)]
        platforms: bool,
    },
    /// Run everything that CI runs.
    Test {
        #[arg(long, default_value = "all")]
        lang: Lang,
        /// Also what takes long and rarely breaks: CONTRIBUTING.md lists it.
        #[arg(long)]
        all: bool,
        /// Run this job alone; may be repeated.
        #[arg(long, value_name = "NAME", conflicts_with_all = ["lang", "all"])]
        only: Vec<String>,
    },
    /// Run the vectors of a folder (tests/vectors unless given) in each language.
    Conform {
        #[arg(long, default_value = "rust")]
        lang: Lang,
        dir: Option<PathBuf>,
    },
    /// Play 10,000 random sessions in each language and compare every step, then 100,000 random logs and compare what is
    /// written.
    Agree {
        #[arg(long, default_value = "all")]
        lang: Lang,
        /// The seed of the sessions; another one each time unless given.
        #[arg(long)]
        seed: Option<u64>,
        /// How many logs.
        #[arg(long, default_value_t = conform::LOGS)]
        logs: u64,
        /// Instead compare the decisions of Rust with those of the seeds in tests/digests.json.
        #[arg(long, conflicts_with_all = ["lang", "seed", "logs"])]
        digests: bool,
    },
    /// Write what is generated and checked in: vectors, header, table of numbers.
    Generate {
        /// For C only its headers and its interface.
        #[arg(long, value_enum, default_value_t = Lang::All)]
        lang: Lang,
    },
    /// Say whether any of it is stale, whether the sources keep the rules of the house, and whether something grew by more
    /// than a twentieth: the instructions of the hot paths, or the bytes of what is shipped.
    Check {
        /// Only read the sources: imports that go up or in a circle, long files, words that a stranger would have to learn, tests by a real clock.
        #[arg(long)]
        house: bool,
        /// Accept what is measured now: write benches/baseline.json anew.
        #[arg(long)]
        update: bool,
        /// Why something is to be larger than it was.
        #[arg(long, default_value = "", requires = "update")]
        why: String,
    },
    /// The cost of a retry, beside the least it can cost and beside other libraries, and the verdicts on the targets.
    Bench {
        #[arg(long, default_value = "all")]
        lang: Lang,
        /// Fewer rounds: all languages in a quarter of an hour.
        #[arg(long)]
        quick: bool,
        /// More rounds, and everybody with ten million timers at once, which takes minutes and two gigabytes.
        #[arg(long, conflicts_with = "quick")]
        full: bool,
        /// Measure nothing: judge and draw the results of the last run.
        #[arg(long, conflicts_with_all = ["lang", "quick", "full"])]
        again: bool,
    },
    /// Search for bytes that break what reads them; needs a nightly compiler.
    Fuzz {
        /// One target; all of tests/fuzz/fuzz_targets unless given.
        target: Option<String>,
        /// How long each one runs.
        #[arg(long, default_value_t = 600)]
        seconds: u64,
    },
    /// Show what each guard does to a retry storm: ten thousand clients and a server that fails, in virtual time.
    Storm {
        /// The seed of the fleet; only that of the checked-in tables compares with them.
        #[arg(long)]
        seed: Option<u64>,
        /// Write the checked-in tables.
        #[arg(long)]
        write: bool,
        /// Run only the policy and the scenario of this file, and print the result as JSON.
        #[arg(long, conflicts_with_all = ["seed", "write"])]
        run: Option<PathBuf>,
    },
    /// Build the storm lab, a page that works from disk: playground/dist/index.html.
    Playground,
    /// Kill workflows at random moments, fill their disk and stop their database: nothing may be lost.
    Crash {
        /// How many rounds in each database; a process is killed up to four times in each.
        #[arg(long, default_value_t = 300)]
        rounds: u32,
        #[arg(long, default_value = "both")]
        database: crash::Database,
        /// The seed of the rounds; another one each time unless given.
        #[arg(long)]
        seed: Option<u64>,
        /// Measure instead how late ten thousand durable retries begin.
        #[arg(long)]
        lateness: bool,
    },
    /// Build the documentation site into target/site: pages, search, references of all languages.
    Docs {
        /// Serve the built site on this machine.
        #[arg(long)]
        open: bool,
        /// Look at the built pages in a browser: accessibility, the keyboard, a narrow screen, no request to another host.
        #[arg(long)]
        look: bool,
        /// Look at the built pages in a browser, and run their blocks of code.
        #[arg(long, conflicts_with = "look")]
        test: bool,
    },
    /// Call one flaky server from five hosts and compare their decisions.
    Demo {
        /// The seed that all hosts share.
        #[arg(long, default_value_t = demo::SEED)]
        seed: u64,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Setup { lang } => setup::setup(lang),
        Task::Dist { lang, platforms } => {
            setup::setup(lang)?;
            for lang in lang.each() {
                match lang {
                    Lang::Wasm => {
                        println!("{}", wasm::dist()?.display());
                        println!("{}", engines::bullmq::dist()?.display());
                    }
                    Lang::Python => {
                        for file in python::dist(platforms)?.into_iter().chain(engines::dist()?).chain([audit::dist()?])
                        {
                            println!("{}", file.display());
                        }
                    }
                    Lang::C => {
                        let prefix = c::dist()?;
                        println!("{}\n{}", prefix.display(), c::packages::dist(&prefix)?.display());
                    }
                    Lang::Rust | Lang::All => {}
                }
            }
            Ok(())
        }
        Task::Test { lang, all, only } => test::test(&test::Choice { lang, all, only }),
        Task::Conform { lang, dir } => {
            setup::setup(lang)?;
            conform::conform(lang, dir)
        }
        Task::Agree { digests: true, .. } => conform::digests(),
        Task::Agree { lang, seed, logs, .. } => {
            setup::setup(lang)?;
            conform::agree(lang, seed, logs)
        }
        Task::Generate { lang } => {
            if lang != Lang::C {
                setup::setup(Lang::Python)?;
            }
            generate::generate(lang)
        }
        Task::Check { house: true, .. } => house::check(),
        Task::Check { update, why, .. } => {
            house::check()?;
            setup::setup(Lang::All)?;
            generate::check()?;
            if update { baseline::update(&why) } else { baseline::check() }
        }
        Task::Bench { again: true, .. } => bench::again(),
        Task::Bench { lang, quick, full, .. } => {
            setup::setup(lang)?;
            bench::bench(lang, quick, full)
        }
        Task::Fuzz { target, seconds } => fuzz::fuzz(target, seconds),
        Task::Storm { run: Some(file), .. } => storm::run(&file),
        Task::Storm { seed, write, .. } => storm::storm(seed, write),
        Task::Playground => {
            setup::setup(Lang::Wasm)?;
            println!("{}", playground::build()?.display());
            Ok(())
        }
        Task::Crash { lateness, .. } if lateness => {
            setup::setup(Lang::Python)?;
            crash::lateness()
        }
        Task::Crash { rounds, database, seed, .. } => {
            setup::setup(Lang::Python)?;
            crash::crash(rounds, database, seed)
        }
        Task::Docs { open, look, test } => {
            docs::build()?;
            if look {
                docs::look()?;
            }
            if test {
                docs::test_built()?;
            }
            if open { docs::open() } else { Ok(()) }
        }
        Task::Demo { seed } => demo::build_and_run(seed),
    }
}
