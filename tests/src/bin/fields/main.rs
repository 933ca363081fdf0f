//! Prints the typed options of JavaScript and Python and the tables of docs/policy.md from the core's table of fields.

use anyhow::{Result, bail};
use conformance::fields::{GUARDS, Group, groups};

mod classes;
mod page;
mod python;
mod typescript;

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("policy.ts") => print!("{}", typescript::policy()),
        Some("table.ts") => print!("{}", typescript::table()),
        Some("policies_table.ts") => print!("{}", typescript::policies_table()),
        Some("guards.ts") => print!("{}", typescript::guards()),
        Some("guards_classes.ts") => print!("{}", classes::classes()?),
        Some("guards_table.ts") => print!("{}", typescript::guards_table()?),
        Some("python") => print!("{}", python::types()),
        Some("docs") => print!("{}", page::page(&std::fs::read_to_string("docs/policy.md")?)?),
        Some("guards") => GUARDS.iter().for_each(|guard| println!("{}", guard.0)),
        Some("help") => print!("{}", python::help(&std::env::args().nth(2).unwrap_or_default())?),
        other => {
            bail!(
                "policy.ts, table.ts, policies_table.ts, guards.ts, guards_table.ts, python, docs or help, not {other:?}"
            )
        }
    }
    Ok(())
}

/// The type of the group with that path.
fn group(path: &str) -> Option<&'static Group> {
    groups().find(|group| group.0 == path)
}

const GENERATED: &str = "Generated from core/src/fields.rs by `cargo xtask generate`.";

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> Vec<String> {
    words.map(|word| format!("{word:?}")).collect()
}
