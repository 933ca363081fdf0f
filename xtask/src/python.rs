//! Building, testing and packing the Python binding.

use crate::shell;
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the wheel and installs it into the project's virtual environment.
pub(crate) fn build() -> Result<()> {
    let wheel = dist()?;
    let mut pip = pip(&shell::python());
    shell::step("install the wheel", pip.args(["--force-reinstall", "--no-deps"]).arg(wheel))
}

/// Builds what is shipped into target/dist, and says where it is.
pub(crate) fn dist() -> Result<PathBuf> {
    let out = shell::target().join("dist/python");
    // One wheel is the answer, so an older version's must not lie beside it.
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    let mut maturin = tool("maturin", &["build", "--quiet", "--compression-level", "9", "--manifest-path"]);
    maturin.arg(binding().join("Cargo.toml")).arg("--interpreter").arg(shell::python()).arg("--out").arg(&out);
    maturin.arg("--target").arg(shell::host()?);
    shell::step("build the wheel", without_symbolizer(maturin.env("CARGO_TARGET_DIR", shell::target())))?;
    let wheels = std::fs::read_dir(&out)?.collect::<std::io::Result<Vec<_>>>()?;
    let wheel = wheels.into_iter().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
    wheel.with_context(|| format!("no wheel in {}", out.display()))
}

/// Builds the standard library, too, without what turns the addresses of a backtrace into names: a sixth of the wheel, used
/// by no caller. Stable compilers build it only if told to; a build from the sources has the standard library that
/// comes with the compiler.
fn without_symbolizer(maturin: &mut Command) -> &mut Command {
    maturin
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_unwind")
        .env("CARGO_UNSTABLE_BUILD_STD_FEATURES", "optimize_for_size")
}

