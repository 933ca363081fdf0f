//! The command line of holdoff, see `holdoff --help`.

use anstream::{AutoStream, ColorChoice};
use holdoff_cli::{Entry, EntryKind, Host, Output, run};
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, IsTerminal as _, Read as _, Write as _, stderr, stdin, stdout};
use std::process::{Command, ExitCode};

/// The columns of an output that is no terminal.
const COLUMNS: usize = 80;

fn main() -> ExitCode {
    let progress: &dyn Fn(&str) = if stderr().is_terminal() { &progress } else { &|_| {} };
    let host =
        Host { read: &read, size: &size, list: &list, write: &write, start: Some(&start), progress, width: width() };
    let Output { color, out, err, code } = run(std::env::args_os(), host);
    let choice = match color {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    // A reader that has gone away, such as `head`, is no error.
    let _ = AutoStream::new(stdout(), choice).write_all(out.as_bytes());
    let _ = AutoStream::new(stderr(), choice).write_all(err.as_bytes());
    code.into()
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = if path == "-" { stdin().read_to_end(&mut bytes).map(|_| bytes) } else { fs::read(path) };
    read.map_err(|error| words(&error))
}

fn size(path: &str) -> Result<u64, String> {
    fs::metadata(path).map(|file| file.len()).map_err(|error| words(&error))
}

fn list(folder: &str) -> Result<Vec<Entry>, String> {
    let entries = fs::read_dir(folder).map_err(|error| words(&error))?;
    let entry = |entry: fs::DirEntry| {
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_dir() => EntryKind::Folder,
            Ok(kind) if kind.is_symlink() => EntryKind::Link,
            Ok(kind) if kind.is_file() => EntryKind::File,
            _ => EntryKind::Other,
        };
        match entry.file_name().into_string() {
            Ok(name) => Entry { name, kind },
            Err(name) => Entry { name: name.to_string_lossy().into_owned(), kind: EntryKind::Other },
        }
    };
    Ok(entries.flatten().map(entry).collect())
}

fn write(path: &str, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| words(&error))
}

fn start(program: &str, arguments: &[OsString]) -> Result<u8, String> {
    let status = Command::new(program).args(arguments).status();
    let status = status.map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no such program".to_owned(),
        _ => error.to_string(),
    })?;
    // A program that a signal ended has no code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// The same words on every system.
fn words(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::IsADirectory => "is a folder".to_owned(),
        _ => error.to_string(),
    }
}

/// A line of a terminal that is written again and again.
fn progress(text: &str) {
    let _ = write!(stderr(), "\r\x1b[2K{text}");
}

/// `COLUMNS` if it is set, or else the terminal's.
fn width() -> usize {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| width.0.into());
    set.or_else(terminal).unwrap_or(COLUMNS)
}
