//! Bytes: what is shipped, what a download weighs, and what a microcontroller's memory takes.

use super::Figure;
use crate::{c, python, setup, shell, wasm};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::process::Stdio;

fn size(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("no {}", path.display()))?.len())
}

/// The npm package, as pages load it.
pub(super) fn npm() -> Result<Vec<Figure>> {
    setup::npm(&["benches/peers/js"])?;
    wasm::dist()?;
    let mut bundles = shell::command("node");
    bundles.args(["benches/peers/js/sizes.mjs", "--ours"]).stderr(Stdio::null());
    let bundles = serde_json::from_str::<Vec<Bundle>>(&shell::output(&mut bundles)?)?;
    Ok(bundles.into_iter().map(|bundle| Figure::bytes(&bundle.work, &bundle.who, bundle.bytes)).collect())
}

/// A page's download: the package with what a caller imports of it.
#[derive(Deserialize)]
struct Bundle {
    work: String,
    who: String,
    bytes: u64,
}

/// The Python wheel.
pub(super) fn wheel() -> Result<Vec<Figure>> {
    Ok(vec![Figure::bytes("wheel", "compressed", size(&python::wheel()?)?)])
}

/// The C library.
pub(super) fn library() -> Result<Vec<Figure>> {
    let stripped = shell::target().join("libholdoff.stripped.so");
    shell::run(shell::command("strip").arg(c::dist()?.join("lib/libholdoff.so")).arg("-o").arg(&stripped))?;
    Ok(vec![Figure::bytes("C library, shared", "stripped", size(&stripped)?)])
}

/// The functions of a call whose policy comes from numbers, and of a breaker.
const USED: [&str; 9] = [
    "holdoff_policy_fields_init",
    "holdoff_policy_init",
    "holdoff_call_begin",
    "holdoff_call_succeed",
    "holdoff_call_fail",
    "holdoff_call_tick",
    "holdoff_breaker_init_consecutive",
    "holdoff_breaker_acquire",
    "holdoff_breaker_record",
];

/// A program of these functions on a microcontroller without an operating system, with all that the compiler adds.
pub(super) fn thumb() -> Result<Vec<Figure>> {
    let program = shell::target().join("linked.elf");
    let mut link = shell::command(&shell::lld()?);
    link.args(["-flavor", "gnu", "--gc-sections", "-e", USED[0]]);
    link.args(USED.iter().flat_map(|name| ["-u", name])).arg(c::thumb()?).arg("-o").arg(&program);
    shell::output(&mut link)?;
    Ok(vec![Figure::bytes("thumbv7m", "call, policy from fields, breaker", code(&program)?)])
}

/// The code and the tables of a program: what of it does not change. readelf reads those of other processors too.
fn code(program: &Path) -> Result<u64> {
    let listed = shell::output(shell::command("readelf").args(["--section-headers", "--wide"]).arg(program))?;
    Ok(listed
        .lines()
        .filter_map(section)
        .filter(|(name, _)| [".text", ".rodata"].contains(name))
        .map(|(_, size)| size)
        .sum())
}

/// The name and the size of a section of readelf's list.
fn section(line: &str) -> Option<(&str, u64)> {
    let mut words = line.split_once(']')?.1.split_whitespace();
    let name = words.next()?;
    // Type, address, offset, size.
    Some((name, u64::from_str_radix(words.nth(3)?, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_a_name_and_a_size() {
        let line = "  [ 3] .text             PROGBITS        00020318 000318 004266 00  AX  0   0  4";
        assert_eq!(section(line), Some((".text", 0x4266)));
        assert_eq!(section("  [Nr] Name              Type            Address  Off    Size   ES Flg Lk Inf Al"), None);
        assert_eq!(section("There are 5 section headers:"), None);
    }
}
