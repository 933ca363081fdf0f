//! `presets`: the policies that have a name.

use crate::convert::pretty;
use crate::host::{Answer, Host};
use crate::input::of_preset;
use crate::style::{BOLD, styled};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use holdoff_core::Preset;
use std::fmt::Write as _;

/// List the presets, or print one as a document.
#[derive(Args)]
pub(crate) struct Presets {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Print the names of the presets and their sources (the default).
    List,
    /// Print a preset as a policy document.
    Show {
        /// The name of the preset.
        #[arg(value_parser = preset())]
        name: Preset,
    },
}

fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name))
        .try_map(|name| Preset::from_name(&name).ok_or("is no preset"))
}

impl Presets {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let Some(What::Show { name }) = self.what else { return Ok(list(host.width).into()) };
        Ok(pretty(&of_preset(name).to_json()).into())
    }
}

fn list(width: usize) -> String {
    let longest = Preset::ALL.iter().map(|preset| preset.name().len()).max().unwrap_or_default();
    let mut out = String::new();
    for preset in Preset::ALL {
        let source = preset.doc().replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ");
        // Beside the names in a wide terminal, below them in a narrow one.
        let beside = width >= longest + 40;
        let indent = " ".repeat(if beside { longest + 2 } else { 4 });
        let options = textwrap::Options::new(width).initial_indent(&indent).subsequent_indent(&indent);
        let text = textwrap::fill(&source, options);
        let _ = if beside {
            let name = format!("{:longest$}", preset.name());
            writeln!(out, "{}{}", styled(BOLD, name), text.get(longest..).unwrap_or_default())
        } else {
            writeln!(out, "{}\n{text}", styled(BOLD, preset.name()))
        };
    }
    out
}
