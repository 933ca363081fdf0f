//! Testing `holdoff.hpp`: its tests and examples, by two compilers, two standard libraries and three standards of C++.

use super::compile::{STRICT, pkg_config, rpath};
use crate::shell;
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler and the standard that every run of the tests has.
const USUAL: (&str, &str) = ("g++", "20");

/// Compiles the tests with the usual compiler, runs them under valgrind, and runs the examples.
pub(super) fn test(prefix: &Path, scratch: &Path) -> Result<()> {
    let program = compile_tests(prefix, scratch, USUAL.0, USUAL.1, &[])?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=1", "--leak-check=full", "--show-leak-kinds=all"]);
    shell::run(valgrind.arg(program))?;
    for source in sources(&shell::root().join("examples/cpp"))? {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let program = scratch.join(format!("example-cpp-{name}"));
        // The warnings of a strict program, in the headers too.
        compile(prefix, "g++", "17", &["-Wconversion", "-Wshadow"], &[source], &program)?;
        shell::step(&format!("run the C++ example {name}"), &mut Command::new(&program))?;
    }
    Ok(())
}

/// Runs the tests by the other compilers, standard libraries and standards.
pub(super) fn compilers(prefix: &Path, scratch: &Path) -> Result<()> {
    for (compiler, flags) in [("g++", &[][..]), ("clang++", &[]), ("clang++", &["-stdlib=libc++"])] {
        for standard in ["17", "20", "2b"].into_iter().filter(|standard| (compiler, *standard) != USUAL) {
            let program = compile_tests(prefix, scratch, compiler, standard, flags)?;
            shell::step(&format!("run the tests of {compiler}, C++{standard}"), &mut Command::new(program))?;
        }
    }
    Ok(())
}

/// Compiles the tests; says where the program is.
fn compile_tests(prefix: &Path, scratch: &Path, compiler: &str, standard: &str, flags: &[&str]) -> Result<PathBuf> {
    let tests = sources(&shell::root().join("bindings-c/tests/cpp"))?;
    let program = scratch.join(format!("test-{compiler}{}-{standard}", flags.concat()));
    compile(prefix, compiler, standard, flags, &tests, &program)?;
    Ok(program)
}

fn compile(
    prefix: &Path,
    compiler: &str,
    standard: &str,
    flags: &[&str],
    sources: &[PathBuf],
    program: &Path,
) -> Result<()> {
    let mut compile = shell::command(compiler);
    compile.args(STRICT).args([&format!("-std=c++{standard}"), "-pthread"]).args(flags).args(sources);
    // Some warnings need the optimizer; once is enough.
    compile.args((compiler == "g++").then_some("-O1"));
    compile.arg("-o").arg(program).args(pkg_config(prefix, &["--cflags", "--libs", "holdoff"])?).arg(rpath(prefix));
    shell::step(&format!("compile {} with {compiler}, C++{standard}", name_of(program)), &mut compile)
}

/// The C++ files of a folder, sorted.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut sources: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
    sources.sort();
    Ok(sources)
}

fn name_of(program: &Path) -> String {
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
