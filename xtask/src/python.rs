//! Building, testing and packing the Python binding.

use crate::shell;
use anyhow::{Context as _, Result};
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
    let mut maturin = tool("maturin", &["build", "--release", "--quiet", "--manifest-path"]);
    maturin.arg(binding().join("Cargo.toml")).arg("--interpreter").arg(shell::python()).arg("--out").arg(&out);
    shell::step("build the wheel", maturin.env("CARGO_TARGET_DIR", shell::target()))?;
    let wheels = std::fs::read_dir(&out)?.collect::<std::io::Result<Vec<_>>>()?;
    let wheel = wheels.into_iter().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
    wheel.with_context(|| format!("no wheel in {}", out.display()))
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
