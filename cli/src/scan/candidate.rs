//! The files that may hold a policy, by their names and their bytes, before one is parsed.

use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// The ends of the names of files with configuration.
const ENDS: [&str; 20] = [
    "json",
    "jsonc",
    "json5",
    "yaml",
    "yml",
    "properties",
    "cfg",
    "conf",
    "config",
    "ini",
    "tf",
    "tfvars",
    "hcl",
    "asl",
    "template",
    "tmpl",
    "tpl",
    "j2",
    "jinja",
    "toml",
];
/// Files with other ends, by their names.
const NAMES: [&str; 3] = ["config", "credentials", "haproxy"];
/// Files that tools write, and that only look like configuration.
const WRITTEN: [&str; 6] =
    ["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "composer.lock", "package.json", "tsconfig.json"];
/// A policy has one of these words, whatever the case of its letters.
const WORDS: [&str; 13] = [
    "retr",
    "backoff",
    "attempts",
    "errorequals",
    "maxreceivecount",
    "_next_upstream",
    "redispatch",
    "eventage",
    "event_age",
    "virtualservice",
    "httproute",
    "outlier",
    "\"deadline\"",
];

/// True if the name of a file is one of configuration.
pub(crate) fn may_hold(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, end)) => ENDS.iter().any(|known| end.eq_ignore_ascii_case(known)) && !WRITTEN.contains(&name),
        None => NAMES.contains(&name),
    }
}

/// True if a file has a word that belongs to retries.
pub(crate) fn mentions_retries(bytes: &[u8]) -> bool {
    static FINDER: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).ok());
    FINDER.as_ref().is_none_or(|finder| finder.is_match(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_of_pre_commit_runs_for_the_same_files() {
        let files = format!("files: '(\\.({})|(^|/)({}))$'", ENDS.join("|"), NAMES.join("|"));
        let hook = include_str!("../../../.pre-commit-hooks.yaml");
        assert!(hook.contains(&files), "{files}");
    }
}
