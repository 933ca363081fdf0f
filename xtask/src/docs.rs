//! The documentation site: the pages of docs/, built by Starlight, and the API references that each language's own tool prints.

use crate::{c, python, setup, shell, wasm};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the built site is.
fn built() -> PathBuf {
    shell::target().join("site")
}

/// A program of Node in the folder of the site.
fn node(program: &str, args: &[&str]) -> Command {
    let folder = shell::root().join("site");
    let mut node = shell::command(program);
    node.current_dir(folder).args(args).env("OUT", built()).env("ASTRO_TELEMETRY_DISABLED", "1");
    node
}

/// Builds the bindings that pages and references are printed from, then the site, and checks its links.
pub(crate) fn build() -> Result<()> {
    setup::site()?;
    python::build()?;
    wasm::build()?;
    site()
}

/// Tests the site, built from the bindings as they are: its links, its pages in a browser, and its blocks of code.
pub(crate) fn test() -> Result<()> {
    setup::site()?;
    site()?;
    look()?;
    blocks()
}

/// Builds the C library, and tests the built site.
pub(crate) fn test_built() -> Result<()> {
    c::dist()?;
    look()?;
    blocks()
}

/// The pages and the references, with links that lead somewhere.
fn site() -> Result<()> {
    pages()?;
    references()?;
    links()
}

/// Builds the pages, and adds the storm lab, and the small one of the start page, if they were built.
fn pages() -> Result<()> {
    shell::step("building the site", &mut node("npm", &["run", "--silent", "build"]))?;
    let lab = shell::root().join("playground/dist");
    if lab.join("index.html").exists() {
        copy(&lab, &built().join("lab"))?;
    }
    Ok(())
}

/// Adds the references that rustdoc, TypeDoc and pdoc print, each with a link back to the site. That of C is its headers, which are
/// pages.
fn references() -> Result<()> {
    let home = match std::env::var("BASE") {
        Ok(base) if !base.trim_matches('/').is_empty() => format!("/{}/", base.trim_matches('/')),
        _ => "/".to_owned(),
    };
    let back = shell::target().join("site-back.html");
    fs::write(&back, format!("<p style=\"margin: 0.5rem 1rem\"><a href=\"{home}\">holdoff: all pages</a></p>\n"))?;
    let rust = shell::target().join("site-rustdoc");
    let mut doc = shell::cargo();
    doc.args(["doc", "--quiet", "--no-deps", "--all-features", "-p", "holdoff-core", "-p", "holdoff", "--target-dir"]);
    doc.env("RUSTDOCFLAGS", format!("--html-before-content {}", back.display()));
    shell::step("reference of Rust", doc.arg(&rust))?;
    copy(&rust.join("doc"), &built().join("api/rust"))?;
    shell::step(
        "reference of JavaScript",
        node("npx", &["--no-install", "typedoc", "--titleLink", &home, "--out"]).arg(built().join("api/javascript")),
    )?;
    let mut pdoc = python::tool("pdoc", &["--docformat", "markdown", "--output-directory"]);
    pdoc.arg(built().join("api/python")).args(["--logo", &format!("{home}favicon.svg"), "--logo-link", &home]);
    shell::step("reference of Python", pdoc.args(["holdoff", "!holdoff._holdoff"]))
}

/// Fails with the links of the built site that lead nowhere, and with what is above its bar on the public pages.
fn links() -> Result<()> {
    shell::step("words of the pages", &mut node("node", &["test/pages.mjs"]))?;
    shell::step("links of the site", &mut node("node", &["test/links.mjs"]))
}

/// Serves the built site on this machine until it is stopped.
pub(crate) fn open() -> Result<()> {
    shell::run(&mut node("node", &["serve.mjs"]))
}

/// Looks at the built pages in a browser: accessibility, the keyboard, a narrow screen, no request to another host.
pub(crate) fn look() -> Result<()> {
    let mut look = node("node", &["test/look.mjs"]);
    look.env("TOOLS", wasm::package().join("node_modules"));
    if let Some(browser) = shell::browser() {
        look.env("CHROMIUM", browser);
    }
    shell::step("the site in a browser", &mut look)
}

/// Runs the blocks of code of the pages against a flaky server.
fn blocks() -> Result<()> {
    shell::step("blocks of code", node("node", &["test/blocks.mjs"]).env("TARGET", shell::target()))
}

/// Runs the programs of the pages of fronts, each in an empty folder, with the packages that are shipped.
pub(crate) fn fronts() -> Result<()> {
    setup::site()?;
    let python = python::beside_the_wheel(setup::fronts()?)?;
    c::dist()?;
    let packages = wasm::packages::scratch("fronts")?;
    for list in ["package.json", "package-lock.json"] {
        fs::copy(shell::root().join("tests/clients/node").join(list), packages.join(list))?;
    }
    setup::npm(&[&packages.to_string_lossy()])?;
    let mut install = shell::command("npm");
    install.args(["install", "--offline", "--legacy-peer-deps", "--silent", "--no-audit", "--no-fund", "--no-save"]);
    shell::step("installing the tarball", install.current_dir(&packages).arg(wasm::dist()?))?;
    let mut blocks = node("node", &["test/blocks.mjs", "--fronts"]);
    blocks.env("TARGET", shell::target()).env("PACKAGES", packages).env("PYTHON", python);
    shell::step("programs of the fronts", &mut blocks)
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
