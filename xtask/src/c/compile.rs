//! Compiling programs against the installed library.

use crate::shell;
use anyhow::Result;
use std::path::Path;

/// The flags that every C and C++ file here compiles with.
pub(super) const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// The answer of pkg-config about the installed prefix.
pub(super) fn pkg_config(prefix: &Path, arguments: &[&str]) -> Result<Vec<String>> {
    let mut command = shell::command("pkg-config");
    command.args(arguments).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    Ok(shell::output(&mut command)?.split_whitespace().map(str::to_owned).collect())
}

/// Lets a program find the shared library without being installed.
pub(super) fn rpath(prefix: &Path) -> String {
    format!("-Wl,-rpath,{}", prefix.join("lib").display())
}
