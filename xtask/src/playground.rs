//! The storm lab: a page of one file that is the core and the simulator as wasm; and the small lab of the start page.

use crate::wasm::bindgen;
use crate::{rust, setup, shell, storm};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that become modules, each with the name of its module.
const CRATES: [(&str, &str); 2] = [("playground", "playground"), ("mini-lab", "mini_lab")];

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

/// Builds the page and the small lab, and says where the page is.
pub(crate) fn build() -> Result<PathBuf> {
    setup::npm(&["playground"])?;
    let mut cargo = shell::cargo();
    cargo.args(["build", "--quiet", "--target", "wasm32-unknown-unknown", "--profile", "bindgen"]);
    cargo.args(CRATES.iter().flat_map(|(package, _)| ["-p", package]));
    shell::step("compiling the storm lab", &mut cargo)?;
    let modules = shell::target().join("playground");
    fs::create_dir_all(&modules)?;
    for (_, name) in CRATES {
        let module = shell::target().join(format!("wasm32-unknown-unknown/bindgen/{name}.wasm"));
        bindgen::run(&module, &modules, name)?;
    }
    shell::step("making one file of the storm lab", node("build.mjs").arg(&modules))?;
    Ok(folder().join("dist/index.html"))
}

/// Its types and style, and the page in a browser: among others that its numbers and findings are those of the command line.
pub(crate) fn test() -> Result<()> {
    let page = build()?;
    shell::step("types of the storm lab", tool("tsc").args(["--project", "tsconfig.json"]))?;
    let shots = shell::target().join("playground-shots");
    fs::create_dir_all(&shots)?;
    let run = folder().join("test/run.json");
    let outcome = shots.join("outcome.json");
    fs::write(&outcome, shell::output(storm::simulation()?.arg("--run").arg(&run))?)?;
    let command_line = rust::program("holdoff")?.get_program().to_owned();
    let test = |what: &str, script: &str, arguments: &[&Path]| {
        let mut test = node(script);
        test.args(arguments).env("HOLDOFF", &command_line);
        if let Some(browser) = shell::browser() {
            test.env("CHROMIUM", browser);
        }
        shell::step(what, &mut test)
    };
    test("the numbers of the storm lab", "test/same.mjs", &[&shell::target().join("playground")])?;
    test("the storm lab in a browser", "test/check.mjs", &[&page, &run, &outcome, &shots])?;
    test("the lab of the start page in a browser", "test/mini.mjs", &[&folder().join("dist"), &shots])
}
