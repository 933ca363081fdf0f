//! The files below a folder, without those that `.gitignore` and the configuration leave out.
//!
//! The host lists folders, so that a walk is the same in the binary and in Node.js. Links are not followed: they may lead out of the
//! folder, or around in a circle.

use super::candidate::may_hold;
use super::notes::{Notes, Skipped};
use crate::host::{Entry, EntryKind, Host};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::rc::Rc;

/// Folders of tools, which hold the files of others.
const TOOLS: [&str; 10] = [
    ".git",
    ".hg",
    ".svn",
    ".terraform",
    ".tox",
    ".venv",
    "__pycache__",
    "bower_components",
    "node_modules",
    "site-packages",
];
/// The files of patterns in a folder, the later ones above the earlier.
const IGNORES: [&str; 2] = [".gitignore", ".ignore"];

/// The patterns of a folder and of those around it.
struct Level {
    own: Gitignore,
    around: Option<Rc<Self>>,
}

impl Level {
    /// True if the patterns leave a path out. The innermost folder that has one for it decides.
    fn leaves_out(&self, path: &str, is_folder: bool) -> bool {
        match self.own.matched(path, is_folder) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.around.as_ref().is_some_and(|around| around.leaves_out(path, is_folder)),
        }
    }
}

/// The patterns of a configuration, which count from the current folder.
pub(crate) fn patterns(lines: &[String]) -> Gitignore {
    built(".", lines.iter().map(String::as_str))
}

fn built<'l>(root: &str, lines: impl Iterator<Item = &'l str>) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    for line in lines {
        // As in git, a pattern that is none has no effect.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Adds the files below a folder that may hold a policy, in the order of their paths.
pub(crate) fn walk(root: &str, exclude: &Gitignore, host: &Host<'_>, notes: &mut Notes) -> Vec<String> {
    let root = root.trim_end_matches('/');
    let start = if root == "." { String::new() } else { format!("{root}/") };
    let mut folders = vec![(start.clone(), above(&start, host))];
    let mut files = Vec::new();
    while let Some((folder, around)) = folders.pop() {
        let entries = match (host.list)(if folder.is_empty() { "." } else { &folder }) {
            Ok(entries) => entries,
            Err(_) => {
                notes.skip(Skipped::Folder, &folder);
                continue;
            }
        };
        let level = level(&folder, &entries, around, host);
        for Entry { name, kind } in entries {
            let path = format!("{folder}{name}");
            let is_folder = kind == EntryKind::Folder;
            if is_folder && TOOLS.contains(&&*name)
                || level.as_ref().is_some_and(|level| level.leaves_out(&path, is_folder))
                || exclude.matched(&path, is_folder).is_ignore()
            {
                continue;
            }
            match kind {
                EntryKind::Folder => folders.push((path + "/", level.clone())),
                EntryKind::File if may_hold(&path) => files.push(path),
                EntryKind::File => {}
                EntryKind::Link => notes.skip(Skipped::Link, &path),
                EntryKind::Other => notes.skip(Skipped::Special, &path),
            }
        }
    }
    files.sort_unstable();
    files
}

/// The patterns of the folders around a path, from the current folder or the root on.
fn above(start: &str, host: &Host<'_>) -> Option<Rc<Level>> {
    let ends = start.char_indices().filter(|(_, sign)| *sign == '/').map(|(at, _)| at + 1);
    let is_relative = !start.starts_with('/');
    let mut around = None;
    for end in is_relative.then_some(0).into_iter().chain(ends).filter(|end| *end < start.len()) {
        let folder = start.get(..end).unwrap_or_default();
        // Above a path such as `../x` other patterns count than those of the current folder.
        if folder.ends_with("../") {
            around = None;
        }
        if let Ok(entries) = (host.list)(if folder.is_empty() { "." } else { folder }) {
            // git's patterns end with its repository.
            if entries.iter().any(|entry| entry.name == ".git") {
                around = None;
            }
            around = level(folder, &entries, around, host);
        }
    }
    around
}

/// The patterns of a folder with those around it.
fn level(folder: &str, entries: &[Entry], around: Option<Rc<Level>>, host: &Host<'_>) -> Option<Rc<Level>> {
    let names = IGNORES.into_iter().filter(|name| entries.iter().any(|entry| entry.name == *name));
    let texts: Vec<_> = names.filter_map(|name| (host.read)(&format!("{folder}{name}")).ok()).collect();
    if texts.is_empty() {
        return around;
    }
    let texts: Vec<_> = texts.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
    let root = if folder.is_empty() { "." } else { folder };
    Some(Rc::new(Level { own: built(root, texts.iter().flat_map(|text| text.lines())), around }))
}
