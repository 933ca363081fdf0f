//! Installing what is missing, and nothing else: silent and quick when all is there.
//!
//! Every check looks before it acts, all of them before anything is installed, so that a machine on which something cannot
//! be installed says everything it lacks in one message.

use crate::{Lang, shell};
use anyhow::{Context as _, Result, bail};
use needs::Needs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

mod debian;
mod needs;
mod servers;

/// Installs what the languages need and the machine lacks; says what to install where it cannot.
pub(crate) fn setup(lang: Lang) -> Result<()> {
    let needs = Needs::of(lang);
    install(needs)?;
    if needs.python {
        python(PYTHON)?;
    }
    if needs.c {
        conan()?;
    }
    if needs.wasm {
        npm(&["bindings-wasm", "engines/bullmq", "playground", "benches/peers/js"])?;
        npm(RUNTIMES)?;
    }
    if needs.demo { npm(&["examples/demo/javascript"]) } else { Ok(()) }
}

/// Installs what builds and tests the documentation site.
pub(crate) fn site() -> Result<()> {
    install(Needs::SITE)?;
    python(PYTHON)?;
    npm(&["site", "bindings-wasm"])
}

/// Installs what the hosts of the demo are built with, and nothing else.
pub(crate) fn demo() -> Result<()> {
    install(Needs::DEMO)
}

/// Installs what comes with the compiler and from the system's package manager. Packages of Python and of npm are installed by what uses
/// them.
pub(crate) fn system(lang: Lang) -> Result<()> {
    install(Needs::of(lang))
}

fn install(needs: Needs) -> Result<()> {
    let packages = debian::missing(needs);
    let mut unmet = programs(needs);
    unmet.extend(debian::obstacle(&packages));
    if !unmet.is_empty() {
        bail!("something is missing that this cannot install; please do, then run it again:\n  {}", unmet.join("\n  "));
    }
    debian::install(&packages)?;
    rust_parts(needs)
}

/// The list of what a wheel is built with.
pub(crate) const BUILD: &str = "bindings-python/requirements-build.txt";
/// The list of the demo's host.
pub(crate) const HOST: &str = "examples/demo/python/requirements.txt";
/// All lists.
pub(crate) const PYTHON: &[&str] = &[
    BUILD,
    HOST,
    "bindings-python/requirements-dev.txt",
    "engines/requirements-dev.txt",
    "benches/peers/python/requirements.txt",
];

/// Installs the packages of some lists into the project's Python environment, unless they are there.
pub(crate) fn python(lists: &[&str]) -> Result<()> {
    python_packages("venv", lists)
}

/// Installs the package manager of C.
pub(crate) fn conan() -> Result<()> {
    python_packages("venv-c", &["tests/packages/conan/requirements.txt"])
}

/// Installs the clients of the tests with real clients, and says where their Python is.
pub(crate) fn clients() -> Result<PathBuf> {
    python_packages("venv-clients", &["tests/clients/python/requirements.txt"])?;
    Ok(shell::target().join("venv-clients/bin/python"))
}

/// Installs the packages of the programs of `tests/requests` and of `audit/tests`, and says where their Python is.
pub(crate) fn requests() -> Result<PathBuf> {
    python_packages("venv-llm", &["tests/requests/requirements.txt", "audit/requirements-dev.txt"])?;
    Ok(shell::target().join("venv-llm/bin/python"))
}

/// Installs the clients of both, and says where their Python is.
pub(crate) fn fronts() -> Result<PathBuf> {
    python_packages("venv-llm", &["tests/requests/requirements.txt", "tests/clients/python/requirements.txt"])?;
    requests()
}

/// The older versions of a test runner.
pub(crate) const RUNTIMES: &[&str] = &["bindings-wasm/test/vitest2", "bindings-wasm/test/vitest3"];

/// Installs the npm packages of some folders, unless they are there.
pub(crate) fn npm(folders: &[&str]) -> Result<()> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    folders.iter().try_for_each(|folder| npm_packages(&shell::root().join(folder)))
}

