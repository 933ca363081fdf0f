//! The binary, the package of Node.js and that of Python find the same in the same order, byte for byte.

#[path = "../examples/tree.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod tree;

#[allow(dead_code, reason = "each test has its own part")]
mod common;

use common::{folder, holdoff, program, run, text};
use serde_json::Value;
#[cfg(target_os = "linux")]
use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

const FILES: usize = 300;

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

/// Warnings that need more than the policy: other files.
const OF_REPOSITORIES: [&str; 2] = ["nested_retries", "mesh_without_budget"];

#[test]
fn explain_shows_what_scan_finds_in_a_file() {
    let root = folder("agree");
    let route = tree::file(0).1.replace("route:", "match: [{ method: { exact: POST } }]\n      route:");
    let client =
        "resilience4j.retry:\n  instances:\n    shop: { waitDuration: 500ms, exponentialBackoffMultiplier: 2 }\n";
    let more = [("post.yaml".to_owned(), route), ("client.yml".to_owned(), client.to_owned())];
    let files = (0..6).map(tree::file).chain(more);
    let mut seen = std::collections::BTreeSet::new();
    for (name, content) in files {
        tree::write(&root, &name, &content).unwrap();
        let found = text(&holdoff(&root, &["scan", "--json", &name]).stdout);
        let found: Vec<Value> = serde_json::from_str(&found).unwrap();
        let policies: std::collections::BTreeSet<_> = found.iter().map(|of| of["policy"].as_str().unwrap()).collect();
        for policy in policies {
            let of_policy = found.iter().filter(|of| of["policy"] == policy);
            let mut expected: Vec<_> = of_policy.map(|of| of["name"].as_str().unwrap()).collect();
            expected.retain(|name| !OF_REPOSITORIES.contains(name));
            let entry: &[&str] = if policy.is_empty() { &[] } else { &["--entry", policy] };
            let output = holdoff(&root, &[&["explain", "--json", &name], entry].concat());
            let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
            let lints = explained["lints"].as_array().unwrap();
            let mut lints: Vec<_> = lints.iter().map(|of| of["name"].as_str().unwrap().to_owned()).collect();
            expected.sort_unstable();
            lints.sort_unstable();
            assert_eq!(lints, expected, "{name} {policy}");
            seen.extend(lints);
        }
    }
    for name in ["retries_everything", "retries_client_errors", "no_effect", "unsafe_method", "no_jitter"] {
        assert!(seen.contains(name), "{seen:?}");
    }
}
