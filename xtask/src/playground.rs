//! The storm lab: a page of one file that is the core and the simulator as wasm.

use crate::wasm::bindgen;
use crate::{setup, shell, storm};
use anyhow::Result;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const NAME: &str = "playground";

fn folder() -> PathBuf {
    shell::root().join("playground")
}

/// A program that npm has installed for the page, started in the page's folder.
fn tool(name: &str) -> Command {
    let mut command = shell::command(folder().join("node_modules/.bin").join(name));
    command.current_dir(folder());
    command
}

fn node(script: &str) -> Command {
    let mut command = shell::command("node");
    command.current_dir(folder()).arg(script);
    command
}

/// Builds the page, and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    setup::npm(&["playground"])?;
    let mut cargo = shell::cargo();
    cargo.args(["build", "--quiet", "--target", "wasm32-unknown-unknown", "-p", NAME, "--profile", "bindgen"]);
    shell::step("compiling the storm lab", &mut cargo)?;
    let modules = shell::target().join(NAME);
    fs::create_dir_all(&modules)?;
    bindgen::run(&shell::target().join("wasm32-unknown-unknown/bindgen/playground.wasm"), &modules, NAME)?;
    shell::step("making one file of the storm lab", node("build.mjs").arg(&modules).arg(NAME))?;
    Ok(folder().join("dist/index.html"))
}

/// Its types and style, and the page in a browser: among others that its numbers are those of `cargo xtask storm --run`.
pub(crate) fn test() -> Result<()> {
    let page = build()?;
    shell::step("types of the storm lab", tool("tsc").args(["--project", "tsconfig.json"]))?;
    let shots = shell::target().join("playground-shots");
    fs::create_dir_all(&shots)?;
    let run = folder().join("test/run.json");
    let outcome = shots.join("outcome.json");
    fs::write(&outcome, shell::output(storm::simulation()?.arg("--run").arg(&run))?)?;
    let mut check = node("test/check.mjs");
    check.arg(page).args([run, outcome, shots]);
    if let Some(browser) = shell::browser() {
        check.env("CHROMIUM", browser);
    }
    shell::step("the storm lab in a browser", &mut check)
}
