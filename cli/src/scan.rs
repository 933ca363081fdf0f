//! `scan`: the mistakes in the retries of a repository, or of files.

mod allow;
mod baseline;
mod candidate;
mod config;
mod effect;
mod idle;
mod lint;
pub(crate) mod look;
mod notes;
mod parallel;
mod policies;
mod report;
mod repository;
mod sarif;
mod services;
mod walk;

use crate::files::files;
use crate::finding::{Finding, annotations, objects};
use crate::host::{Answer, Host, Output, error};
use crate::input::{Format, Input, Origin, Problem};
use crate::spans::Lines;
use crate::style::{DIM, styled, wrapped};
use baseline::Baseline;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use config::{Config, FailOn};
use holdoff_core::{LintKind, Preset, Span};
use lint::Of;
use notes::{Notes, Skipped};
use policies::{Found, Scanned, Source};
use services::Services;
use std::collections::{HashMap, HashSet};

/// The largest file that is read in a folder, in bytes.
pub(crate) const LARGEST: u64 = 5_000_000;
/// The most bytes of files that are held at once.
const BATCH: usize = 64_000_000;

/// Find mistakes in the retries of a repository: of policies, and of the files of other systems.
///
/// Exits with 1 if there is an error or a warning, and with 2 if a named file cannot be read.
#[derive(Args)]
pub(crate) struct Scan {
    /// Folders, files, patterns such as `config/**/*.retry.json`, or presets (`-`: the standard input); the current folder unless
    /// given.
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<String>,
    #[command(flatten)]
    form: Format,
    /// A warning to leave out, by its name.
    #[arg(long, value_name = "WARNING", value_parser = kind())]
    allow: Vec<LintKind>,
    /// How long the caller waits, such as 30s: sleeps that take longer are a warning.
    #[arg(long, value_name = "TIME", value_parser = span)]
    within: Option<Span>,
    /// The least severity with which the command exits with 1.
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// A file of known findings, which are left out.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    baseline: Option<String>,
    /// Write the findings into the file of known findings.
    #[arg(long)]
    write_baseline: bool,
    /// A configuration, instead of the file `.holdoff.toml`.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<String>,
    #[command(flatten)]
    style: Style,
}

/// The output of a scan: text for people unless one of these is given.
#[derive(Args)]
#[group(multiple = false)]
struct Style {
    /// Print a list of objects.
    #[arg(long)]
    json: bool,
    /// Print workflow commands of GitHub, which show each finding beside its line.
    #[arg(long)]
    github: bool,
    /// Print SARIF 2.1.0, for code scanning.
    #[arg(long)]
    sarif: bool,
}

fn kind() -> impl TypedValueParser<Value = LintKind> {
    PossibleValuesParser::new(LintKind::ALL.map(LintKind::name))
        .try_map(|name| LintKind::from_name(&name).ok_or("is no name of a warning"))
}

/// The findings about a policy that need no other file.
pub(crate) fn findings(input: &Input) -> Vec<Finding> {
    let file = &*input.name;
    match &input.origin {
        Some(Origin { policy, documents, text }) => {
            let of = Of { file, lines: &Lines::of(text), policy: &policy.name, system: policy.system };
            policies::findings(policy, &of, &Services::of(documents), text, None)
        }
        None => {
            let of = Of { file, lines: &Lines::of(""), policy: "", system: None };
            lint::lints(&input.document, &of, None, &|_| None)
        }
    }
}

/// Reads a time with its unit.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    Span::parse(text).ok_or_else(|| "must be a time with its unit, such as 250ms, 1.5s or 2m".to_owned())
}

