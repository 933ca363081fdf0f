//! Folders of files, and the program on them.
//!
//! `HOLDOFF` names another program to run: the package of Node.js and that of Python are the same program.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("scan-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn put(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The program of the package that is tested.
pub(crate) fn program() -> OsString {
    std::env::var_os("HOLDOFF").unwrap_or_else(|| env!("CARGO_BIN_EXE_holdoff").into())
}

/// Runs a program in a folder.
pub(crate) fn run(program: OsString, folder: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).current_dir(folder).env("COLUMNS", "300").output().unwrap()
}

pub(crate) fn holdoff(folder: &Path, arguments: &[&str]) -> Output {
    run(program(), folder, arguments)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
