//! The npm package `holdoff-bullmq`.

use crate::{setup, shell, wasm};
use anyhow::Result;
use std::path::PathBuf;

fn package() -> PathBuf {
    shell::root().join("engines/bullmq")
}

/// Builds and packs it; needs a built `bindings-wasm/dist`.
pub(crate) fn dist() -> Result<PathBuf> {
    setup::npm(&["engines/bullmq"])?;
    let mut build = shell::command("node");
    shell::step("building holdoff-bullmq", build.current_dir(package()).arg("build.mjs"))?;
    wasm::pack(&package())
}

/// Every test of it, on its own and installed beside `holdoff`.
pub(crate) fn test() -> Result<()> {
    let holdoff = wasm::dist()?;
    let tarball = dist()?;
    let mut types = shell::command(package().join("node_modules/.bin/tsc"));
    types.current_dir(package()).args(["--project", "test/tsconfig.json"]);
    shell::step("types, as consumers see them", &mut types)?;
    wasm::unit_tests(&package())?;
    wasm::packages::consume("bullmq", &[&holdoff, &tarball], &package())
}
