//! The findings as data hold to their schemas: SARIF's own, and docs/scan.schema.json.

#[allow(dead_code, reason = "each test has its own part")]
mod common;
#[path = "../examples/tree.rs"]
#[allow(dead_code, reason = "an example has a main function")]
mod tree;

use boon::{Compiler, SchemaIndex, Schemas};
use common::{folder, holdoff, put, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A schema, held against values.
struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn read(path: &Path) -> Self {
        let schema = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.enable_format_assertions();
        compiler.add_resource("schema.json", schema).unwrap();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        self.schemas.validate(value, self.index).map_err(|error| format!("{error:#}"))
    }
}

/// The schema of SARIF 2.1.0, which is part of the package serde-sarif.
fn sarif() -> PathBuf {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--format-version", "1", "--locked"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let metadata: Value = serde_json::from_slice(&metadata.output().unwrap().stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"] == "serde-sarif").unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("src/schema.json")
}

/// Scans with findings of every severity, with and without a place and an effect, and one with none.
fn scans(style: &str) -> Vec<Value> {
    let root = folder(&format!("schemas{style}"));
    tree::put(&root, 40).unwrap();
    put(&root, "a b/\u{e9}\u{1b}.retry.json", "{\"attempts\": 0, \"atempts\": 3}");
    put(&root, "list.retry.json", "[]");
    put(&root, "good/a.retry.json", "{\"attempts\": 3}");
    let absolute = root.to_str().unwrap();
    [&[][..], &["good"], &["default", "polly", "--within", "1s"], &[absolute], &["list.retry.json"]]
        .iter()
        .map(|paths| {
            let printed = holdoff(&root, &[&["scan", style], *paths].concat());
            serde_json::from_str(&text(&printed.stdout)).unwrap()
        })
        .collect()
}

#[test]
fn sarif_holds_to_its_schema() {
    let schema = Schema::read(&sarif());
    let logs = scans("--sarif");
    let levels = |level: &str| logs[0]["runs"][0]["results"].as_array().unwrap().iter().any(|of| of["level"] == level);
    assert!(levels("error") && levels("warning") && levels("note"), "{:#}", logs[0]);
    for log in &logs {
        schema.check(log).unwrap_or_else(|wrong| panic!("{wrong}\n{log:#}"));
    }
    let mut wrong = logs[0].clone();
    wrong["runs"][0]["results"][0]["level"] = "bad".into();
    assert!(schema.check(&wrong).is_err(), "the schema would take anything");
}

#[test]
fn findings_hold_to_their_schema() {
    let schema = Schema::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/scan.schema.json"));
    let lists = scans("--json");
    assert!(lists[0].as_array().unwrap().len() > 20 && lists[1].as_array().unwrap().is_empty());
    for list in &lists {
        schema.check(list).unwrap_or_else(|wrong| panic!("{wrong}\n{list:#}"));
    }
    let mut wrong = lists[0].clone();
    wrong[0]["position"] = 3.into();
    assert!(schema.check(&wrong).is_err(), "the schema would take anything");
}
