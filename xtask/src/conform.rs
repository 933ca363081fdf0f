//! Running vectors in every language.

use crate::shell::say;
use crate::{Lang, c, python, ruby, rust, shell, wasm};
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs every vector file under `dir` in each language: one line a file, and an error when anything failed.
pub(crate) fn conform(lang: Lang, dir: Option<PathBuf>) -> Result<()> {
    let dir = match dir {
        Some(dir) => std::env::current_dir()?.join(dir),
        None => shell::root().join("tests/vectors"),
    };
    if !dir.exists() {
        bail!("{} is not there", dir.display());
    }
    let mut failed = Vec::new();
    for lang in lang.each() {
        let mut runners = vec![runner(lang, &dir)?];
        if lang == Lang::C {
            runners.push(("ruby", ruby::runner(&dir)?));
        }
        for (name, mut command) in runners {
            say!("{name}");
            if shell::run(&mut command).is_err() {
                failed.push(name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("vectors failed in {}", failed.join(", "));
    }
    Ok(())
}

/// The name of a language and its runner, built and ready to start.
fn runner(lang: Lang, dir: &Path) -> Result<(&'static str, Command)> {
    Ok(match lang {
        Lang::Rust => ("rust", rust::runner(dir)?),
        Lang::Wasm => ("wasm", wasm::runner(dir)?),
        Lang::Python => ("python", python::runner(dir)?),
        Lang::C | Lang::All => ("c", c::runner(dir)?),
    })
}

/// How many random sessions every language plays, and a quarter as many of calls that share guards.
const SESSIONS: &str = "10000";
/// How many random logs.
pub(crate) const LOGS: u64 = 100_000;
/// How many of them in a run of the tests before a push.
const FEW_LOGS: u64 = 10_000;

/// Plays random sessions, new ones each time unless seeded, in each language: every step must be the same bit for bit. Then plays random
/// logs, crashes included, which each language draws by itself: their digests must be the same.
pub(crate) fn agree(lang: Lang, seed: Option<u64>, count: u64) -> Result<()> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seed = seed.unwrap_or(since.as_secs());
    let folder = shell::target().join("sessions");
    shell::output(&mut sessions(seed, &folder)?)?;
    say!("{SESSIONS} random sessions, seed {seed}");
    conform(lang, Some(folder))?;
    say!("{count} random logs, seed {seed}");
    logs(lang, seed, count)
}

/// Random sessions and some random logs in every language.
pub(crate) fn agree_in_few() -> Result<()> {
    agree(Lang::All, None, FEW_LOGS)
}

/// Random sessions and all random logs in every language.
pub(crate) fn agree_in_all() -> Result<()> {
    agree(Lang::All, None, LOGS)
}

/// Writes the random sessions of a seed; prints the digests of the single calls and of the calls that share guards.
fn sessions(seed: u64, folder: &Path) -> Result<Command> {
    fs::create_dir_all(folder)?;
    let mut sessions = rust::program("sessions")?;
    sessions.args([&seed.to_string(), SESSIONS]).arg(folder);
    Ok(sessions)
}

/// Plays so many random logs; prints their digest.
fn logs_of(runner: &Command, seed: u64, count: u64) -> Command {
    let mut logs = again(runner);
    logs.args(["--logs", &count.to_string(), "--seed", &seed.to_string()]);
    logs
}

/// Fails when Rust decides differently from when tests/digests.json was written. The file has, for each seed, the digests of
/// its random sessions and logs.
pub(crate) fn digests() -> Result<()> {
    let file = shell::root().join("tests/digests.json");
    let seeds: BTreeMap<u64, BTreeMap<String, String>> = serde_json::from_str(&fs::read_to_string(file)?)?;
    let (_, runner) = runner(Lang::Rust, &shell::root().join("tests/vectors"))?;
    for (seed, digests) in seeds {
        let sessions = sessions(seed, &shell::target().join("digests"))?;
        let printed = shell::outputs(vec![sessions, logs_of(&runner, seed, LOGS)])?;
        let now: Vec<_> = printed.iter().flat_map(|lines| lines.lines()).collect();
        let names = ["calls", "guarded", "logs"];
        if now.len() != names.len() {
            bail!("seed {seed} has {} digests instead of {}", now.len(), names.len());
        }
        for (name, digest) in names.into_iter().zip(now) {
            let recorded =
                digests.get(name).with_context(|| format!("tests/digests.json has no {name} of seed {seed}"))?;
            if digest != *recorded {
                bail!("a decision changed: the {name} of seed {seed} have the digest {digest} instead of {recorded}");
            }
        }
        say!("the decisions of seed {seed} are those of tests/digests.json");
    }
    Ok(())
}

/// Compares the digests of random logs. That of Rust is made in any case, so that there are two to compare.
fn logs(lang: Lang, seed: u64, count: u64) -> Result<()> {
    let others = lang.each().into_iter().filter(|lang| *lang != Lang::Rust);
    let (mut names, mut runners) = (Vec::new(), Vec::new());
    for lang in std::iter::once(Lang::Rust).chain(others) {
        let (name, command) = runner(lang, &shell::root().join("tests/vectors"))?;
        names.push(name);
        runners.push(command);
    }
    let digests = shell::outputs(runners.iter().map(|runner| logs_of(runner, seed, count)).collect())?;
    for (name, digest) in names.iter().zip(&digests) {
        say!("{name}: {digest}");
        if digest.len() != 16 {
            bail!("{name} printed no digest");
        }
    }
    match digests.split_first() {
        Some((first, rest)) if rest.iter().all(|digest| digest == first) => relay(&runners),
        _ => bail!("the logs of seed {seed} are not the same in all languages"),
    }
}

/// Lets each language go on with the log of the one before it, twice around; Rust alone must come to the same log.
fn relay(runners: &[Command]) -> Result<()> {
    let folder = shell::target().join("relay");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let legs = runners.iter().cycle().take(runners.len() * 2);
    for (leg, alone) in legs.zip(std::iter::repeat(&runners[0])) {
        for (runner, log) in [(leg, "all.jsonl"), (alone, "rust.jsonl")] {
            shell::run(again(runner).arg("--relay").arg(folder.join(log)))?;
        }
        for ending in ["jsonl", "bin"] {
            let [all, rust] = ["all", "rust"].map(|name| fs::read(folder.join(name).with_extension(ending)));
            if all? != rust? {
                bail!("the {ending} of {} is not what Rust writes", leg.get_program().display());
            }
        }
    }
    say!("one log, {} legs in {} languages: the same as in one", runners.len() * 2, runners.len());
    Ok(())
}

/// The same program, to be given other arguments.
fn again(command: &Command) -> Command {
    let mut again = shell::command(command.get_program());
    again.args(command.get_args());
    again.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    again
}
