//! Installing what is missing, and nothing else: silent and quick when all is there.
//!
//! Every check looks before it acts, all of them before anything is installed, so that a machine on which something cannot
//! be installed says everything it lacks in one message.

use crate::{Lang, shell};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod debian;

/// Installs what the languages need and the machine lacks; says what to install where it cannot.
pub(crate) fn setup(lang: Lang) -> Result<()> {
    let needs = Needs::of(lang);
    programs(needs)?;
    debian::install(needs)?;
    rust_targets(needs)?;
    if needs.python {
        python_packages()?;
    }
    if needs.wasm {
        npm_packages(&shell::root().join("bindings-wasm"))?;
    }
    if needs.demo {
        npm_packages(&shell::root().join("demo/javascript"))?;
    }
    Ok(())
}

/// Which parts of the project are wanted.
#[derive(Clone, Copy)]
struct Needs {
    rust: bool,
    wasm: bool,
    python: bool,
    c: bool,
    demo: bool,
}

impl Needs {
    fn of(lang: Lang) -> Self {
        let all = lang == Lang::All;
        let one = |wanted| all || lang == wanted;
        Self { rust: one(Lang::Rust), wasm: one(Lang::Wasm), python: one(Lang::Python), c: one(Lang::C), demo: all }
    }
}

/// What no package manager of ours installs: a person does.
fn programs(needs: Needs) -> Result<()> {
    let mut missing = Vec::new();
    if needs.wasm || needs.demo {
        for program in ["node", "npm"] {
            if !shell::has(program) {
                missing.push(format!("{program} (Node.js 20 or later: https://nodejs.org)"));
            }
        }
    }
    if needs.python && shell::find("python3").is_none() {
        missing.push("python3 (Python 3.11 or later: https://python.org)".to_owned());
    }
    if missing.is_empty() {
        return Ok(());
    }
    bail!("please install, then run this again:\n  {}", missing.join("\n  "))
}

fn rust_targets(needs: Needs) -> Result<()> {
    let mut wanted = Vec::new();
    if needs.wasm || needs.c {
        wanted.push("wasm32-unknown-unknown");
    }
    if needs.rust {
        wanted.push("thumbv7m-none-eabi");
    }
    let mut missing = Vec::new();
    for target in wanted {
        if !has_rust_target(target)? {
            missing.push(target);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    if !shell::has("rustup") {
        bail!("the Rust targets {} are missing, and so is rustup to add them", missing.join(" and "));
    }
    let names = missing.join(" ");
    shell::download(&format!("adding Rust target {names}"), || {
        let mut command = shell::command("rustup");
        command.args(["target", "add"]).args(&missing);
        command
    })
}

/// Whether the standard library for `target` is beside the compiler; true for one that came without rustup as well.
fn has_rust_target(target: &str) -> Result<bool> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let lib = shell::output(shell::command(rustc).args(["--print", "target-libdir", "--target", target]))?;
    Ok(Path::new(&lib).is_dir())
}

/// The project's own virtual environment, with what tests and demo import.
fn python_packages() -> Result<()> {
    let venv = shell::target().join("venv");
    let lists: Vec<PathBuf> = ["bindings-python/requirements-dev.txt", "demo/python/requirements.txt"]
        .iter()
        .map(|list| shell::root().join(list))
        .collect();
    let wanted = lists.iter().map(|list| read(list)).collect::<Result<Vec<_>>>()?.join("\n");
    let stamp = venv.join("installed.txt");
    let works = answers(&shell::python());
    if works && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if !works {
        let mut make = shell::command("python3");
        shell::step("making the Python environment", make.args(["-m", "venv", "--clear"]).arg(&venv))?;
    }
    shell::download("installing Python packages", || {
        let mut pip = shell::command(shell::python());
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        for list in &lists {
            pip.arg("-r").arg(list);
        }
        pip
    })?;
    fs::write(stamp, wanted)?;
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

/// Whether a program starts at all: an environment whose interpreter is gone does not.
fn answers(program: &Path) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
