//! The programs and libraries that come from the system's package manager.

use super::needs::{Needs, Package};
use super::servers;
use crate::shell;
use anyhow::{Result, bail};
use std::process::{Command, Stdio};

const CHROMIUM: Package = Package { name: "chromium", is_there: || shell::browser().is_some() };
const PKG_CONFIG: Package = Package { name: "pkg-config", is_there: || shell::has("pkg-config") };
const CURL: Package = Package { name: "libcurl4-openssl-dev", is_there: || has_library("libcurl") };
const CJSON: Package = Package { name: "libcjson-dev", is_there: || has_library("libcjson") };
const VALGRIND: Package = Package { name: "valgrind", is_there: || shell::has("valgrind") };
const CLANG: Package = Package { name: "clang", is_there: || shell::has("clang") };
const GCC: Package = Package { name: "gcc", is_there: || shell::has("gcc") };
const MAKE: Package = Package { name: "make", is_there: || shell::has("make") };
const CMAKE: Package = Package { name: "cmake", is_there: || shell::has("cmake") };
const MESON: Package = Package { name: "meson", is_there: || shell::has("meson") };
const NINJA: Package = Package { name: "ninja-build", is_there: || shell::has("ninja") };
const QEMU_ARM: Package = Package { name: "qemu-system-arm", is_there: || shell::has("qemu-system-arm") };
const LIBCXX: Package = Package { name: "libc++-dev", is_there: || clang_has("libc++.so") };
const LIBCXXABI: Package = Package { name: "libc++abi-dev", is_there: || clang_has("libc++abi.so") };
const RUBY: Package = Package { name: "ruby", is_there: || shell::has("ruby") };
const RUBY_FFI: Package = Package { name: "ruby-ffi", is_there: has_ruby_ffi };
const GXX: Package = Package { name: "g++", is_there: || shell::has("g++") };
const ADVZIP: Package = Package { name: "advancecomp", is_there: || shell::has("advzip") };
const QEMU: Package = Package { name: "qemu-user", is_there: || shell::has("qemu-aarch64") };
const MINGW: Package =
    Package { name: "gcc-mingw-w64-x86-64-win32", is_there: || shell::has("x86_64-w64-mingw32-gcc") };
const ZSH: Package = Package { name: "zsh", is_there: || shell::has("zsh") };
const FISH: Package = Package { name: "fish", is_there: || shell::has("fish") };
const VENV: Package = Package { name: "python3-venv", is_there: has_venv };

/// The names of the packages that are wanted and not there.
pub(super) fn missing(needs: Needs) -> Vec<&'static str> {
    wanted(needs).iter().filter(|package| !(package.is_there)()).map(|package| package.name).collect()
}

/// The advice about missing packages that cannot be installed here.
pub(super) fn obstacle(missing: &[&str]) -> Option<String> {
    let apt = shell::has("apt-get");
    if missing.is_empty() || (apt && is_root()) {
        return None;
    }
    let names = missing.join(" ");
    Some(if apt {
        format!("sudo apt-get install {names}")
    } else {
        format!("{names}, or what your system calls these packages of Debian")
    })
}

/// Installs packages.
pub(super) fn install(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    shell::download("updating the list of Debian packages", || apt_get(&["update"]))?;
    let _asleep = servers::Asleep::around(missing)?;
    shell::download(&format!("installing {}", missing.join(" ")), || {
        let mut command = apt_get(&["install", "--yes", "--no-install-recommends"]);
        command.args(missing);
        command
    })
}

/// Installs the linker for Windows, which only the wheels of all platforms need.
pub(super) fn install_mingw() -> Result<()> {
    if (MINGW.is_there)() {
        return Ok(());
    }
    match obstacle(&[MINGW.name]) {
        Some(advice) => bail!("the linker for Windows is missing: {advice}"),
        None => install(&[MINGW.name]),
    }
}

fn wanted(needs: Needs) -> Vec<Package> {
    let mut wanted = vec![GCC];
    if needs.rust {
        wanted.extend([ZSH, FISH]);
    }
    if needs.wasm || needs.demo {
        wanted.push(CHROMIUM);
    }
    if needs.python || needs.c || needs.demo {
        wanted.extend([VENV, ADVZIP]);
    }
    if needs.python || needs.c {
        wanted.push(QEMU);
    }
    if needs.python {
        wanted.extend(servers::PACKAGES);
    } else if needs.wasm {
        wanted.push(servers::REDIS);
    }
    if needs.c || needs.demo {
        wanted.extend([PKG_CONFIG, CJSON]);
    }
    if needs.c {
        wanted.extend([GXX, CLANG, MAKE, VALGRIND, CMAKE, MESON, NINJA, RUBY, RUBY_FFI, QEMU_ARM, LIBCXX, LIBCXXABI]);
    }
    // Tests of Rust play libcurl, too.
    if needs.demo || needs.rust || needs.c {
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

/// Debian splits the standard library's `venv` off; environments that are there already need it no more.
fn has_venv() -> bool {
    let made = ["venv", "venv-c"].map(|name| shell::target().join(name).join("bin/python").exists());
    made == [true; 2] || succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
}

/// clang repeats the name of a file that it does not find.
fn clang_has(file: &str) -> bool {
    let found = shell::output(Command::new("clang").arg(format!("-print-file-name={file}")));
    found.is_ok_and(|path| path != file)
}

fn has_ruby_ffi() -> bool {
    succeeds(Command::new("ruby").args(["-e", "require 'ffi'"]))
}

fn is_root() -> bool {
    shell::output(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
