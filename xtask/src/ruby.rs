//! Ruby over the C library, made from `bindings-c/interface.json` alone: the proof that a further language can be.

use crate::{c, shell};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the vectors that the Ruby runner knows, and the examples.
pub(crate) fn test() -> Result<()> {
    let mut runner = runner(&shell::root().join("tests/vectors"))?;
    for example in fs::read_dir(shell::root().join("examples/ruby"))? {
        let example = example?.path();
        let name = example.file_name().unwrap_or_default().to_string_lossy().into_owned();
        shell::step(&format!("run the Ruby example {name}"), ruby().arg(example))?;
    }
    shell::run(&mut runner)
}

/// The conformance runner for a folder of vectors, with the Ruby that it needs made anew.
pub(crate) fn runner(dir: &Path) -> Result<Command> {
    c::dist()?;
    let mut generate = shell::command("ruby");
    generate.args(["tests/runners/ruby/generate.rb", "bindings-c/interface.json"]);
    fs::create_dir_all(made())?;
    fs::write(made().join("holdoff.rb"), shell::output(&mut generate)?)?;
    let mut runner = ruby();
    runner.arg("tests/runners/ruby/run.rb").arg(dir);
    Ok(runner)
}

/// A Ruby that finds `holdoff.rb` and the library.
fn ruby() -> Command {
    let mut ruby = shell::command("ruby");
    ruby.arg("-w").arg("-I").arg(made());
    ruby.env("HOLDOFF_LIBRARY", shell::target().join("dist/c/lib/libholdoff.so"));
    ruby
}

fn made() -> PathBuf {
    shell::target().join("ruby")
}
