//! One version for everything that is shipped. Python takes it from the crate.

use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

#[test]
fn the_npm_package_has_the_version_of_the_crates() {
    for path in ["bindings-wasm/package.json", "bindings-wasm/package-lock.json"] {
        let package: serde_json::Value = serde_json::from_str(&read(path)).unwrap();
        assert_eq!(package["version"], env!("CARGO_PKG_VERSION"), "{path}");
    }
}

#[test]
fn the_c_header_has_the_version_of_the_crates() {
    let line = format!("#define HOLDOFF_VERSION \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(read("bindings-c/include/holdoff.h").contains(&line));
}

#[test]
fn the_changelog_has_an_entry_for_it() {
    assert!(read("CHANGELOG.md").contains(&format!("## {}", env!("CARGO_PKG_VERSION"))));
}
