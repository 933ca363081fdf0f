//! The programs and libraries that come from the system's package manager.

use super::Needs;
use crate::shell;
use anyhow::{Result, bail};
use std::process::{Command, Stdio};

/// Something to have, and the Debian package that brings it.
struct Package {
    name: &'static str,
    is_there: fn() -> bool,
}

const CHROMIUM: Package = Package { name: "chromium", is_there: || shell::browser().is_some() };
const PKG_CONFIG: Package = Package { name: "pkg-config", is_there: || shell::has("pkg-config") };
const CURL: Package = Package { name: "libcurl4-openssl-dev", is_there: || has_library("libcurl") };
const CJSON: Package = Package { name: "libcjson-dev", is_there: || has_library("libcjson") };
const VALGRIND: Package = Package { name: "valgrind", is_there: || shell::has("valgrind") };
const CLANG: Package = Package { name: "clang", is_there: || shell::has("clang") };
const GCC: Package = Package { name: "gcc", is_there: || shell::has("gcc") };
const GXX: Package = Package { name: "g++", is_there: || shell::has("g++") };
const VENV: Package = Package { name: "python3-venv", is_there: has_venv };

/// Installs what is missing, when root and on Debian; else says what to install.
pub(super) fn install(needs: Needs) -> Result<()> {
    let missing: Vec<&str> = wanted(needs).iter().filter(|p| !(p.is_there)()).map(|p| p.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    let apt = shell::has("apt-get");
    if !apt || !is_root() {
        let how = if apt {
            format!("sudo apt-get install {names}")
        } else {
            format!("{names}\n  (the names of the Debian packages; your system's may differ)")
        };
        bail!("these are missing and this user cannot install them; please do, then run this again:\n  {how}");
    }
    shell::download("updating the list of Debian packages", || apt_get(&["update"]))?;
    shell::download(&format!("installing {names}"), || {
        let mut command = apt_get(&["install", "--yes", "--no-install-recommends"]);
        command.args(&missing);
        command
    })
}

fn wanted(needs: Needs) -> Vec<Package> {
    let mut wanted = vec![GCC];
    if needs.wasm || needs.demo {
        wanted.push(CHROMIUM);
    }
    if needs.python {
        wanted.push(VENV);
    }
    if needs.c || needs.demo {
        wanted.extend([PKG_CONFIG, CJSON]);
    }
    if needs.c {
        wanted.extend([GXX, CLANG, VALGRIND]);
    }
    if needs.demo {
        wanted.push(CURL);
    }
    wanted
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = shell::command("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet").args(arguments);
    command
}

fn has_library(name: &str) -> bool {
    succeeds(Command::new("pkg-config").args(["--exists", name]))
}

/// Debian splits the standard library's `venv` off; an environment that is there already needs it no more.
fn has_venv() -> bool {
    shell::python().exists() || succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
}

fn is_root() -> bool {
    shell::output(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