/// Programs that no package manager of ours installs: a person does.
fn programs(needs: Needs) -> Vec<String> {
    let mut unmet = Vec::new();
    if needs.wasm || needs.demo {
        let version = shell::output(shell::command("node").arg("--version")).unwrap_or_default();
        let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_none_or(|major| major < 20) {
            let found = if version.is_empty() { String::new() } else { format!(", this is {version}") };
            unmet.push(format!("Node.js 20 or later (https://nodejs.org){found}"));
        } else if !shell::has("npm") {
            unmet.push("npm (https://nodejs.org has it together with Node.js)".to_owned());
        }
    }
    if (needs.python || needs.c || needs.demo) && !shell::has("python3") {
        unmet.push("Python 3.11 or later (https://python.org)".to_owned());
    }
    unmet
}

/// Targets and tools of the compiler.
fn rust_parts(needs: Needs) -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = PathBuf::from(shell::output(shell::command(rustc).args(["--print", "sysroot"]))?);
    let mut targets = Vec::new();
    if needs.wasm || needs.c || needs.demo {
        targets.push("wasm32-unknown-unknown");
    }
    if needs.rust || needs.c {
        targets.push("thumbv7m-none-eabi");
    }
    targets.retain(|target| !sysroot.join("lib/rustlib").join(target).join("lib").is_dir());
    rustup("target", &targets)?;
    let mut components = Vec::new();
    if needs.rust || needs.python || needs.c {
        components.extend([("clippy", "bin/cargo-clippy"), ("rustfmt", "bin/rustfmt")]);
    }
    if needs.python || needs.c || needs.demo {
        components.push(("rust-src", "lib/rustlib/src/rust/library/Cargo.lock"));
    }
    components.retain(|(_, file)| !sysroot.join(file).exists());
    rustup("component", &components.iter().map(|(name, _)| *name).collect::<Vec<_>>())
}

/// The target for Windows, for which MinGW links.
pub(crate) const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// Adds a target of the compiler, and the linker for Windows, if they are missing.
pub(crate) fn target(name: &str) -> Result<()> {
    if name == WINDOWS {
        debian::install_mingw()?;
    }
    let sysroot = PathBuf::from(shell::output(shell::rustc().args(["--print", "sysroot"]))?);
    if sysroot.join("lib/rustlib").join(name).join("lib").is_dir() {
        return Ok(());
    }
    rustup("target", &[name])
}

fn rustup(kind: &str, names: &[&str]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let list = names.join(" ");
    if !shell::has("rustup") {
        bail!("the Rust {kind}s {list} are missing, and so is rustup (https://rustup.rs) to add them");
    }
    shell::download(&format!("adding the Rust {kind} {list}"), || {
        let mut command = shell::command("rustup");
        command.args([kind, "add"]).args(names);
        command
    })
}

/// A virtual environment in the target folder, with the packages of some lists. It may have more.
fn python_packages(name: &str, lists: &[&str]) -> Result<()> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let venv = shell::target().join(name);
    let python = venv.join("bin/python");
    let lists: Vec<PathBuf> = lists.iter().map(|list| shell::root().join(list)).collect();
    let wanted = lists.iter().map(|list| read(list)).collect::<Result<Vec<_>>>()?;
    let stamp = venv.join("installed.txt");
    let works = answers(&python);
    let installed = fs::read_to_string(&stamp).unwrap_or_default();
    if works && wanted.iter().all(|list| installed.contains(list)) {
        return Ok(());
    }
    if !works {
        let mut make = shell::command("python3");
        shell::step("making the Python environment", make.args(["-m", "venv", "--clear"]).arg(&venv))?;
    }
    shell::download("installing Python packages", || {
        let mut pip = shell::command(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        for list in &lists {
            pip.arg("-r").arg(list);
        }
        pip
    })?;
    fs::write(stamp, wanted.concat())?;
    Ok(())
}

/// The packages that a folder's lock file names.
fn npm_packages(folder: &Path) -> Result<()> {
    let wanted = read(&folder.join("package-lock.json"))?;
    let stamp = folder.join("node_modules/.installed.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    shell::download(&format!("installing npm packages of {name}"), || {
        let mut npm = shell::command("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder);
        npm
    })?;
    // `npm ci` makes no folder when there is nothing to install.
    fs::create_dir_all(folder.join("node_modules"))?;
    fs::write(stamp, wanted)?;
    Ok(())
}

/// True if a program starts at all: an environment whose interpreter is gone does not.
fn answers(program: &Path) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
