//! Bytes: what is shipped, what a download weighs, and what a microcontroller's memory takes.

use super::Figure;
use crate::{c, python, setup, shell, wasm};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn size(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("no {}", path.display()))?.len())
}

/// The npm package: its tarball, and each module as it is and as a server sends it.
pub(super) fn npm() -> Result<Vec<Figure>> {
    setup::npm(&["benches/peers/js"])?;
    let tarball = wasm::dist()?;
    let mut figures = vec![Figure::bytes("npm", "tarball", size(&tarball)?)];
    let dist = shell::root().join("bindings-wasm/dist");
    let mut modules = fs::read_dir(dist)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    modules.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    modules.sort();
    let mut bundles = shell::command("node");
    bundles.args(["benches/peers/js/sizes.mjs", "--ours"]).stderr(Stdio::null());
    for bundle in serde_json::from_str::<Vec<Bundle>>(&shell::output(&mut bundles)?)? {
        figures.push(Figure::bytes(&bundle.work, &bundle.who, bundle.bytes));
    }
    for module in modules {
        let name = module.file_stem().unwrap_or_default().to_string_lossy();
        figures.push(Figure::bytes("wasm module", &name, size(&module)?));
        figures.push(Figure::bytes("wasm module, gzip", &name, zipped(&module)?));
    }
    Ok(figures)
}

/// A page's download: the package with what a caller imports of it.
#[derive(Deserialize)]
struct Bundle {
    work: String,
    who: String,
    bytes: u64,
}

fn zipped(path: &Path) -> Result<u64> {
    let output = shell::command("gzip").args(["-9", "--no-name", "--stdout"]).arg(path).output()?;
    Ok(output.stdout.len() as u64)
}

/// The Python wheel, and the module in it.
pub(super) fn wheel() -> Result<Vec<Figure>> {
    let wheel = python::wheel()?;
    let listed = shell::output(python::python(&["-m", "zipfile", "--list"]).arg(&wheel))?;
    let module = listed.lines().find(|line| line.contains(".so ")).and_then(|line| line.split(' ').next_back());
    let module = module.and_then(|size| size.parse().ok()).context("no module in the wheel")?;
    Ok(vec![Figure::bytes("wheel", "compressed", size(&wheel)?), Figure::bytes("wheel", "module", module)])
}

/// The C library, whole and by what a program that links it statically gets of it.
pub(super) fn library() -> Result<Vec<Figure>> {
    let lib = c::dist()?.join("lib");
    let (shared, archive) = (lib.join("libholdoff.so"), lib.join("libholdoff.a"));
    let stripped = shell::target().join("libholdoff.stripped.so");
    shell::run(shell::command("strip").arg(&shared).arg("-o").arg(&stripped))?;
    let mut figures = vec![
        Figure::bytes("C library, shared", "code", code(&shared)?),
        Figure::bytes("C library, shared", "stripped", size(&stripped)?),
    ];
    for (who, names) in USED {
        let mut link = shell::command("ld");
        let bytes = linked(link.arg("--unresolved-symbols=ignore-all"), &archive, names)?;
        figures.push(Figure::bytes("C library, linked", who, bytes));
    }
    Ok(figures)
}

/// Programs that use a part of the C library: their name here and the functions they call.
const USED: [(&str, &[&str]); 4] = [
    ("retry", &["holdoff_policy_default", "holdoff_retry_init", "holdoff_retry_on_failure"]),
    (
        "call",
        &[
            "holdoff_policy_default",
            "holdoff_call_begin",
            "holdoff_call_succeed",
            "holdoff_call_fail",
            "holdoff_call_tick",
        ],
    ),
    (
        "call, policy from fields",
        &[
            "holdoff_policy_fields_init",
            "holdoff_policy_init",
            "holdoff_call_begin",
            "holdoff_call_succeed",
            "holdoff_call_fail",
            "holdoff_call_tick",
        ],
    ),
    (
        "call, policy from fields, breaker",
        &[
            "holdoff_policy_fields_init",
            "holdoff_policy_init",
            "holdoff_call_begin",
            "holdoff_call_succeed",
            "holdoff_call_fail",
            "holdoff_call_tick",
            "holdoff_breaker_init_consecutive",
            "holdoff_breaker_acquire",
            "holdoff_breaker_record",
        ],
    ),
];

/// The C library on a microcontroller without an operating system, with all that the compiler adds.
pub(super) fn thumb() -> Result<Vec<Figure>> {
    let archive = c::thumb()?;
    let lld = shell::lld()?;
    let mut figures = Vec::new();
    for (who, names) in USED.into_iter().chain([("all of it", &["holdoff_version"][..])]) {
        let mut link = shell::command(&lld);
        link.args(["-flavor", "gnu"]);
        if who == "all of it" {
            link.arg("--no-gc-sections");
        }
        figures.push(Figure::bytes("thumbv7m", who, linked(&mut link, &archive, names)?));
    }
    Ok(figures)
}

/// The code of a program that calls these and nothing else.
fn linked(link: &mut Command, archive: &Path, names: &[&str]) -> Result<u64> {
    let program = shell::target().join("linked.elf");
    if !link.get_args().any(|argument| argument == "--no-gc-sections") {
        link.arg("--gc-sections");
    }
    link.args(names.iter().flat_map(|name| ["-u", name])).args(["-e", names[0]]);
    shell::output(link.arg(archive).arg("-o").arg(&program))?;
    code(&program)
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
