//! The program that measures C: benches/peers/c, with the shared library and the static one in one process.

use super::compile::STRICT;
use super::{dist, pkg_config, rpath};
use crate::shell;
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds it, and says where it is.
///
/// The file that calls the library is compiled twice. One object holds the whole static library with its names hidden, so
/// that the other one finds those of the shared library.
pub(crate) fn bench() -> Result<PathBuf> {
    let (prefix, scratch) = (dist()?, shell::target().join("c-bench"));
    fs::create_dir_all(&scratch)?;
    let mut inlined = shell::cargo();
    inlined.args(["rustc", "--quiet", "--package", "counts", "--lib", "--crate-type", "staticlib", "--release"]);
    shell::step("build the same machines inlined", &mut inlined)?;

    let [shared, apart, linked] = ["shared.o", "apart.o", "linked.o"].map(|name| scratch.join(name));
    for (who, object) in [("shared", &shared), ("linked", &apart)] {
        let mut library = compile(&prefix)?;
        library.args([&format!("-DWHO={who}"), "-c", "benches/peers/c/library.c", "-o"]).arg(object);
        shell::run(&mut library)?;
    }
    let mut join = shell::command("ld");
    join.arg("-r").arg(apart).arg(prefix.join("lib/libholdoff.a")).arg("-o").arg(&linked);
    shell::run(&mut join)?;
    let mut hide = shell::command("objcopy");
    shell::run(hide.args(["--wildcard", "--keep-global-symbol=linked_*"]).arg(&linked))?;

    let program = scratch.join("bench");
    let mut link = compile(&prefix)?;
    link.args(["main.c", "floors.c", "freertos.c"].map(|name| Path::new("benches/peers/c").join(name)));
    link.args([&shared, &linked]).arg(shell::target().join("release/libcounts.a")).arg("-o").arg(&program);
    link.args(pkg_config(&prefix, &["--libs", "holdoff"])?).arg(rpath(&prefix)).args(["-lpthread", "-ldl", "-lm"]);
    shell::step("compile the C bench", &mut link)?;
    Ok(program)
}

/// As a consumer who wants speed compiles; gnu99, because pedants know no 128 bits.
fn compile(prefix: &Path) -> Result<Command> {
    let mut compile = shell::command("gcc");
    compile.args(STRICT.iter().filter(|flag| **flag != "-Wpedantic")).args(["-std=gnu99", "-O2"]);
    compile.args(pkg_config(prefix, &["--cflags", "holdoff"])?);
    Ok(compile)
}
