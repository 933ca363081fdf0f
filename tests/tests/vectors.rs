//! The checked-in vectors: in their schema, up to date, and right.

use conformance::{generate, run, sessions};
use std::path::{Path, PathBuf};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

#[test]
fn every_file_follows_the_schema() {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema = compiler.compile(vectors().join("schema.json").to_str().unwrap(), &mut schemas).unwrap();
    for file in run::files(&vectors()).unwrap() {
        if file.parent().is_some_and(|folder| folder.ends_with("references")) {
            continue; // recorded in formats of their own
        }
        let content = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        if let Err(error) = schemas.validate(&content, schema) {
            panic!("{}: {error:#}", file.display());
        }
    }
}

#[test]
fn generated_files_are_up_to_date() {
    for (name, content) in generate::files().unwrap() {
        let old = std::fs::read_to_string(vectors().join("holdoff").join(name)).unwrap_or_default();
        assert!(old == content, "{name} is stale: run `cargo xtask generate`");
    }
}

#[test]
fn every_case_passes() {
    for file in run::files(&vectors()).unwrap() {
        let tally = run::read(&file).unwrap().run();
        assert!(tally.failed.is_empty() && tally.passed > 0, "{}: {:?}", file.display(), tally.failed);
    }
}

#[test]
fn a_wrong_vector_fails() {
    let file = r#"{"kind":"seed","version":1,"source":"wrong","cases":[{"name":"x","n":0,"k":0,"seed":1}]}"#;
    let tally = run::cases(&serde_json::from_str(file).unwrap());
    assert_eq!((tally.passed, tally.failed.len()), (0, 1));
}

#[test]
fn random_sessions_meet_every_step_and_every_reason() {
    let text = serde_json::to_string(&sessions::sessions(7, 500)).unwrap();
    for word in [
        "\"attempt\"",
        "\"sleep\"",
        "\"wait\"",
        "\"stop\"",
        "\"backoff\"",
        "\"hint\"",
        "\"clip\"",
        "\"succeeded\"",
        "\"cancelled\"",
        "\"permanent\"",
        "\"attempts\"",
        "\"deadline\"",
    ] {
        assert!(text.contains(word), "no session shows {word}");
    }
}
