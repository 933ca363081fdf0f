//! The commands and their arguments.

use crate::host::{Answer, Host, Output};
use crate::{audit, completions, convert, explain, presets, replay, rule, scan, simulate, style};
use clap::{ColorChoice, CommandFactory, Parser, Subcommand};
use holdoff_core::Preset;
use std::ffi::OsString;

/// See what a retry policy does, before it happens.
#[derive(Parser)]
#[command(name = "holdoff", version, styles = style::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// When to use colour (default: in a terminal, unless `NO_COLOR` is set).
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    color: ColorChoice,
}

#[derive(Subcommand)]
enum Command {
    Explain(explain::Explain),
    #[command(visible_alias = "check", alias = "lint")]
    Scan(scan::Scan),
    Rule(rule::Rule),
    Audit(audit::Audit),
    Simulate(simulate::Simulate),
    Replay(replay::Replay),
    Convert(convert::Convert),
    Presets(presets::Presets),
    /// Print the completions of a shell: `holdoff completions bash > ~/.local/share/bash-completion/completions/holdoff`.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Runs the program. The first argument is the name by which it was called.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>, host: Host<'_>) -> Output {
    let command = Arguments::command().term_width(host.width);
    let parsed = command.try_get_matches_from(arguments).and_then(|found| {
        use clap::FromArgMatches as _;
        Arguments::from_arg_matches(&found)
    });
    let (color, answer) = match parsed {
        Ok(Arguments { command, color }) => {
            (color, command.map_or_else(|| Ok(first(&host).into()), |command| command.run(&host)))
        }
        Err(error) => {
            let text = error.render().ansi().to_string();
            return match error.exit_code() {
                0 => text.into(),
                _ => Output { err: style::fitted(&text, host.width) + "\n", code: 2, ..Output::default() },
            };
        }
    };
    let failed = |text: String| Output { err: style::fitted(&text, host.width) + "\n", code: 2, ..Output::default() };
    let output = answer.unwrap_or_else(failed);
    Output { color, ..output }
}

/// The commands to begin with, each with what it does.
const FIRST: [(&str, &str); 3] = [
    ("holdoff scan", "find mistakes in the retries of this folder"),
    ("holdoff explain polly", "the same table for another policy, or for a file"),
    ("holdoff simulate polly", "10,000 clients and a server that fails for 30 s"),
];

/// The default policy, and the commands to begin with: what is printed without a command.
fn first(host: &Host<'_>) -> String {
    let mut out = style::styled(style::BOLD, "The default policy, which `holdoff explain default` prints:");
    out += &format!("\n\n{}\n", explain::preset(Preset::Default, host.width));
    let widest = FIRST.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, about) in FIRST {
        let line = format!("{}  {about}", style::styled(style::BOLD, format!("{command:widest$}")));
        out += &format!("{}\n", style::filled(&line, host.width, &" ".repeat(widest + 2)));
    }
    out + "\n`holdoff --help` lists all commands.\n"
}

impl Command {
    fn run(self, host: &Host<'_>) -> Answer {
        match self {
            Self::Explain(explain) => explain.run(host),
            Self::Scan(scan) => scan.run(host),
            Self::Rule(rule) => rule.run(host),
            Self::Audit(audit) => audit.run(host),
            Self::Simulate(simulate) => simulate.run(host),
            Self::Replay(replay) => replay.run(host),
            Self::Convert(convert) => convert.run(host),
            Self::Presets(presets) => presets.run(host),
            Self::Completions { shell } => Ok(completions::script(shell, Arguments::command()).into()),
        }
    }
}
