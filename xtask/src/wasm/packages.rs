//! The tarball in throw-away projects: what is tested is what is shipped.

use crate::shell;
use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Installs tarballs into a copy of a project of tests/packages, and runs the copy with the tools of a package of ours.
pub(crate) fn consume(name: &str, tarballs: &[&Path], package: &Path) -> Result<()> {
    let folder = scratch(name)?;
    copy(&shell::root().join("tests/packages").join(name), &folder)?;
    copy_browser(&folder)?;
    let mut install = shell::command("npm");
    // A consumer that installs nothing else needs no network, and so no peers of what it installs.
    install.args(["install", "--offline", "--legacy-peer-deps", "--silent", "--no-audit", "--no-fund", "--no-save"]);
    shell::step(&format!("installing the tarball in {name}"), install.current_dir(&folder).args(tarballs))?;
    let mut run = shell::command("npm");
    run.current_dir(&folder).args(["run", "--silent", "check"]);
    let tools = package.join("node_modules");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(tools.join(".bin")).chain(std::env::split_paths(&path));
    run.env("PATH", std::env::join_paths(dirs)?).env("TOOLS", &tools);
    if let Some(browser) = shell::browser() {
        run.env("CHROMIUM", browser);
    }
    shell::step(&format!("checking {name}"), &mut run)
}

/// Copies what several projects need to open pages in a browser.
pub(super) fn copy_browser(folder: &Path) -> Result<()> {
    fs::copy(shell::root().join("tests/packages/browser.mjs"), folder.join("browser.mjs"))?;
    Ok(())
}

/// An empty folder outside of the repository's own packages, so that nothing is found by chance.
pub(crate) fn scratch(name: &str) -> Result<PathBuf> {
    let folder = shell::target().join("consumers").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Makes a package that was just built importable from a folder.
pub(super) fn install_link(folder: &Path, built: &Path) -> Result<()> {
    let package = folder.join("node_modules/holdoff");
    copy(&built.join("dist"), &package.join("dist"))?;
    fs::copy(built.join("package.json"), package.join("package.json"))?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
