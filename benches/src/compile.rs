//! The time of the first build of a crate and of all that it needs, on one core.

use crate::sample::Row;
use std::process::{self, Command};
use std::time::Instant;
use std::{env, fs};

/// The name of the rows.
pub const WORK: &str = "clean build";

/// Each by its package.
const PACKAGES: [(&str, &str); 4] =
    [("holdoff", "holdoff"), ("backon", "backon"), ("backoff", "backoff"), ("retry crate", "retry")];

/// The least time of so many builds for debugging, with the features that the crates have by default; of peers those of these benches.
///
/// # Panics
/// If a build fails.
#[must_use]
pub fn rows(builds: usize) -> Vec<Row> {
    let row = |(who, package)| {
        let least = (0..builds).map(|_| build(package)).fold(f64::INFINITY, f64::min);
        let row = Row::of(WORK, who, "ms", least);
        eprintln!("{row}");
        row
    };
    PACKAGES.map(row).into()
}

fn build(package: &str) -> f64 {
    let target = env::temp_dir().join(format!("clean build {}", process::id()));
    let _none_yet = fs::remove_dir_all(&target);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // As a program that depends on it builds it, and not as this workspace does for its tests.
    let plain = ["holdoff", "holdoff-core"].map(|name| format!("--config=profile.dev.package.{name}.opt-level=0"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(plain);
    cargo.args(["build", "--quiet", "--package", package, "--target-dir"]);
    let begun = Instant::now();
    let status = cargo.arg(&target).status().expect("cargo starts");
    let took = begun.elapsed();
    assert!(status.success(), "cargo builds {package}");
    let _left = fs::remove_dir_all(&target);
    took.as_secs_f64() * 1e3
}