/// The stub of the native module: the part written by hand, and the part that PyO3 prints from a build with the types in it.
pub(crate) fn stub() -> Result<String> {
    // A release build has no symbols, which the printer reads.
    let features = "stub,pyo3/extension-module";
    let mut cargo = shell::cargo();
    cargo.args(["build", "--quiet", "--package", "holdoff-python", "--features", features]);
    shell::step("build the Python module for its stub", &mut cargo)?;
    let out = shell::target().join("stub");
    let library = format!("{}_holdoff{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let mut printer = tool("pyo3-introspection", &[]);
    printer.arg(shell::target().join("debug").join(library)).arg("_holdoff").arg(&out);
    shell::run(&mut printer)?;
    let printed = std::fs::read_to_string(out.join("__init__.pyi"))?;
    let written = std::fs::read_to_string(binding().join("stub.pyi"))?;
    let file = out.join("_holdoff.pyi");
    std::fs::write(&file, joined(&written, &printed))?;
    for args in [&["check", "--quiet", "--fix", "--select", "I,F401,UP037"][..], &["format", "--quiet"]] {
        let mut ruff = tool("ruff", args);
        shell::run(ruff.args(["--no-cache", "--config"]).arg(binding().join("pyproject.toml")).arg(&file))?;
    }
    Ok(std::fs::read_to_string(file)?)
}

/// Both parts of the stub, imports first, without the functions of the written part in the printed one.
fn joined(written: &str, printed: &str) -> String {
    let (imports, written) = written.split_at(written.find("\n_P").unwrap_or_default());
    // PyO3 prints the protocols that its conversions accept.
    let plain = [("SupportsFloat | SupportsIndex", "float"), ("SupportsIndex", "int"), ("self, /", "self")];
    let mut imports: String = imports.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let (mut body, mut names, mut skips) = (String::new(), BTreeSet::new(), false);
    for line in printed.lines() {
        if line.starts_with("from ") {
            imports.insert_str(0, &format!("{}\n", line.replace("holdoff.", ".")));
            continue;
        }
        if !line.starts_with([' ', '@']) {
            let item = line.split('(').next().unwrap_or_default();
            skips = item == "def __getattr__" || (item.starts_with("def ") && written.contains(&format!("{item}(")));
        }
        if !skips {
            let line = plain.iter().fold(line.to_owned(), |line, (protocol, plain)| line.replace(protocol, plain));
            body.push_str(&format!("{line}\n"));
        }
    }
    for line in written.lines().chain(body.lines()) {
        let item =
            line.strip_prefix("class ").or(line.strip_prefix("def ")).or(line.contains(": Final").then_some(line));
        let name = item.and_then(|item| item.split(['(', ':']).next()).filter(|name| !name.starts_with(' '));
        names.extend(name.map(|name| format!("{name:?}")));
    }
    let all = names.into_iter().collect::<Vec<_>>().join(", ");
    format!("# Printed by `cargo xtask generate`.\n{imports}\n__all__ = [{all}]\n{written}\n{body}")
}

/// Every test of this language.
pub(crate) fn test() -> Result<()> {
    shell::step(
        "clippy of the module",
        shell::cargo().args(["clippy", "--package", "holdoff-python", "--", "-D", "warnings"]),
    )?;
    build()?;
    lint()?;
    types()?;
    shell::run(python(&["-m", "pytest"]).current_dir(binding()))?;
    examples("python")?;
    package()?;
    shell::run(&mut runner_of_built(&shell::root().join("tests/vectors")))
}

/// The conformance runner for a folder of vectors, built and ready to start.
pub(crate) fn runner(dir: &Path) -> Result<Command> {
    build()?;
    Ok(runner_of_built(dir))
}

fn runner_of_built(dir: &Path) -> Command {
    let mut runner = python(&[]);
    runner.arg(shell::root().join("tests/runners/python/run.py")).arg(dir);
    runner
}

fn lint() -> Result<()> {
    for (what, args) in
        [("format of the Python files", &["format", "--check"][..]), ("lint the Python files", &["check"])]
    {
        let mut ruff = tool("ruff", args);
        ruff.args(["--no-cache", "--config"]).arg(binding().join("pyproject.toml"));
        shell::step(what, ruff.args(SOURCES))?;
    }
    Ok(())
}

/// Everything written in Python, from the root.
const SOURCES: [&str; 8] = [
    "bindings-python",
    "engines",
    "tests/runners/python",
    "tests/packages",
    "examples/python",
    "examples/engines",
    "examples/demo/python",
    "benches/peers/python",
];

fn types() -> Result<()> {
    let config = binding().join("pyproject.toml");
    let mut mypy = python(&["-m", "mypy", "--cache-dir"]);
    mypy.arg(shell::target().join("mypy")).arg("--config-file").arg(&config).args(["python", "tests"]);
    mypy.args(["../tests/runners/python", "../examples/python"]);
    shell::step("mypy --strict", mypy.current_dir(binding()))?;
    let mut stubtest = python(&["-m", "mypy.stubtest", "holdoff", "--allowlist"]);
    // The installed package is asked, so not from a folder that has its source.
    shell::step("stubtest", stubtest.arg(binding().join("tests/stubtest.txt")).current_dir(shell::target()))?;
    let mut pyright = tool("pyright", &["--project"]);
    shell::step("pyright", pyright.arg(&config).arg("--pythonpath").arg(shell::python()).current_dir(binding()))
}

/// Every Python example of a folder of `examples/` runs and ends well.
pub(crate) fn examples(folder: &str) -> Result<()> {
    let mut scripts = std::fs::read_dir(shell::root().join("examples").join(folder))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    scripts.sort();
    for script in scripts {
        let name = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
        shell::step(&format!("example {name}"), python(&[]).arg(&script))?;
    }
    Ok(())
}

/// The wheel in an empty environment, as a user has it.
fn package() -> Result<()> {
    let consumer = shell::root().join("tests/packages/python");
    let folder = shell::target().join("packages/python");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let wheel = dist()?;
    let venv = folder.join("venv");
    shell::step("empty environment", python(&["-m", "venv"]).arg(&venv))?;
    let interpreter = venv.join("bin/python");
    // Without an index: the wheel needs nothing but itself.
    shell::step("install the wheel alone", pip(&interpreter).args(["--no-index"]).arg(&wheel))?;
    let mut consume = shell::command(&interpreter);
    shell::step("consumer script", consume.arg(consumer.join("consume.py")).current_dir(&folder))?;
    let mut mypy = python(&["-m", "mypy", "--strict", "--cache-dir"]);
    mypy.arg(shell::target().join("mypy")).arg("--python-executable").arg(&interpreter);
    shell::step("consumer types", mypy.arg(consumer.join("typed.py")).current_dir(&folder))
}

/// The folder of the binding.
pub(crate) fn binding() -> PathBuf {
    shell::root().join("bindings-python")
}

/// The project's Python, which leaves no compiled files in the repository.
pub(crate) fn python(args: &[&str]) -> Command {
    let mut command = shell::command(shell::python());
    command.env("PYTHONDONTWRITEBYTECODE", "1").args(args);
    command
}

/// A program that a Python package brings.
pub(crate) fn tool(name: &str, args: &[&str]) -> Command {
    let mut command = shell::command(shell::python().with_file_name(name));
    command.env("PYTHONDONTWRITEBYTECODE", "1").args(args);
    command
}

pub(crate) fn pip(interpreter: &Path) -> Command {
    let mut command = shell::command(interpreter);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}
