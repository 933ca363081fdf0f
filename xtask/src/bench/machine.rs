//! The machine that was measured on, because a figure without it says little, and the core that the programs are kept on.

use crate::shell;
use serde_json::{Map, Value};
use std::fs;
use std::process::Command;

/// The machine beside the figures: processor, cores, system, versions, commit, day, pinned or not.
pub(crate) fn facts(quick: bool) -> Map<String, Value> {
    let first = |program: &str, args: &[&str]| {
        let said = shell::output(shell::command(program).args(args)).unwrap_or_default();
        said.lines().next().unwrap_or_default().to_owned()
    };
    let changed = !first("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    let commit = first("git", &["rev-parse", "--short=10", "HEAD"]) + if changed { " and changes" } else { "" };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let python = shell::output(shell::command(shell::python()).arg("--version")).unwrap_or_default();
    [
        ("processor", processor()),
        ("cores", cores.to_string()),
        ("system", first("uname", &["-srm"])),
        ("rustc", first("rustc", &["--version"])),
        ("node", first("node", &["--version"])),
        ("python", python),
        ("gcc", first("gcc", &["--version"])),
        ("commit", commit),
        ("day", first("date", &["-u", "+%F"])),
        ("pinned", pin().map_or_else(|| "no: no taskset here".to_owned(), |core| format!("to core {core}"))),
        ("rounds", if quick { "few (--quick)" } else { "all" }.to_owned()),
    ]
    .into_iter()
    .map(|(name, fact)| (name.to_owned(), Value::String(fact)))
    .collect()
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// The processor that all measured programs run on: the last processor that this process may use, because most
/// systems serve their interrupts on the first. None where there is no `taskset`.
pub(crate) fn pin() -> Option<usize> {
    if !shell::has("taskset") {
        return None;
    }
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim().rsplit([',', '-']).next()?.parse().ok()
}

/// A program that stays on one core, where that can be had.
pub(crate) fn pinned(program: &Command) -> Command {
    let Some(core) = pin() else {
        let mut same = shell::command(program.get_program());
        same.args(program.get_args());
        return same;
    };
    let mut taskset = shell::command("taskset");
    taskset.args(["-c", &core.to_string()]).arg(program.get_program()).args(program.get_args());
    taskset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_program_is_the_same_program() {
        let mut program = Command::new("program");
        program.args(["--quick", "--only", "8 delays"]);
        let command = pinned(&program);
        let all: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
        assert!(all.ends_with(&["program", "--quick", "--only", "8 delays"].map(AsRef::as_ref)), "{all:?}");
    }
}
