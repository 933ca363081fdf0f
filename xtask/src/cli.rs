//! Testing the command line: the binary, the npm package and the Python wheel are one program, and print the same.

use crate::python::{consumers, pip, wheels};
use crate::wasm::packages;
use crate::{python, rust, shell, wasm};
use anyhow::Result;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The completions of the binary in the shells.
pub(crate) fn completions() -> Result<()> {
    rust::program("holdoff")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(shell::target().join("debug")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders)?;
    for (program, arguments) in [("bash", &["--norc"][..]), ("zsh", &["-f"]), ("fish", &["--no-config"])] {
        let script = shell::root().join("cli/tests/completions/test").with_extension(program);
        let mut completed = shell::command(program);
        shell::step(&format!("completions in {program}"), completed.args(arguments).arg(script).env("PATH", &path))?;
    }
    Ok(())
}

/// The program of the tarball prints what the pages say.
pub(crate) fn test_npm() -> Result<()> {
    let tarball = wasm::dist()?;
    let folder = packages::scratch("cli")?;
    let mut install = shell::command("npm");
    install.args(["install", "--offline", "--legacy-peer-deps", "--silent", "--no-audit", "--no-fund"]);
    shell::step("installing the tarball in cli", install.current_dir(&folder).arg(tarball))?;
    pages("npx holdoff", &folder.join("node_modules/.bin/holdoff"))
}

/// The program of the wheel prints what the pages say, and so does `python -m holdoff`, in an empty environment.
pub(crate) fn test_wheels() -> Result<()> {
    python::build()?;
    let interpreter = consumers::installed("cli", &mut python::python(&[]), &[])?;
    let mut install = pip(&interpreter);
    install.arg("--no-index").arg(python::wheel()?).arg(wheels::for_host(&wheels::command_line())?);
    shell::step("install the wheels of the module and the command line", &mut install)?;
    pages("the wheel of the command line", &interpreter.with_file_name("holdoff"))?;
    let script = interpreter.with_file_name("python-m-holdoff");
    fs::write(&script, format!("#!/bin/sh\nexec '{}' -m holdoff \"$@\"\n", interpreter.display()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    pages("python -m holdoff", &script)
}

/// Runs the commands of the pages, and the scans of folders, with a program.
fn pages(what: &str, program: &Path) -> Result<()> {
    let mut cargo = rust::cargo_of_all("test");
    cargo.args(["--test", "pages", "--test", "scan", "--test", "same"]).env("HOLDOFF", program);
    shell::step(&format!("the pages and scans with {what}"), &mut cargo)
}
