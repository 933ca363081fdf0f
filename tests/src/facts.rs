//! What several pages say, printed from one place: each fact stands between two marks, `<!-- printed: NAME -->` and
//! `<!-- /printed -->`, and is written anew by `cargo xtask generate`.

use anyhow::{Context as _, Result, bail, ensure};
use holdoff_core::{Form, Preset};
use std::fs;
use std::path::{Path, PathBuf};

const END: &str = "<!-- /printed -->";

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A page whose printed parts are up to date. The path begins at the root of the repository.
///
/// # Errors
/// There is no such fact, or a mark has no end.
pub fn page(path: &str) -> Result<String> {
    let text = fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))?;
    let up = "../".repeat(path.matches('/').count());
    let mut parts = text.split("<!-- printed: ");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_first = page.is_empty() || page.ends_with('\n');
        let (name, rest) = part.split_once(" -->").with_context(|| format!("{path}: a mark does not end"))?;
        let (_, after) = rest.split_once(END).with_context(|| format!("{path}: `{name}` has no {END}"))?;
        // A line that begins with a comment is HTML, and its Markdown is text.
        ensure!(
            is_first == rest.starts_with('\n'),
            "{path}: the marks of `{name}` are either lines or words in a line"
        );
        let content = fact(name)?.replace("](", &format!("]({up}"));
        // The marks of a block are on lines of their own, those of words are not.
        let line = if rest.starts_with('\n') { "\n" } else { "" };
        page += &format!("<!-- printed: {name} -->{line}{content}{line}{END}{after}");
    }
    Ok(page)
}

/// A fact by its name, with links from the root of the repository.
fn fact(name: &str) -> Result<String> {
    Ok(match name {
        "build" => "holdoff is not published yet. Build its packages once, in a clone of this repository, with rustup, Node 20, Python \
                    3.10 and a C compiler:\n\n```sh\ncargo xtask dist && export HOLDOFF=\"$PWD\"\n```"
            .to_owned(),
        "unpublished" => {
            "holdoff is not published yet: [build its packages first](docs/start.md), one command.".to_owned()
        }
        "budget" => "The budget is on by default in JavaScript, Python and Rust's `SharedPolicy`; in C and C++ set the field `budget` of \
                     the host. A preset of another system has none unless you set one."
            .to_owned(),
        "outage" => picture("docs/storm.svg")?,
        "pictures" => format!("{}\n{}", picture("docs/storm.svg")?, picture("docs/storm-bad-day.svg")?),
        "presets" => Preset::ALL.len().to_string(),
        "formats" => Form::ALL.len().to_string(),
        "policies" => files("docs/catalogue", ".json")?.to_string(),
        // One of the pages is about them all.
        "clients" => (files("docs/fronts", ".md")? - 1).to_string(),
        _ => bail!("no fact is called `{name}`"),
    })
}

/// A drawing, with its own description as its text.
fn picture(path: &str) -> Result<String> {
    let svg = fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))?;
    let between = |begin: &str, end: &str| {
        let (_, rest) = svg.split_once(begin).with_context(|| format!("{path} has no {begin}"))?;
        rest.split_once(end).map(|(text, _)| text).with_context(|| format!("{path} has no {end}"))
    };
    Ok(format!("![{}. {}]({path})", between("<title id=\"title\">", "<")?, between("<desc id=\"text\">", "<")?))
}

/// How many files of a folder have such a name.
fn files(folder: &str, ending: &str) -> Result<usize> {
    let entries = fs::read_dir(root().join(folder)).with_context(|| format!("cannot read {folder}"))?;
    Ok(entries.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(ending)).count())
}

/// The pages that have a printed part, from the root of the repository.
///
/// # Errors
/// The folder of pages cannot be read.
pub fn pages() -> Result<Vec<String>> {
    let mut found = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).with_context(|| format!("cannot read {folder}"))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") && fs::read_to_string(entry.path())?.contains("<!-- printed: ") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_parts_are_up_to_date() {
        for path in pages().unwrap() {
            let now = fs::read_to_string(root().join(&path)).unwrap();
            assert_eq!(now, page(&path).unwrap(), "{path} is stale: run `cargo xtask generate`");
        }
    }

    #[test]
    fn an_unknown_fact_is_an_error() {
        assert_eq!(fact("no such").unwrap_err().to_string(), "no fact is called `no such`");
    }
}
