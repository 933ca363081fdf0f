//! Building and testing `holdoff-audit`, which runs programs and counts their requests. It needs nothing of holdoff.

use crate::{python, setup, shell};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    shell::root().join("audit")
}

/// Builds the wheel into target/dist/audit, and says where it is.
pub(crate) fn dist() -> Result<PathBuf> {
    setup::python(setup::PYTHON)?;
    let out = shell::target().join("dist/audit");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let mut pip = python::python(&["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--no-deps", "--no-build-isolation", "--wheel-dir"]).arg(&out).arg(folder());
    shell::step("build the wheel of the audit", &mut pip)?;
    let wheel = fs::read_dir(&out)?.next().with_context(|| format!("no wheel in {}", out.display()))?;
    Ok(wheel?.path())
}

/// The programs of its tests, audited by the wheel, and its types as mypy and pyright check them.
pub(crate) fn test() -> Result<()> {
    let interpreter = setup::requests()?;
    let mut pip = python::pip(&interpreter);
    let wheels = [dist()?, python::wheel()?];
    shell::step("install the wheels", pip.args(["--force-reinstall", "--no-deps"]).args(wheels))?;
    let mut tests = shell::command(&interpreter);
    tests.args(["-m", "pytest"]).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(folder());
    shell::run(&mut tests)?;
    let mut mypy = python::python(&["-m", "mypy", "--cache-dir"]);
    mypy.arg(shell::target().join("mypy-audit")).arg("--python-executable").arg(&interpreter);
    shell::step("mypy --strict of the audit", mypy.current_dir(folder()))?;
    let mut pyright = python::tool("pyright", &["--project", "pyproject.toml", "--pythonpath"]);
    shell::step("pyright of the audit", pyright.arg(interpreter).current_dir(folder()))
}