impl Scan {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let config = Config::read(self.config.as_deref(), host)?;
        let baseline = self.baseline.as_ref().or(config.baseline.as_ref());
        if self.write_baseline && baseline.is_none() {
            return Err(error("--write-baseline needs --baseline FILE, or `baseline` in the configuration"));
        }
        let mut found = self.found(&config, host);
        let mut findings: Vec<_> =
            found.scanned.iter_mut().flat_map(|file| std::mem::take(&mut file.findings)).collect();
        let layers: Vec<_> = found.scanned.iter().flat_map(|file| &file.layers).collect();
        let budgets: Vec<_> = found.scanned.iter().flat_map(|file| &file.budgets).collect();
        findings.extend(repository::lints(&layers, &budgets));
        let unread: String = found.unread.lines().map(|line| wrapped(line, host.width) + "\n").collect();
        self.keep(&mut findings, &found, &config);
        report::sort(&mut findings);
        if let Some(path) = baseline.filter(|_| self.write_baseline) {
            let known = Baseline::of(&findings);
            known.write(path, host)?;
            let out = format!("{path}: {} known\n", report::counted(known.len(), "finding"));
            return Ok(Output {
                out,
                err: unread.clone(),
                code: if found.unread.is_empty() { 0 } else { 2 },
                ..Output::default()
            });
        }
        let known = match baseline {
            Some(path) => Baseline::read(path, host)?.remove(&mut findings),
            None => 0,
        };
        let fail_on = self.fail_on.or(config.fail_on).unwrap_or(FailOn::Warning);
        let fails = findings.iter().any(|finding| report::fails(finding.severity, fail_on));
        let note = |line: &String| format!("{}\n", styled(DIM, wrapped(line, host.width)));
        let notes: String = found.notes.lines().iter().map(note).collect();
        let is_read = found.unread.is_empty();
        let out = match self.style {
            Style { json: true, .. } => objects(&findings),
            Style { github: true, .. } => annotations(&findings),
            Style { sarif: true, .. } => sarif::sarif(&findings),
            _ if !is_read && findings.is_empty() && found.scanned.is_empty() => String::new(),
            _ => report::text(&findings, &found, known, host.width),
        };
        Ok(Output { out, err: notes + &unread, code: if is_read { u8::from(fails) } else { 2 }, ..Output::default() })
    }

    /// Reads all files.
    fn found(&self, config: &Config, host: &Host<'_>) -> Found {
        let mut found = Found::default();
        let mut sources = Vec::new();
        let usual = [".".to_owned()];
        let paths = match (&self.paths[..], &config.paths[..]) {
            ([], []) => &usual[..],
            ([], paths) | (paths, _) => paths,
        };
        let mut known = HashSet::new();
        for path in paths {
            for source in self.sources(path, config, host, &mut found) {
                if known.insert(source.path().trim_start_matches("./").to_owned()) {
                    sources.push(source);
                }
            }
        }
        let mut batch = Vec::new();
        let mut bytes = 0;
        for source in sources {
            found.files += 1;
            match self.text(source, host, &mut found.notes) {
                Ok(Some(text)) => {
                    bytes += text.text.len();
                    batch.push(text);
                }
                Ok(None) => {}
                Err(Problem::Wrong(wrong, text)) => found.scanned.push(Scanned::wrong(wrong, text)),
                Err(Problem::Unreadable(text)) => found.unread += &format!("{text}\n"),
            }
            if bytes > BATCH {
                self.read(&std::mem::take(&mut batch), &mut found);
                bytes = 0;
            }
        }
        self.read(&batch, &mut found);
        found
    }

    /// The files that an argument stands for. A file or a folder comes before a preset of that name.
    fn sources(&self, path: &str, config: &Config, host: &Host<'_>, found: &mut Found) -> Vec<Source> {
        if path != "-" && (host.list)(path).is_ok() {
            found.walked = true;
            let files = walk::walk(path, &config.exclude, host, &mut found.notes);
            return files.into_iter().map(Source::Found).collect();
        }
        match files(path, host) {
            Ok(files) => {
                let named = |file: String| match Preset::from_name(&file) {
                    Some(preset) if (host.size)(&file).is_err() => Source::Preset(preset),
                    _ => Source::Named(file),
                };
                files.into_iter().map(named).collect()
            }
            Err(text) => {
                found.unread += &format!("{text}\n");
                Vec::new()
            }
        }
    }

    /// The text of a file to look at, if there is reason to.
    fn text(&self, source: Source, host: &Host<'_>, notes: &mut Notes) -> Result<Option<policies::Text>, Problem> {
        let path = match &source {
            Source::Found(path) => path,
            Source::Named(path) => {
                let (name, text) = self.form.text(path, host)?;
                return Ok(Some(policies::Text { name, text, source }));
            }
            Source::Preset(preset) => {
                return Ok(Some(policies::Text { name: preset.name().to_owned(), text: String::new(), source }));
            }
        };
        let mut skip = |reason| {
            notes.skip(reason, path);
            Ok(None)
        };
        match (host.size)(path) {
            Ok(size) if size > LARGEST => return skip(Skipped::Large),
            Ok(_) => {}
            Err(_) => return skip(Skipped::Unreadable),
        }
        let Ok(bytes) = (host.read)(path) else { return skip(Skipped::Unreadable) };
        if !candidate::mentions_retries(&bytes) {
            return Ok(None);
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(policies::Text { name: path.clone(), text: crate::input::unmarked(text), source })),
            Err(_) => skip(Skipped::Binary),
        }
    }

    /// Reads the policies of texts, many at once.
    fn read(&self, texts: &[policies::Text], found: &mut Found) {
        for (scanned, skipped) in parallel::each(texts, |text| policies::scanned(text, &self.form, self.within)) {
            for reason in skipped {
                found.notes.skip(reason, &scanned.name);
            }
            if let Some(text) = &scanned.unread {
                found.unread += &format!("{text}\n");
            }
            if scanned.policies > 0 || !scanned.findings.is_empty() || !scanned.budgets.is_empty() {
                found.scanned.push(scanned);
            }
        }
    }

    /// Drops what is allowed, and gives the others the severity of the configuration.
    fn keep(&self, findings: &mut Vec<Finding>, found: &Found, config: &Config) {
        let marked = found.scanned.iter().filter(|file| file.text.contains(allow::MARK));
        let lines: HashMap<_, Vec<_>> = marked.map(|file| (&*file.name, file.text.lines().collect())).collect();
        findings.retain_mut(|finding| {
            finding.severity = config.severity(finding.name, finding.severity);
            let line = finding.position.map_or(0, |position| position.0);
            let lines = lines.get(&*finding.file).map_or(&[][..], |lines| lines);
            !(self.allow.iter().any(|kind| kind.name() == finding.name)
                || config.allows(&finding.file, finding.name)
                || allow::is_allowed(lines, line, finding.name))
        });
    }
}
