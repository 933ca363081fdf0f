//! `completions`: the completions for a shell. Where a policy is expected, they have the presets beside the files.

use clap::builder::PossibleValuesParser;
use clap::{Command, ValueHint};
use clap_complete::{Shell, generate};
use holdoff_core::Preset;
use std::fmt::Write as _;

/// The arguments that take a preset or a file, each with its command.
const POLICIES: [(&str, &str); 5] =
    [("explain", "policy"), ("scan", "paths"), ("simulate", "policies"), ("convert", "policy"), ("replay", "policy")];

/// The script for a shell.
pub(crate) fn script(shell: Shell, command: Command) -> String {
    let names = Preset::ALL.map(Preset::name);
    let list = names.join(" ");
    let parser = || PossibleValuesParser::new(names);
    // In bash a word that is none of the values is completed as a file.
    let mut command = match shell {
        Shell::Bash => POLICIES.iter().fold(command, |command, (name, argument)| {
            command.mut_subcommand(name, |of| {
                of.mut_arg(argument, |argument| argument.value_parser(parser()).value_hint(ValueHint::Unknown))
            })
        }),
        _ => command,
    };
    let mut script = Vec::new();
    generate(shell, &mut command, "holdoff", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Zsh => {
            let both = format!(":{{_alternative \"presets:preset:({list})\" \"files:file:_files\"}}'");
            let is_policy = |line: &str| {
                ["':policy -- ", "'*::policies -- ", "'*::paths -- ", "'--policy=["]
                    .iter()
                    .any(|start| line.starts_with(start))
            };
            let line = |line: &str| match line.split_once(":_files'") {
                Some((before, after)) if is_policy(line) => format!("{before}{both}{after}\n"),
                _ => format!("{line}\n"),
            };
            script.lines().map(line).collect()
        }
        Shell::Fish => {
            for (name, argument) in POLICIES {
                let option = if name == "replay" { format!("-l {argument} -r ") } else { String::new() };
                let _ = writeln!(
                    script,
                    "complete -c holdoff -n \"__fish_holdoff_using_subcommand {name}\" {option}-a \"{list}\""
                );
            }
            script
        }
        _ => script,
    }
}
