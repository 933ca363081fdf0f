//! The embedded example: compiled for a microcontroller, linked with the library without a heap, and run in an emulator.

use super::compile::STRICT;
use crate::shell::{self, say};
use anyhow::{Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The bytes of flash that the example may take, library included.
const MOST: u64 = 24 * 1024;

/// Builds the example with the static library for thumbv7m, and runs it.
pub(super) fn test(archive: &Path, scratch: &Path) -> Result<()> {
    let example = shell::root().join("examples/embedded");
    let (object, program, image) =
        (scratch.join("embedded.o"), scratch.join("embedded.elf"), scratch.join("embedded.bin"));
    let mut compile = shell::command("clang");
    compile.args(STRICT).args(["--target=thumbv7m-none-eabi", "-std=c99", "-Os", "-ffreestanding", "-c"]);
    compile.arg("-I").arg(shell::root().join("bindings-c/include")).arg(example.join("main.c")).arg("-o").arg(&object);
    shell::step("compile the embedded example for thumbv7m", &mut compile)?;
    let mut link = shell::command(shell::lld()?);
    link.args(["-flavor", "gnu", "--gc-sections", "-T"]).arg(example.join("board.ld")).args([&object, archive]);
    shell::step("link the embedded example", link.arg("-o").arg(&program))?;
    let mut run = Command::new("timeout");
    run.args(["20", "qemu-system-arm", "-M", "lm3s6965evb", "-nographic", "-semihosting", "-kernel"]).arg(&program);
    shell::step("run the embedded example in an emulator", &mut run)?;
    link.arg("--oformat=binary").arg("-o").arg(&image);
    shell::output(&mut link)?;
    let flash = fs::metadata(&image)?.len();
    say!("  the embedded example takes {flash} bytes of flash");
    ensure!(flash <= MOST, "the embedded example takes {flash} bytes of flash, more than {MOST}");
    Ok(())
}
