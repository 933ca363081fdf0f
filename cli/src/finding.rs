//! Findings about policies: errors and lints, each with its place, as text, as JSON and as annotations of GitHub.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt::Write as _;
use std::ops::Range;

/// The weight of a finding, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// The file is no policy, or none that its system accepts.
    Error,
    /// A setting that is probably a mistake.
    Warning,
    /// Something to know.
    Note,
}

/// One finding about a file.
#[derive(Clone, Serialize)]
pub(crate) struct Finding {
    pub(crate) file: String,
    /// The name of the policy in the file; empty if it has only one.
    pub(crate) policy: String,
    /// The format of the policy: `holdoff` for a policy document.
    pub(crate) form: &'static str,
    pub(crate) severity: Severity,
    /// The number and the word of docs/errors.md.
    pub(crate) code: u16,
    pub(crate) name: &'static str,
    pub(crate) message: String,
    /// What happens to a caller or a server; empty for errors.
    pub(crate) effect: String,
    /// The path of the value in the document; empty for the document as a whole.
    pub(crate) path: String,
    /// Line and column, from 1.
    #[serde(flatten, serialize_with = "line_and_column")]
    pub(crate) position: Option<(usize, usize)>,
    #[serde(skip)]
    pub(crate) span: Option<Range<usize>>,
    /// How bad it is among findings of its name: a time in nanoseconds, or a number of requests.
    #[serde(skip)]
    pub(crate) weight: f64,
}

fn line_and_column<S: Serializer>(position: &Option<(usize, usize)>, out: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Position {
        line: Option<usize>,
        column: Option<usize>,
    }
    Position { line: position.map(|at| at.0), column: position.map(|at| at.1) }.serialize(out)
}

/// The longest line of a file that is shown: beside a file in one line there is no room for its place.
const LONGEST_LINE: usize = 2_000;

impl Finding {
    /// The finding for people, with the line of the file if the text has its place. `also` has the other policies of the file of
    /// which the same is true.
    pub(crate) fn render(&self, text: &str, also: &[&str], width: usize) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let file = &plain(&self.file);
        let name = format!("{} {}", self.code, self.name);
        let title = level.primary_title(&self.message).id(&name);
        // The lines of the place alone: the renderer reads all that it is given.
        let lines = self.span.clone().map(|span| {
            let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
            let first = text[span.start..].find('\n').map_or(text.len(), |at| span.start + at);
            (start, first, span.start - start..span.end.min(first) - start)
        });
        let renderer = Renderer::styled().term_width(width);
        let report = match (lines, self.position) {
            (Some((start, end, span)), Some((line, _))) if end - start <= LONGEST_LINE => {
                let snippet = Snippet::source(&text[start..end]).path(file).line_start(line);
                let label = (!self.policy.is_empty()).then(|| format!("policy {}", self.policy));
                title.element(snippet.annotation(AnnotationKind::Primary.span(span).label(label)))
            }
            (_, Some((line, column))) => {
                title.element(annotate_snippets::Origin::path(file).line(line).char_column(column))
            }
            _ => title.element(annotate_snippets::Origin::path(file)),
        };
        let more = match also {
            [] => None,
            [one] => Some(format!("also policy {one}")),
            [first, .., last] => Some(format!("also {} policies, from {first} to {last}", also.len())),
        };
        let effect = Some(&self.effect).filter(|effect| !effect.is_empty());
        let notes = effect.into_iter().chain(&more).map(|note| Level::NOTE.message(note));
        let report = report.elements(notes);
        renderer.render(&[report])
    }

    /// The finding as a workflow command of GitHub.
    fn github(&self) -> String {
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let mut line = format!("::{kind} file={}", property(&self.file));
        if let Some((number, column)) = self.position {
            let _ = write!(line, ",line={number},col={column}");
        }
        let title = property(&format!("holdoff {} {}", self.code, self.name));
        let policy = if self.policy.is_empty() { String::new() } else { format!("policy {}: ", self.policy) };
        let effect = if self.effect.is_empty() { String::new() } else { format!("\n{}", self.effect) };
        let _ = write!(line, ",title={title}::{}", data(&format!("{policy}{}{effect}", self.message)));
        line
    }
}

/// Findings as workflow commands of GitHub, which show each beside its line.
pub(crate) fn annotations(findings: &[Finding]) -> String {
    findings.iter().map(|finding| finding.github() + "\n").collect()
}

/// Findings as a list of objects.
pub(crate) fn objects(findings: &[Finding]) -> String {
    serde_json::to_string_pretty(findings).map_or_else(|error| error.to_string(), |text| text + "\n")
}

/// A name without signs that steer a terminal.
pub(crate) fn plain(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

/// The message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
