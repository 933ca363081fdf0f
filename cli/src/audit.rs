//! `audit`: starts the Python distribution `holdoff-audit`, which runs a program and counts its requests.

use crate::host::{Answer, Host, Output, error};
use clap::{Args, Subcommand};
use std::ffi::OsString;

/// Exits with 1 unless the module is there, and prints nothing.
const PROBE: &str = "import importlib.util, sys; sys.exit(importlib.util.find_spec('holdoff_audit') is None)";

/// Count the requests of one call of a program, and find the loops that repeat them.
#[derive(Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run a Python program offline and answer its requests; needs `pip install holdoff-audit`. Its own `--help` lists the options.
    #[command(disable_help_flag = true)]
    Run {
        /// The Python that runs the program and has holdoff-audit.
        #[arg(long, value_name = "PATH", default_value = "python3", value_hint = clap::ValueHint::ExecutablePath)]
        python: String,
        /// Options such as `--fail 503` and `--most 3`, then the program and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_hint = clap::ValueHint::FilePath)]
        arguments: Vec<OsString>,
    },
}

impl Audit {
    pub(crate) fn run(self, host: &Host<'_>) -> Answer {
        let What::Run { python, arguments } = self.what;
        let Some(start) = host.start else {
            return Err(error("this package of holdoff cannot start a program; run: python3 -m holdoff_audit run"));
        };
        let start = |arguments: &[OsString]| {
            start(&python, arguments).map_err(|cause| {
                let other = "name a Python with --python, such as --python venv/bin/python";
                error(format_args!("{python}: {cause}; {other}"))
            })
        };
        if start(&["-c".into(), PROBE.into()])? != 0 {
            let install = format!("{python} -m pip install holdoff-audit");
            return Err(error(format_args!("{python}: holdoff-audit is not installed there; run: {install}")));
        }
        let command = ["-m", "holdoff_audit", "run"].map(OsString::from).into_iter();
        let code = start(&command.chain(arguments).collect::<Vec<_>>())?;
        Ok(Output { code, ..Output::default() })
    }
}
