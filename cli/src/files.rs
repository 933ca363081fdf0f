//! The files that a pattern means, such as `config/**/*.retry.json`, for shells that do not do it themselves.

use crate::host::{Entry, EntryKind, Host, error};
use glob::{MatchOptions, Pattern};

/// The most folders that a pattern looks into.
const MOST_FOLDERS: usize = 10_000;
/// Names that begin with a dot are found only by a pattern that has it.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// The files that a name or a pattern stands for, in the order of their names. A name without `*`, `?` and `[` is itself.
pub(crate) fn files(pattern: &str, host: &Host<'_>) -> Result<Vec<String>, String> {
    // Windows has two signs between folders.
    let text = if cfg!(windows) { pattern.replace('\\', "/") } else { pattern.to_owned() };
    let Some(first) = text.find(['*', '?', '[']) else { return Ok(vec![pattern.to_owned()]) };
    // A file may have these signs in its name.
    if (host.read)(pattern).is_ok() {
        return Ok(vec![pattern.to_owned()]);
    }
    let matcher = Pattern::new(&text).map_err(|wrong| error(format_args!("{pattern}: {}", wrong.msg)))?;
    let folder = text.get(..first).and_then(|before| before.rfind('/')).map_or("", |at| text.get(..=at).unwrap_or(""));
    let deepest = if text.contains("**") { usize::MAX } else { text.matches('/').count() };
    let (mut folders, mut seen, mut found) = (vec![folder.to_owned()], 0, Vec::new());
    while let Some(folder) = folders.pop() {
        seen += 1;
        if seen > MOST_FOLDERS {
            return Err(error(format_args!("{pattern}: there are more than {MOST_FOLDERS} folders to look into")));
        }
        let names = match (host.list)(if folder.is_empty() { "." } else { &folder }) {
            Ok(names) => names,
            Err(cause) if seen == 1 => return Err(error(format_args!("{folder}: {cause}"))),
            Err(_) => continue,
        };
        for Entry { name, kind } in names {
            let path = format!("{folder}{name}");
            match kind {
                EntryKind::Folder if name.starts_with('.') || name == "node_modules" => {}
                EntryKind::Folder if path.matches('/').count() < deepest => folders.push(path + "/"),
                EntryKind::File | EntryKind::Link if matcher.matches_with(&path, OPTIONS) => found.push(path),
                _ => {}
            }
        }
    }
    if found.is_empty() {
        return Err(error(format_args!("{pattern}: no file has such a name")));
    }
    found.sort();
    Ok(found)
}
