//! The commands and their arguments.

use crate::host::{Answer, Host, Output};
use crate::{audit, convert, explain, presets, replay, rule, scan, simulate, style};
use clap::{ColorChoice, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;

/// See what a retry policy does, before it happens.
#[derive(Parser)]
#[command(name = "holdoff", version, arg_required_else_help = true, styles = style::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Colours: by themselves in a terminal, unless `NO_COLOR` is set.
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
    /// Print the completions for a shell: `holdoff completions bash > ~/.local/share/bash-completion/completions/holdoff`.
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
        Ok(Arguments { command, color }) => (color, command.run(&host)),
        Err(error) => {
            let text = error.render().ansi().to_string();
            return match error.exit_code() {
                0 => text.into(),
                _ => Output { err: text, code: 2, ..Output::default() },
            };
        }
    };
    let output = answer.unwrap_or_else(|text| Output { err: text + "\n", code: 2, ..Output::default() });
    Output { color, ..output }
}

impl Command {
    fn run(self, host: &Host<'_>) -> Answer {
        match self {
            Self::Explain(explain) => explain.run(host),
            Self::Scan(scan) => scan.run(host),
            Self::Rule(rule) => rule.run(),
            Self::Audit(audit) => audit.run(host),
            Self::Simulate(simulate) => simulate.run(host),
            Self::Replay(replay) => replay.run(host),
            Self::Convert(convert) => convert.run(host),
            Self::Presets(presets) => presets.run(host),
            Self::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Arguments::command(), "holdoff", &mut script);
                Ok(String::from_utf8_lossy(&script).into_owned().into())
            }
        }
    }
}
