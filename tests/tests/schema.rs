//! The schema of the policy document says what the library says, as far as a schema can.

use conformance::format::File;
use conformance::run::{self, Content};
use conformance::{documents, schema};
use holdoff_core::{ErrorCode, Preset};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

struct Validator {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

impl Validator {
    fn new() -> Self {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("policy.schema.json", schema::schema()).unwrap();
        let index = compiler.compile("policy.schema.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn check(&self, document: &Value) -> Result<(), String> {
        self.schemas.validate(document, self.index).map_err(|error| format!("{error:#}"))
    }
}

/// What is wrong in a way that only the library can tell: several values held against each other, or a size.
const BEYOND: [ErrorCode; 11] = [
    ErrorCode::NeverRetries,
    ErrorCode::MaxBelowInitial,
    ErrorCode::MinAttemptRange,
    ErrorCode::TimesMissing,
    ErrorCode::TooManyStages,
    ErrorCode::PresetStages,
    ErrorCode::FloorAboveMax,
    ErrorCode::OffsetRange,
    ErrorCode::UntilPlace,
    ErrorCode::RepeatPlace,
    ErrorCode::LimitsLast,
];

/// Wrong documents of the vectors that a schema takes all the same, beside those.
const TAKEN: [&str; 9] = [
    "longer than any time",
    "a span that is too long",
    "a factor for a preset without jitter",
    "a factor for a preset with a constant delay",
    "a field of another kind than the preset's",
    "a breaker that could never open",
    "a first rate above the highest",
    "a log that is too long",
    "a run of failures, some of which may fail",
];

/// Every document of the vectors: its case's name, and whether it is good.
fn documents() -> Vec<(String, Value, Option<u16>)> {
    let mut found = Vec::new();
    for file in run::files(&root().join("tests/vectors")).unwrap() {
        let Content::Ours(content) = run::read(&file).unwrap() else { continue };
        match content {
            File::Policy(file) => found.extend(
                file.cases.into_iter().map(|c| (c.name, c.given.policy.into(), c.given.error.map(|error| error.code))),
            ),
            File::Document(file) => found.extend(file.cases.into_iter().filter_map(|c| {
                Some((c.name, serde_json::from_str(&c.given.text).ok()?, c.given.error.map(|error| error.code)))
            })),
            File::Classify(file) => {
                found.extend(file.cases.into_iter().map(|c| (c.name, c.given.policy.into(), None)));
            }
            File::Call(file) => found.extend(file.cases.into_iter().map(|c| (c.name, c.given.policy.into(), None))),
            File::Retry(file) => found.extend(file.cases.into_iter().map(|c| (c.name, c.given.policy.into(), None))),
            File::Schedule(file) => found.extend(file.cases.into_iter().map(|c| (c.name, c.given.policy.into(), None))),
            File::Backoff(file) => found.extend(file.cases.into_iter().map(|c| (c.name, c.given.policy.into(), None))),
            _ => {}
        }
    }
    found
}

#[test]
fn good_documents_follow_it_and_wrong_ones_do_not() {
    let validator = Validator::new();
    let (mut good, mut wrong) = (0, 0);
    for (name, document, error) in documents() {
        let got = validator.check(&document);
        match error {
            None => {
                assert!(got.is_ok(), "{name}: {document} {got:?}");
                good += 1;
            }
            Some(code) if BEYOND.iter().any(|beyond| beyond.code() == code) || TAKEN.contains(&name.as_str()) => {}
            Some(_) => {
                assert!(got.is_err(), "{name}: {document}");
                wrong += 1;
            }
        }
    }
    assert!(good > 300 && wrong > 150, "{good} good and {wrong} wrong documents");
}

#[test]
fn every_preset_and_what_it_writes_follows_it() {
    let validator = Validator::new();
    for preset in Preset::ALL {
        assert_eq!(validator.check(&json!({ "preset": preset.name() })), Ok(()));
        let mut text = String::new();
        preset.policy().to_json(&mut text).unwrap();
        assert_eq!(validator.check(&serde_json::from_str(&text).unwrap()), Ok(()), "{text}");
        assert_eq!(documents::read(&text).unwrap().policy, preset.policy());
    }
}

#[test]
fn every_document_of_the_catalogue_follows_it() {
    let validator = Validator::new();
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("docs/catalogue")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|end| end == "json") {
            let file: Value = serde_json::from_str(&std::fs::read_to_string(entry.path()).unwrap()).unwrap();
            assert_eq!(validator.check(&file["policy"]), Ok(()), "{}", entry.path().display());
            count += 1;
        }
    }
    assert_eq!(count, 27);
}

#[test]
fn every_document_of_the_pages_follows_it() {
    let validator = Validator::new();
    for page in ["docs/policy.md", "docs/editor.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let blocks = text.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
        // Other blocks are settings of editors, or policies of other systems.
        let read = blocks.filter(|block| documents::read(block).is_ok());
        let checked =
            read.map(|block| assert_eq!(validator.check(&serde_json::from_str(block).unwrap()), Ok(()), "{block}"));
        assert!(checked.count() > 0, "{page}");
    }
}

#[test]
fn every_example_and_default_in_the_schema_follows_it() {
    let validator = Validator::new();
    let schema = schema::schema();
    let properties = schema["properties"].as_object().unwrap();
    for (name, property) in properties {
        assert!(property["description"].as_str().is_some_and(|text| text.len() > 10), "{name}");
        for value in property["examples"].as_array().unwrap().iter().chain(property.get("default")) {
            let mut document = json!({ name: value });
            if name == "on_deadline" {
                document["min_attempt"] = "1s".into();
            }
            assert_eq!(validator.check(&document), Ok(()), "{document}");
        }
    }
    // The fields of each group as well, in the group.
    for (group, kinds) in [("backoff", "stage"), ("jitter", "jitterFields"), ("hint", "hint")] {
        for (name, field) in schema["$defs"][kinds]["properties"].as_object().unwrap() {
            assert!(group == "backoff" && name == "jitter" || name == "hint" || field["examples"].is_array(), "{name}");
        }
    }
}

#[test]
fn the_file_is_up_to_date() {
    let file = std::fs::read_to_string(root().join("docs/policy.schema.json")).unwrap_or_default();
    assert!(
        file == format!("{:#}\n", schema::schema()),
        "docs/policy.schema.json is stale: run `cargo xtask generate`"
    );
}
