//! `.holdoff.toml`: which files a scan reads, and how much each warning weighs.

use super::walk::patterns;
use crate::finding::Severity;
use crate::host::{Host, error};
use holdoff_core::{ErrorCode, LintKind};
use ignore::gitignore::Gitignore;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The file in the current folder that is read unless another one is named.
pub(crate) const NAME: &str = ".holdoff.toml";

/// The content of the file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Content {
    /// The files, folders and patterns of a scan without arguments.
    #[serde(default)]
    paths: Vec<String>,
    /// Patterns of `.gitignore` for files that are left out.
    #[serde(default)]
    exclude: Vec<String>,
    /// The names of findings to leave out.
    #[serde(default)]
    allow: Vec<String>,
    /// The same for the files of a pattern.
    #[serde(default)]
    allow_in: BTreeMap<String, Vec<String>>,
    /// The severity of findings by their names.
    #[serde(default)]
    severity: BTreeMap<String, Severity>,
    /// The file of known findings.
    baseline: Option<String>,
    /// The least severity with which a scan fails.
    fail_on: Option<FailOn>,
}

/// The least severity of a finding with which a scan exits with 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FailOn {
    /// Errors.
    Error,
    /// Errors and warnings.
    Warning,
    /// Nothing.
    Never,
}

/// The configuration of a scan.
pub(crate) struct Config {
    pub(crate) paths: Vec<String>,
    pub(crate) exclude: Gitignore,
    pub(crate) baseline: Option<String>,
    pub(crate) fail_on: Option<FailOn>,
    allow: Vec<String>,
    allow_in: Vec<(Gitignore, Vec<String>)>,
    severity: BTreeMap<String, Severity>,
}

impl Config {
    /// Reads a file, or the one of the current folder if there is one.
    pub(crate) fn read(named: Option<&str>, host: &Host<'_>) -> Result<Self, String> {
        let path = named.unwrap_or(NAME);
        let text = match (host.read)(path) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| error(format_args!("{path}: is not text in UTF-8")))?,
            Err(cause) if named.is_some() => return Err(error(format_args!("{path}: {cause}"))),
            Err(_) => String::new(),
        };
        let content: Content = toml::from_str(&text).map_err(|wrong| {
            let at = wrong.span().map(|span| crate::spans::line_and_column(&text, span.start));
            let place = at.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
            error(format_args!("{path}{place}: {}", wrong.message()))
        })?;
        let allowed = content.allow_in.values().flatten().chain(&content.allow).chain(content.severity.keys());
        for name in allowed {
            if !is_name(name) {
                return Err(error(format_args!("{path}: {name}: is no name of a finding; `holdoff rule` lists them")));
            }
        }
        Ok(Self {
            paths: content.paths,
            exclude: patterns(&content.exclude),
            baseline: content.baseline,
            fail_on: content.fail_on,
            allow: content.allow,
            allow_in: content.allow_in.into_iter().map(|(pattern, names)| (patterns(&[pattern]), names)).collect(),
            severity: content.severity,
        })
    }

    /// True if the configuration leaves a finding of a file out.
    pub(crate) fn allows(&self, file: &str, name: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|allowed| allowed == name);
        let is_in = |pattern: &Gitignore| pattern.matched_path_or_any_parents(relative(file), false).is_ignore();
        has(&self.allow) || self.allow_in.iter().any(|(pattern, names)| has(names) && is_in(pattern))
    }

    /// The severity of a finding.
    pub(crate) fn severity(&self, name: &str, usual: Severity) -> Severity {
        self.severity.get(name).copied().unwrap_or(usual)
    }
}

/// A path that the patterns may be asked about: they count from the current folder.
fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// True for the name of a warning or of an error.
pub(crate) fn is_name(name: &str) -> bool {
    LintKind::from_name(name).is_some() || ErrorCode::from_name(name).is_some()
}
