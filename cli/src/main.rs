//! The command line of holdoff, see `holdoff --help`.

use holdoff_cli::{Host, run};
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _, stdin};
use std::process::ExitCode;

/// The columns of an output that is no terminal.
const COLUMNS: usize = 80;

fn main() -> ExitCode {
    let output = run(std::env::args_os(), Host { read: &read, width: width() });
    // A reader that has gone away, such as `head`, is no error.
    let _ = anstream::stdout().write_all(output.out.as_bytes());
    let _ = anstream::stderr().write_all(output.err.as_bytes());
    output.code.into()
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = if path == "-" { stdin().read_to_end(&mut bytes).map(|_| bytes) } else { fs::read(path) };
    read.map_err(|error| match error.kind() {
        // The same words on every system.
        ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })
}

/// `COLUMNS` if it is set, or else the terminal's.
fn width() -> usize {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| width.0.into());
    set.or_else(terminal).unwrap_or(COLUMNS)
}
