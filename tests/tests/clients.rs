//! The files of `tests/clients` are whole, and say nothing twice.

use conformance::clients::{Again, Kind, clients, situations};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_situation_says_how_it_is_made_and_what_follows() {
    for (name, situation) in situations(&root()).unwrap() {
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{name}");
        assert!(situation.about.ends_with('.'), "{name}: {}", situation.about);
        let made = [&situation.url, &situation.grpc, &situation.error];
        assert_eq!(made.iter().filter(|made| made.is_some()).count(), 1, "{name} is made in one way");
        let never = matches!(situation.kind, Kind::Permanent | Kind::Cancelled | Kind::Success);
        assert_eq!(never, situation.again == Again::Never, "{name}");
        assert!(situation.kind != Kind::Throttled || situation.again == Again::Always, "{name}");
    }
}

#[test]
fn every_case_is_of_a_situation_and_gives_a_reason_for_another_judgement() {
    let situations: BTreeMap<_, _> = situations(&root()).unwrap().into_iter().collect();
    for (file, client) in clients(&root()).unwrap() {
        assert!(!client.cases.is_empty() && !client.version.is_empty(), "{file}");
        let mut seen = std::collections::BTreeSet::new();
        for case in &client.cases {
            let name = &case.situation;
            assert!(seen.insert(name), "{file}: {name} stands twice");
            let Some(situation) = situations.get(name) else { panic!("{file}: there is no situation {name}") };
            let differs = [
                case.kind.map(|kind| kind != situation.kind),
                case.again.map(|again| again != situation.again),
                case.hint_ms.map(|hint| hint != situation.hint_ms),
            ];
            assert!(!differs.contains(&Some(false)), "{file}: {name} repeats what situations.json says");
            assert_eq!(differs.contains(&Some(true)), case.reason.is_some(), "{file}: {name}");
        }
    }
}
