use super::*;
use std::vec::Vec;

#[test]
fn every_name_leads_to_one_field_and_the_first_is_its_path() {
    let mut names: Vec<_> = Field::names().collect();
    for (name, field) in Field::names() {
        let first = Field::names().find(|known| known.1 == field).unwrap();
        assert_eq!(first.0, field.path(), "{name}");
        assert_eq!(field.is_guards(), is_guard(name), "{name}");
        assert_eq!(field.words().next().is_some(), matches!(field.takes(), Takes::Word(_)), "{name}");
    }
    names.sort_unstable_by_key(|known| known.0);
    assert!(names.windows(2).all(|two| two[0].0 != two[1].0));
    let mut codes: Vec<_> = Field::ALL.iter().map(|field| field.code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, (1..=codes.len() as u8).collect::<Vec<_>>());
}

#[test]
fn a_name_belongs_to_guards_by_its_section() {
    for (name, guard) in [
        ("budget", true),
        ("budget.colour", true),
        ("hedge[0].delay", true),
        ("nested[0]", true),
        ("budgets", false),
        ("backoff.kind", false),
        ("", false),
        (".budget", false),
    ] {
        assert_eq!(is_guard(name), guard, "{name}");
    }
}
