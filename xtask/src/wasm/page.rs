//! The crate `holdoff` in a web page, and where there is neither a page nor a clock.

use super::{bindgen, packages};
use crate::shell;
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs the crate in a browser, with the tools of the npm package, by the feature `web`; and without it on a clock of the program's.
pub(super) fn check(package: &Path) -> Result<()> {
    let folder = packages::scratch("rust-page")?;
    let source = shell::root().join("tests/packages/rust-page");
    fs::copy(compile("")?, folder.join("clockless.wasm"))?;
    bindgen::run(&compile("page")?, &folder, "rust_page")?;
    for name in ["index.html", "check.mjs"] {
        fs::copy(source.join(name), folder.join(name))?;
    }
    packages::copy_browser(&folder)?;
    let mut run = shell::command("node");
    run.current_dir(&folder).arg("check.mjs").env("TOOLS", package.join("node_modules"));
    if let Some(browser) = shell::browser() {
        run.env("CHROMIUM", browser);
    }
    shell::step("checking the Rust crate in a page", &mut run)
}

fn compile(features: &str) -> Result<PathBuf> {
    let mut cargo = shell::cargo();
    cargo.args(["build", "--quiet", "--target", "wasm32-unknown-unknown", "-p", "rust-page"]);
    cargo.args(["--profile", "bindgen", "--features", features]);
    shell::step("compiling the Rust crate for a page", &mut cargo)?;
    Ok(shell::target().join("wasm32-unknown-unknown/bindgen/rust_page.wasm"))
}
