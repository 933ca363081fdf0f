//! Building, testing and packing the Python binding.

use crate::shell::say;
use crate::{rust, setup, shell};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

pub(crate) mod consumers;
mod interpreters;
mod tools;
pub(crate) mod wheels;

use interpreters::{ARM, NEWEST};
use tools::binding;
pub(crate) use tools::{pip, python, tool};
pub(crate) use wheels::wheel;

/// Builds the source distribution and the wheel for this machine, or for all platforms, into target/dist/python, and says where
/// they are. A wheel for another platform is loaded where a Python for it can be had, of this machine or emulated.
pub(crate) fn dist(platforms: bool) -> Result<Vec<PathBuf>> {
    if !platforms {
        return wheels::ours();
    }
    wheels::all(|target, wheel| match target {
        "x86_64-unknown-linux-gnu" if NEWEST.is_of_this_machine() => consumers::load(&NEWEST, wheel),
        "aarch64-unknown-linux-gnu" => consumers::load(&ARM, wheel),
        _ => {
            say!("  there is no Python for {target} here: its wheel is built and not loaded");
            Ok(())
        }
    })
}

/// Builds the wheel and installs it into the project's virtual environment.
pub(crate) fn build() -> Result<()> {
    static BUILT: Mutex<Option<()>> = Mutex::new(None);
    shell::once(&BUILT, || {
        setup::python(setup::PYTHON)?;
        let wheel = wheel()?;
        let mut pip = pip(&shell::python());
        shell::step("install the wheel", pip.args(["--force-reinstall", "--no-deps"]).arg(wheel))
    })
}

/// The stub of the native module: the part written by hand, and the part that PyO3 prints from a build with the types in it.
pub(crate) fn stub() -> Result<String> {
    setup::python(setup::PYTHON)?;
    // A release build has no symbols, which the printer reads.
    rust::build(&["--lib"])?;
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
    // PyO3 prints no overloads.
    let caller = "    def __call__(self, function: \"Callable[_P, _R]\"";
    let of_method = "    @overload\n    def __call__(self, function: Method, /) -> Method: ...\n    @overload\n";
    let mut imports: String = imports.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let (mut body, mut names, mut skips) = (String::new(), BTreeSet::new(), false);
    // For the interpreter a doc begins with the signature, which the stub has beside it.
    let printed = without_signatures(printed);
    for line in printed.lines() {
        if line.starts_with("from ") {
            imports.insert_str(0, &format!("{}\n", line.replace("holdoff.", ".")));
            continue;
        }
        if !line.is_empty() && !line.starts_with([' ', '@']) {
            let item = line.split('(').next().unwrap_or_default();
            skips = item == "def __getattr__" || (item.starts_with("def ") && written.contains(&format!("{item}(")));
        }
        if !skips {
            if line.starts_with(caller) {
                body.push_str(of_method);
            }
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

/// The stub without the docs that begin with a signature, but for their first paragraph: the stub has signatures and fields of
/// its own.
fn without_signatures(printed: &str) -> String {
    let mut kept = Vec::new();
    // The paragraphs of such a doc so far.
    let mut paragraph = None;
    for line in printed.lines() {
        if line.trim() == "--" {
            kept.pop();
            paragraph = Some(0);
            continue;
        }
        if line.trim() == "\"\"\"" {
            paragraph = None;
        }
        match &mut paragraph {
            Some(count) if line.trim().is_empty() => *count += 1,
            Some(count) if *count > 1 => {}
            _ => kept.push(line),
        }
    }
    kept.join("\n") + "\n"
}

/// The tests of the binding.
pub(crate) fn test() -> Result<()> {
    build()?;
    shell::run(python(&["-m", "pytest"]).current_dir(binding()))?;
    let mut dashboard = python(&["tests/dashboard.py", "--check"]);
    shell::step("the dashboard's queries, asked of Prometheus", dashboard.current_dir(binding()))
}

/// The clients of other packages, against the flaky server, in an environment of their own.
pub(crate) fn clients() -> Result<()> {
    let flaky = rust::program("flaky")?;
    let mut tests = tests_beside(setup::clients()?, "tests/clients/python")?;
    shell::run(tests.env("FLAKY", flaky.get_program()))
}

/// Programs with retries around the SDKs of language models, in an environment of their own.
pub(crate) fn requests() -> Result<()> {
    shell::run(&mut tests_beside(setup::requests()?, "tests/requests")?)
}

/// Installs the wheel beside the packages of another environment, and says where its Python is.
pub(crate) fn beside_the_wheel(interpreter: PathBuf) -> Result<PathBuf> {
    shell::step("install the wheel", pip(&interpreter).args(["--force-reinstall", "--no-deps"]).arg(wheel()?))?;
    Ok(interpreter)
}

/// The tests of a folder, with the wheel beside the packages of another environment.
fn tests_beside(interpreter: PathBuf, folder: &str) -> Result<Command> {
    let mut tests = shell::command(beside_the_wheel(interpreter)?);
    tests.args(["-m", "pytest"]).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(shell::root().join(folder));
    Ok(tests)
}

/// Plays the vectors.
pub(crate) fn vectors() -> Result<()> {
    shell::run(&mut runner(&shell::root().join("tests/vectors"))?)
}

/// The conformance runner for a folder of vectors, built and ready to start.
pub(crate) fn runner(dir: &Path) -> Result<Command> {
    build()?;
    let mut runner = python(&[]);
    runner.arg(shell::root().join("tests/runners/python/run.py")).arg(dir);
    Ok(runner)
}

/// The format and the lints of the Python files.
pub(crate) fn lint() -> Result<()> {
    setup::python(setup::PYTHON)?;
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
const SOURCES: [&str; 11] = [
    "audit",
    "bindings-python",
    "engines",
    "tests/clients/python",
    "tests/runners/python",
    "tests/packages",
    "tests/requests",
    "examples/python",
    "examples/engines",
    "examples/demo/python",
    "benches/peers/python",
];

/// The types, as mypy checks them, and whether they are those of the installed package.
pub(crate) fn types() -> Result<()> {
    build()?;
    let config = binding().join("pyproject.toml");
    let mut mypy = python(&["-m", "mypy", "--cache-dir"]);
    mypy.arg(shell::target().join("mypy")).arg("--config-file").arg(&config).args(["python", "tests"]);
    mypy.args(["../tests/runners/python", "../examples/python"]);
    shell::step("mypy --strict", mypy.current_dir(binding()))?;
    let mut stubtest = python(&["-m", "mypy.stubtest", "holdoff", "--allowlist"]);
    // The installed package is asked, so not from a folder that has its source.
    shell::step("stubtest", stubtest.arg(binding().join("tests/stubtest.txt")).current_dir(shell::target()))
}

/// The types, as pyright checks them.
pub(crate) fn pyright() -> Result<()> {
    build()?;
    let config = binding().join("pyproject.toml");
    let mut pyright = tool("pyright", &["--project"]);
    shell::step("pyright", pyright.arg(&config).arg("--pythonpath").arg(shell::python()).current_dir(binding()))
}

/// Every Python example of a folder of `examples/` runs and ends well.
pub(crate) fn examples(folder: &str) -> Result<()> {
    build()?;
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
