//! wasm-bindgen, as a program of its own: it takes minutes to compile.

use crate::shell;
use anyhow::Result;
use std::path::Path;

/// Writes the JavaScript around a module with wasm-bindgen's annotations, and the module, into a folder.
pub(crate) fn run(module: &Path, folder: &Path, name: &str) -> Result<()> {
    let mut bindgen = shell::cargo();
    bindgen.args(["run", "--quiet", "--release", "-p", "bindgen", "--"]).arg(module).arg(folder).arg(name);
    shell::step("wasm-bindgen", &mut bindgen)
}
