//! docs/policy.md and its page of formats keep their word: their documents are read, and the table of presets is the core's.

use conformance::documents;
use holdoff_core::{Form, Preset};
use std::path::Path;

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)).unwrap()
}

#[test]
fn every_document_on_the_pages_is_one() {
    let page = page("policy.md") + &page("internals/formats.md");
    let mut forms = Vec::new();
    let mut read = 0;
    for block in page.split("```json").skip(1) {
        let (form, rest) = block.split_once('\n').unwrap();
        let text = rest.split("```").next().unwrap();
        match Form::from_name(form.trim()) {
            None => documents::read(text).map(|_| ()),
            Some(form) => {
                forms.push(form);
                let document =
                    documents::read_form(form.reader(), text).unwrap_or_else(|error| panic!("{text}: {error}"));
                let again = match form.is_written() {
                    true => document.to_form(form).unwrap_or_else(|error| panic!("{text}: {error}")),
                    false => text.into(),
                };
                documents::read_form(form.reader(), &again).map(|again| assert_eq!(again, document, "{text}"))
            }
        }
        .unwrap_or_else(|error| panic!("{text}: {error}"));
        read += 1;
    }
    assert_eq!(forms, Form::ALL);
    assert!(read >= 12, "{read} documents");
}

#[test]
fn the_table_of_presets_is_the_cores() {
    let page = page("policy.md");
    let hints = |preset: Preset| {
        let words = preset.policy().to_string();
        words.lines().find_map(|line| line.strip_prefix("hints: ").map(str::to_owned)).unwrap()
    };
    for preset in Preset::ALL {
        let words = preset.policy().to_string();
        let mut cells =
            words.lines().filter(|line| !line.starts_with("hints: ")).map(str::to_owned).collect::<Vec<_>>();
        let own = hints(preset);
        let as_default = preset != Preset::Default && own == hints(Preset::Default);
        cells.push(if as_default { "as default".into() } else { own });
        let row = format!("\n| `{}` | {} |\n", preset.name(), cells.join(" | "));
        assert!(page.contains(&row), "docs/policy.md lacks{row}");
    }
}
