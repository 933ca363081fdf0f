//! What is shipped of others: the licences of the crates that are compiled into a package, and a bill of materials (CycloneDX).

use crate::shell;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The name of the licences in a package.
const LICENCES: &str = "LICENSE-THIRD-PARTY";
/// The name of the bill of materials in a package.
const MATERIALS: &str = "sbom.cyclonedx.json";

/// A crate that is compiled into a package.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crate {
    name: String,
    version: String,
    licence: String,
}

/// Writes the licences of the crates that the crate in `package` is compiled of, with those features for that target, into a folder.
pub(crate) fn write_licences(folder: &Path, package: &Path, target: &str, features: &str) -> Result<BTreeSet<Crate>> {
    let crates = crates(package, target, features)?;
    fs::write(folder.join(LICENCES), licences(&crates, &folders()?)?)?;
    Ok(crates)
}

/// The same, and the bill of materials.
pub(crate) fn write(folder: &Path, package: &Path, target: &str, features: &str) -> Result<()> {
    let crates = write_licences(folder, package, target, features)?;
    Ok(fs::write(folder.join(MATERIALS), materials(&crates))?)
}

/// The crates of others, from the lock file.
fn crates(package: &Path, target: &str, features: &str) -> Result<BTreeSet<Crate>> {
    let mut tree = shell::cargo();
    tree.args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}|{l}"]);
    tree.arg("--manifest-path").arg(package.join("Cargo.toml")).args(["--target", target, "--features", features]);
    Ok(shell::output(&mut tree)?.lines().filter_map(crate_of).collect())
}

/// The crate in a line of `cargo tree`; nothing for one of this repository, which has a path.
fn crate_of(line: &str) -> Option<Crate> {
    let (id, licence) = line.trim_end_matches(" (*)").split_once('|')?;
    let (name, version) = id.split_once(" v")?;
    let of_others = !version.contains(" (");
    // Some crates still write the choice as cargo once had it.
    let licence = licence.replace('/', " OR ");
    of_others.then(|| Crate { name: name.to_owned(), version: version.to_owned(), licence })
}

/// The folder of each crate's sources.
fn folders() -> Result<BTreeMap<(String, String), String>> {
    let metadata = shell::output(shell::cargo().args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo names no packages")?;
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let folder = |manifest: String| manifest.trim_end_matches("/Cargo.toml").to_owned();
    let entry = |package| ((text(package, "name"), text(package, "version")), folder(text(package, "manifest_path")));
    Ok(packages.iter().map(entry).collect())
}

/// Each crate with its licence, and each text once, with the crates that it is of.
fn licences(crates: &BTreeSet<Crate>, folders: &BTreeMap<(String, String), String>) -> Result<String> {
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    let mut text = "This package contains Rust's standard library (MIT OR Apache-2.0, by the Rust project's contributors) and:\n\n".to_owned();
    for one in crates {
        let id = format!("{} {}", one.name, one.version);
        writeln!(text, "- {id}, {}", one.licence)?;
        let folder =
            folders.get(&(one.name.clone(), one.version.clone())).with_context(|| format!("no sources of {id}"))?;
        for licence in licence_files(Path::new(folder))? {
            texts.entry(licence).or_default().push(id.clone());
        }
    }
    for (licence, of) in texts {
        write!(text, "\n{}\nLicence of {}\n\n{}\n", "-".repeat(80), of.join(", "), licence.trim_end())?;
    }
    Ok(text)
}

/// The texts of a crate's licences; of a choice that has MIT, that one.
fn licence_files(folder: &Path) -> Result<Vec<String>> {
    let mut names = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>>>()?;
    names.retain(|name| {
        ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|begin| name.to_uppercase().starts_with(begin))
    });
    names.sort();
    if names.iter().any(|name| name == "LICENSE-MIT") {
        names.retain(|name| name != "LICENSE-APACHE" && name != "LICENSE");
    }
    names.iter().map(|name| Ok(fs::read_to_string(folder.join(name))?.replace("\r\n", "\n"))).collect()
}

/// A bill of materials as CycloneDX 1.5 has it; the same for the same lock file.
fn materials(crates: &BTreeSet<Crate>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let component = |one: &Crate| {
        let purl = format!("pkg:cargo/{}@{}", one.name, one.version);
        json!({
            "type": "library", "bom-ref": purl, "name": one.name, "version": one.version, "purl": purl,
            "licenses": [{ "expression": one.licence }],
        })
    };
    let materials = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": {
            "type": "library", "bom-ref": "holdoff", "name": "holdoff", "version": version,
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        } },
        "components": crates.iter().map(component).collect::<Vec<_>>(),
    });
    format!("{materials:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_others_are_named_and_ours_are_not() {
        let lines = "holdoff-core v0.1.0 (/home/me/core)|MIT OR Apache-2.0\nlibm v0.2.16|MIT\nlibm v0.2.16|MIT (*)\n";
        let crates: BTreeSet<_> = lines.lines().filter_map(crate_of).collect();
        let names: Vec<_> = crates.iter().map(|one| (&*one.name, &*one.version, &*one.licence)).collect();
        assert_eq!(names, [("libm", "0.2.16", "MIT")]);
        let bill: Value = serde_json::from_str(&materials(&crates)).unwrap();
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/libm@0.2.16");
    }

    #[test]
    fn the_licences_of_what_the_core_needs_are_found() {
        let crates = crates(&shell::root().join("core"), "wasm32-unknown-unknown", "").unwrap();
        assert!(crates.iter().any(|one| one.name == "rand_pcg"));
        let text = licences(&crates, &folders().unwrap()).unwrap();
        assert!(text.contains("- libm ") && text.contains("Permission is hereby granted"), "{text}");
    }
}
