//! Every rule of docs/spec.md is shown by a vector, or held by a test that tests/rules.json names.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// tests/rules.json.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Citations {
    #[allow(dead_code)]
    about: String,
    files: BTreeMap<String, BTreeSet<String>>,
    tests: BTreeMap<String, String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn citations() -> Citations {
    serde_json::from_str(&std::fs::read_to_string(root().join("tests/rules.json")).unwrap()).unwrap()
}

/// The numbers of the rules: of the section and of the entry in its list.
fn rules() -> BTreeSet<String> {
    let spec = std::fs::read_to_string(root().join("docs/spec.md")).unwrap();
    let (mut section, mut rules) = ("", BTreeSet::new());
    let number =
        |line: &'static str| line.split_once(". ").map(|parts| parts.0).filter(|digits| digits.parse::<u8>().is_ok());
    for line in String::leak(spec).lines() {
        match line.strip_prefix("## ") {
            Some(heading) => section = number(heading).unwrap_or(""),
            None if !section.is_empty() => rules.extend(number(line).map(|rule| format!("{section}.{rule}"))),
            None => {}
        }
    }
    rules
}

/// The files of vectors under their names, with the citations of each case.
fn vectors() -> BTreeMap<String, Vec<Vec<String>>> {
    let mut files = BTreeMap::new();
    for folder in ["holdoff", "peers", "references"] {
        for file in std::fs::read_dir(root().join("tests/vectors").join(folder)).unwrap() {
            let path = file.unwrap().path();
            let content: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let Some(cases) = content["cases"].as_array() else { continue };
            let texts = |case: &Value| {
                case["rules"].as_array().map(|rules| rules.iter().map(|rule| rule.as_str().unwrap().into()).collect())
            };
            let name = format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
            files.insert(name, cases.iter().map(|case| texts(case).unwrap_or_default()).collect());
        }
    }
    files
}

#[test]
fn every_vector_cites_a_rule_that_there_is() {
    let (rules, citations, vectors) = (rules(), citations(), vectors());
    assert!(rules.len() > 250, "{}", rules.len());
    for (name, cases) in &vectors {
        let of_file = citations.files.get(name);
        for (nth, cited) in cases.iter().enumerate() {
            assert!(of_file.is_some() || !cited.is_empty(), "case {nth} of {name} cites no rule");
            assert!(cited.iter().all(|rule| rules.contains(rule)), "case {nth} of {name} cites {cited:?}");
        }
    }
    for (name, cited) in &citations.files {
        assert!(vectors.contains_key(name), "{name} is no file of vectors");
        assert!(cited.is_subset(&rules), "{name} cites {cited:?}");
    }
}

#[test]
fn every_rule_is_shown_by_a_vector_or_held_by_a_test() {
    let (citations, vectors) = (citations(), vectors());
    let mut shown: BTreeSet<_> = vectors.into_values().flatten().flatten().collect();
    shown.extend(citations.files.into_values().flatten());
    let missing: Vec<_> =
        rules().into_iter().filter(|rule| !shown.contains(rule) && !citations.tests.contains_key(rule)).collect();
    assert!(missing.is_empty(), "no vector shows and no test holds {missing:?}");
    for (rule, test) in &citations.tests {
        assert!(!shown.contains(rule), "{rule} is shown by a vector");
        let (file, name) = test.split_once("::").unwrap();
        let source = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(
            ["fn ", "void ", "def ", "test(\""].iter().any(|word| {
                let end = if word.ends_with('"') { '"' } else { '(' };
                source.contains(&format!("{word}{name}{end}"))
            }),
            "{test} is no test"
        );
    }
}
