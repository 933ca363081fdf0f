//! The binary, the package of Node.js and that of Python find the same in the same order, byte for byte.

#[path = "../examples/tree.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod tree;

#[allow(dead_code, reason = "each test has its own part")]
mod common;

use common::{folder, program, run, text};
use serde_json::Value;
#[cfg(target_os = "linux")]
use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

const FILES: usize = 400;

/// What a program prints about a folder: the findings, SARIF and the text, each with its notes and its exit code.
fn printed(program: std::ffi::OsString, folder: &Path) -> Vec<(String, String, Option<i32>)> {
    let styles = [&["--json"][..], &["--sarif"], &["--github"], &[]];
    let scan = |style: &&[&str]| run(program.clone(), folder, &[&["scan"], *style].concat());
    let parts = |output: std::process::Output| (text(&output.stdout), text(&output.stderr), output.status.code());
    styles.iter().map(scan).map(parts).collect()
}

/// What a scan does not read: links, and a file whose name is no Unicode. Notes name the first ones.
fn put_others(folder: &Path, order: impl Iterator<Item = usize>) {
    for number in order {
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", folder.join(format!("link{number}.yaml"))).unwrap();
        #[cfg(not(unix))]
        let _ = (folder, number);
    }
    #[cfg(target_os = "linux")]
    fs::write(folder.join(std::ffi::OsStr::from_bytes(b"bad\xff.yaml")), "retries: {}").unwrap();
}

#[test]
fn every_package_prints_the_same() {
    let root = folder("same");
    tree::put(&root, FILES).unwrap();
    put_others(&root, 0..6);
    // The order in which a folder lists its files is that of their making, of a hash, or of their names.
    let other = folder("same-backwards");
    for (name, content) in (0..FILES).rev().map(tree::file) {
        tree::write(&other, &name, &content).unwrap();
    }
    put_others(&other, (0..6).rev());

    let expected = printed(env!("CARGO_BIN_EXE_holdoff").into(), &root);
    let findings: Vec<Value> = serde_json::from_str(&expected[0].0).unwrap();
    assert!(findings.len() > FILES / 2, "{expected:?}");
    if cfg!(target_os = "linux") {
        assert!(expected[0].1.contains("6 links were not followed: link0.yaml, link1.yaml,"), "{expected:?}");
        assert!(expected[0].1.contains("1 entry is no file with a name in Unicode: bad\u{fffd}.yaml"), "{expected:?}");
    }
    for folder in [&root, &other] {
        for (ours, theirs) in expected.iter().zip(printed(program(), folder)) {
            assert_eq!(ours, &theirs, "{}", folder.display());
        }
    }
}
