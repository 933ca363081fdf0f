//! One flaky server, five hosts: builds the packages as they ship, hosts that use them, and lets the `demo` crate compare.

use crate::{c, python, rust, setup, shell, wasm};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The seed unless another is given.
pub(crate) const SEED: u64 = 7;

/// The demo with the packages that the tests have built.
pub(crate) fn test() -> Result<()> {
    demo(SEED, || rust::build(&BINARIES), wasm::dist)
}

/// Builds what the hosts need and nothing else, starts the server, runs every host against it and compares.
pub(crate) fn build_and_run(seed: u64) -> Result<()> {
    setup::demo()?;
    let mut cargo = shell::cargo();
    cargo.args(["build", "--quiet", "--package", "demo"]).args(BINARIES);
    demo(seed, || shell::step("building the server and the Rust host", &mut cargo), wasm::main_entry)
}

/// The server, which compares the hosts, too, and the host in Rust.
const BINARIES: [&str; 4] = ["--bin", "demo", "--bin", "host_rust"];

fn demo(seed: u64, binaries: impl FnOnce() -> Result<()>, tarball: fn() -> Result<PathBuf>) -> Result<()> {
    let folder = shell::target().join("demo");
    fs::create_dir_all(&folder)?;
    // The hosts of Python and C take longest to build.
    let server_and_javascript = || {
        binaries()?;
        javascript(&folder, &tarball()?)
    };
    let others = ("hosts of Python and C", || Ok((python_host(&folder)?, c_host(&folder)?)));
    let (javascript, (python, c)) = shell::both(server_and_javascript, others)?;
    let hosts = json!([
        { "name": "rust", "command": [shell::target().join("debug/host_rust")] },
        { "name": "node", "command": ["node", javascript.join("node.mjs")] },
        browser()?,
        python,
        { "name": "c", "command": [c] },
    ]);
    let list = folder.join("hosts.json");
    fs::write(&list, serde_json::to_vec_pretty(&hosts)?)?;

    let mut compare = shell::command(shell::target().join("debug/demo"));
    compare.arg("--hosts").arg(&list).arg("--page").arg(&javascript).arg("--seed").arg(seed.to_string());
    if seed == SEED {
        compare.arg("--shown-in").arg(shell::root().join("docs/evidence.md"));
    }
    shell::run(&mut compare).context("the hosts do not agree")
}

/// The scripts beside the packed package, as npm would install it; the page finds its modules there, too.
fn javascript(folder: &Path, tarball: &Path) -> Result<PathBuf> {
    setup::npm(&["examples/demo/javascript"])?;
    let scripts = folder.join("javascript");
    let package = scripts.join("node_modules/holdoff");
    clear(&package)?;
    for entry in fs::read_dir(shell::root().join("examples/demo/javascript"))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), scripts.join(entry.file_name()))?;
        }
    }
    let mut unpack = shell::command("tar");
    unpack.arg("--extract").arg("--file").arg(tarball).arg("--directory").arg(&package).arg("--strip-components=1");
    shell::output(&mut unpack)?;
    Ok(scripts)
}

/// The driver stays where npm has installed what it imports.
fn browser() -> Result<Value> {
    let chromium = shell::browser().context("no Chromium is installed")?;
    let driver = shell::root().join("examples/demo/javascript/browser.mjs");
    Ok(json!({ "name": "browser", "command": ["node", driver], "env": { "CHROMIUM": chromium } }))
}

/// The wheel in a folder of its own: an installation in the shared environment would be left behind for the tests.
fn python_host(folder: &Path) -> Result<Value> {
    setup::python(&[setup::BUILD, setup::HOST])?;
    let wheel = python::wheel()?;
    let packages = folder.join("python");
    clear(&packages)?;
    let mut pip = shell::command(shell::python());
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--target"]);
    shell::step("installing the wheel", pip.arg(&packages).arg(&wheel))?;
    let script = shell::root().join("examples/demo/python/host.py");
    let env = json!({ "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1" });
    Ok(json!({ "name": "python", "command": [shell::python(), script], "env": env }))
}

fn c_host(folder: &Path) -> Result<PathBuf> {
    let prefix = c::dist()?;
    let program = folder.join("host_c");
    let mut flags = shell::command("pkg-config");
    flags.args(["--cflags", "--libs", "holdoff", "libcurl", "libcjson"]);
    let flags = shell::output(flags.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")))?;
    let mut compile = shell::command("gcc");
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "examples/demo/c/host.c", "-o"]).arg(&program);
    compile.args(flags.split_whitespace()).arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    shell::step("compiling the C host", &mut compile)?;
    Ok(program)
}

/// An empty folder.
fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}
