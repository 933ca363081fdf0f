//! Building, testing and packing the engines: packages of their own above the bindings.

use crate::{python, setup, shell};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

pub(crate) mod bullmq;

/// The Python distributions, each a folder of `engines/`; dependencies come first.
const PYTHON: [&str; 4] = ["shared", "celery", "procrastinate", "durable"];

pub(crate) fn folder() -> PathBuf {
    shell::root().join("engines")
}

/// Builds the wheels into target/dist/engines, and says where they are.
pub(crate) fn dist() -> Result<Vec<PathBuf>> {
    static WHEELS: Mutex<Option<Vec<PathBuf>>> = Mutex::new(None);
    shell::once(&WHEELS, wheels)
}

fn wheels() -> Result<Vec<PathBuf>> {
    setup::python(setup::PYTHON)?;
    let out = shell::target().join("dist/engines");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let mut pip = python::python(&["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--no-deps", "--no-build-isolation", "--wheel-dir"]).arg(&out);
    shell::step("build the wheels of the engines", pip.args(PYTHON.map(|name| folder().join(name))))?;
    let wheels = fs::read_dir(&out)?.map(|entry| entry.map(|entry| entry.path()));
    wheels.collect::<std::io::Result<_>>().with_context(|| format!("no wheels in {}", out.display()))
}

/// Builds holdoff and the engines, and installs them into the project's virtual environment.
pub(crate) fn build() -> Result<()> {
    static BUILT: Mutex<Option<()>> = Mutex::new(None);
    shell::once(&BUILT, || {
        python::build()?;
        let mut pip = python::pip(&shell::python());
        shell::step("install the engines", pip.args(["--force-reinstall", "--no-deps"]).args(dist()?))
    })
}

/// The tests of the engines in Python.
pub(crate) fn test() -> Result<()> {
    build()?;
    shell::run(python::python(&["-m", "pytest"]).current_dir(folder()))
}

/// Their examples, and their wheels where nothing else is installed.
pub(crate) fn examples() -> Result<()> {
    build()?;
    python::examples("engines")?;
    package()
}

/// The types, as mypy checks them.
pub(crate) fn types() -> Result<()> {
    build()?;
    for name in PYTHON {
        mypy(name, &[&format!("{name}/src"), &format!("{name}/tests")])?;
    }
    mypy("tests and examples", &["conftest.py", "tests", "../examples/engines"])
}

/// The types, as pyright checks them.
pub(crate) fn pyright() -> Result<()> {
    build()?;
    let mut pyright = python::tool("pyright", &["--project", "pyproject.toml", "--pythonpath"]);
    shell::step("pyright of the engines", pyright.arg(shell::python()).current_dir(folder()))
}

fn mypy(name: &str, files: &[&str]) -> Result<()> {
    let mut mypy = python::python(&["-m", "mypy", "--cache-dir"]);
    mypy.arg(shell::target().join("mypy-engines")).arg("--config-file=pyproject.toml").args(files);
    shell::step(&format!("mypy --strict of {name}"), mypy.current_dir(folder()))
}

/// The wheels in an environment of their own, beside the libraries that they need.
fn package() -> Result<()> {
    let consumer = shell::root().join("tests/packages/engines");
    let scratch = shell::target().join("packages/engines");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(&scratch)?;
    let venv = scratch.join("venv");
    shell::step("empty environment", python::python(&["-m", "venv"]).arg(&venv))?;
    let interpreter = venv.join("bin/python");
    let mut pip = python::pip(&interpreter);
    pip.args(["--no-index", "--no-deps"]).arg(python::wheel()?).args(dist()?);
    shell::step("install the wheels", &mut pip)?;
    let site = |python: &mut Command| {
        shell::output(python.args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))
    };
    // The engines' dependencies come from the project's environment; the wheels installed here come before it.
    let libraries = site(&mut shell::command(shell::python()))?;
    let here = PathBuf::from(site(&mut shell::command(&interpreter))?);
    fs::write(here.join("libraries.pth"), libraries)?;
    let mut consume = shell::command(&interpreter);
    shell::step("consumer script", consume.arg(consumer.join("consume.py")).current_dir(&scratch))?;
    let mut mypy = python::python(&["-m", "mypy", "--strict", "--cache-dir"]);
    mypy.arg(shell::target().join("mypy-consumer-engines")).arg("--python-executable").arg(&interpreter);
    shell::step("consumer types", mypy.arg(consumer.join("consume.py")).current_dir(&scratch))
}
