//! The project's own Python and the programs that its packages bring.

use crate::shell;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the binding.
pub(crate) fn binding() -> PathBuf {
    shell::root().join("bindings-python")
}

/// The project's Python, which leaves no compiled files in the repository.
pub(crate) fn python(args: &[&str]) -> Command {
    let mut command = shell::command(shell::python());
    command.env("PYTHONDONTWRITEBYTECODE", "1").args(args);
    command
}

/// A program that a Python package brings.
pub(crate) fn tool(name: &str, args: &[&str]) -> Command {
    let mut command = shell::command(shell::python().with_file_name(name));
    command.env("PYTHONDONTWRITEBYTECODE", "1").args(args);
    command
}

pub(crate) fn pip(interpreter: &Path) -> Command {
    let mut command = shell::command(interpreter);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}
