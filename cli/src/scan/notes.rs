//! What a scan did not look at, counted, so that no file is passed over in silence.

use std::collections::BTreeMap;

/// A reason why a file was not looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Skipped {
    /// A folder that cannot be listed.
    Folder,
    /// A file that cannot be read.
    Unreadable,
    /// A link.
    Link,
    /// A pipe, a device, or a name that is no Unicode.
    Special,
    /// A file above [`super::LARGEST`].
    Large,
    /// A file that is not text in UTF-8.
    Binary,
    /// A file that is not of the format that its name says.
    Broken,
    /// A template, whose policies are known when it is rendered.
    Template,
    /// A file with retries of which it says too little for a policy.
    Unsaid,
    /// A file whose placeholders have defaults, which count.
    Default,
    /// A comment that allows a warning that does not exist.
    UnknownAllow,
}

impl Skipped {
    /// The words for one and for many.
    const fn words(self) -> [&'static str; 2] {
        match self {
            Self::Folder => ["folder cannot be read", "folders cannot be read"],
            Self::Unreadable => ["file cannot be read", "files cannot be read"],
            Self::Link => ["link was not followed", "links were not followed"],
            Self::Special => ["entry is no file with a name in Unicode", "entries are no files with names in Unicode"],
            Self::Large => ["file is larger than 5 MB", "files are larger than 5 MB"],
            Self::Binary => ["file is not text in UTF-8", "files are not text in UTF-8"],
            Self::Broken => ["file is no valid JSON or YAML", "files are no valid JSON or YAML"],
            Self::Template => {
                ["file is a template, or takes values from outside", "files are templates, or take values from outside"]
            }
            Self::Unsaid => {
                ["file has retries, but not enough for a policy", "files have retries, but not enough for a policy"]
            }
            Self::Default => {
                ["file has placeholders, whose defaults count", "files have placeholders, whose defaults count"]
            }
            Self::UnknownAllow => {
                ["comment allows a warning that does not exist", "comments allow a warning that does not exist"]
            }
        }
    }
}

/// How many names of files a note has.
const SHOWN: usize = 3;

/// Counts of what was not looked at, with the first names, in the order of the names.
#[derive(Default)]
pub(crate) struct Notes(BTreeMap<Skipped, (usize, Vec<String>)>);

impl Notes {
    pub(crate) fn skip(&mut self, reason: Skipped, path: &str) {
        let (count, names) = self.0.entry(reason).or_default();
        *count += 1;
        // Each system lists a folder in an order of its own.
        let place = names.partition_point(|name| name.as_str() < path);
        if place < SHOWN {
            names.insert(place, path.to_owned());
            names.truncate(SHOWN);
        }
    }

    /// A line for each reason.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(reason, (count, names)): (&Skipped, &(usize, Vec<String>))| {
            let [one, many] = reason.words();
            let more = if *count > names.len() { ", ..." } else { "" };
            let names: Vec<_> = names.iter().map(|name| crate::finding::plain(name)).collect();
            format!("{count} {}: {}{more}", if *count == 1 { one } else { many }, names.join(", "))
        };
        self.0.iter().map(line).collect()
    }
}
