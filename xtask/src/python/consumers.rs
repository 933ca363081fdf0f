//! The packages as users get them: installed into empty environments of every Python that can be had.

use super::interpreters;
use super::tools::{pip, python};
use super::wheels::{self, wheel};
use crate::shell;
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The wheel in an empty environment of the project's own Python.
pub(crate) fn test() -> Result<()> {
    let interpreter = installed("python", &mut python(&[]), &["--no-index".as_ref(), wheel()?.as_os_str()])?;
    consume("consumer script", shell::command(&interpreter))?;
    let mut mypy = python(&["-m", "mypy", "--strict", "--cache-dir"]);
    mypy.arg(shell::target().join("mypy-consumer")).arg("--python-executable").arg(&interpreter);
    shell::step("consumer types", mypy.arg(script("typed.py")))
}

/// The wheel in every other Python, and what the sources build.
pub(crate) fn interpreters() -> Result<()> {
    let wheel = wheel()?;
    for (version, program) in interpreters::installed() {
        let name = format!("python{version}");
        let interpreter = installed(&name, &mut shell::command(&program), &["--no-index".as_ref(), wheel.as_os_str()])?;
        consume(&format!("consumer script, Python {version}"), shell::command(interpreter))?;
    }
    let newest = interpreters::NEWEST;
    if newest.is_of_this_machine() {
        load(&newest, &wheel)?;
    }
    sources(&wheels::source()?)
}

/// Runs the consumer script with a wheel in a Python of Debian's.
pub(super) fn load(python: &interpreters::Debian, wheel: &Path) -> Result<()> {
    consume(&format!("consumer script, {python}"), python.command(&unpacked(wheel)?)?)
}

/// The module that pip builds from the sources alone, with what pip fetches for that.
fn sources(packed: &Path) -> Result<()> {
    let interpreter = installed("sources", &mut python(&[]), &[])?;
    let mut install = pip(&interpreter);
    // Without optimization, because only whether it builds is asked.
    install.env("MATURIN_PEP517_ARGS", "--profile dev").env("CARGO_TARGET_DIR", shell::target().join("sources"));
    shell::step("install the source distribution", install.arg("--no-cache-dir").arg(packed))?;
    consume("consumer script, built from the sources", shell::command(interpreter))
}

fn script(name: &str) -> PathBuf {
    shell::root().join("tests/packages/python").join(name)
}

fn consume(what: &str, mut interpreter: Command) -> Result<()> {
    // Not in the repository, where the package's sources are.
    shell::step(what, interpreter.arg(script("consume.py")).current_dir(shell::target().join("packages")))
}

/// The interpreter of an empty environment into which pip has installed something.
pub(crate) fn installed(name: &str, base: &mut Command, what: &[&std::ffi::OsStr]) -> Result<PathBuf> {
    let folder = shell::target().join("packages").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    shell::step(&format!("empty environment of {name}"), base.args(["-m", "venv"]).arg(&folder))?;
    let interpreter = folder.join("bin/python");
    if !what.is_empty() {
        shell::step("install the wheel alone", pip(&interpreter).args(what))?;
    }
    Ok(interpreter)
}

/// A folder with the content of a wheel, for an interpreter without pip.
fn unpacked(wheel: &Path) -> Result<PathBuf> {
    let folder = shell::target().join("packages").join(wheel.file_stem().unwrap_or_default());
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    shell::run(python(&["-m", "zipfile", "--extract"]).arg(wheel).arg(&folder))?;
    Ok(folder)
}
