//! Findings about policies: errors and lints, each with its place, as text, as JSON and as annotations of GitHub.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde::{Serialize, Serializer};
use std::fmt::Write as _;
use std::ops::Range;

/// How findings are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// For people, with the line of the file.
    Text,
    /// A list of objects.
    Json,
    /// Workflow commands of GitHub, which show each finding beside its line.
    Github,
}

/// The weight of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    Error,
    Warning,
}

/// One finding about a file.
#[derive(Clone, Serialize)]
pub(crate) struct Finding {
    pub(crate) file: String,
    pub(crate) severity: Severity,
    /// The number and the word of docs/errors.md.
    pub(crate) code: u16,
    pub(crate) name: &'static str,
    pub(crate) message: String,
    /// The path of the value in the document; empty for the document as a whole.
    pub(crate) path: String,
    /// Line and column, from 1.
    #[serde(flatten, serialize_with = "line_and_column")]
    pub(crate) position: Option<(usize, usize)>,
    #[serde(skip)]
    pub(crate) span: Option<Range<usize>>,
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
    /// The finding for people, with the line of the file if the text has its place.
    pub(crate) fn render(&self, text: &str, width: usize) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
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
                let snippet = Snippet::source(&text[start..end]).path(&self.file).line_start(line);
                title.element(snippet.annotation(AnnotationKind::Primary.span(span)))
            }
            (_, Some((line, column))) => {
                title.element(annotate_snippets::Origin::path(&self.file).line(line).char_column(column))
            }
            _ => title.element(annotate_snippets::Origin::path(&self.file)),
        };
        renderer.render(&[report])
    }

    /// The finding as a workflow command of GitHub.
    fn github(&self) -> String {
        let kind = if self.severity == Severity::Error { "error" } else { "warning" };
        let mut line = format!("::{kind} file={}", property(&self.file));
        if let Some((number, column)) = self.position {
            let _ = write!(line, ",line={number},col={column}");
        }
        let title = property(&format!("holdoff {} {}", self.code, self.name));
        let _ = write!(line, ",title={title}::{}", data(&self.message));
        line
    }
}

/// Findings, each with the text of its file, in a style.
pub(crate) fn rendered(findings: &[(Finding, &str)], style: Style, width: usize) -> String {
    match style {
        Style::Text => findings.iter().map(|(finding, text)| finding.render(text, width) + "\n\n").collect(),
        Style::Github => findings.iter().map(|(finding, _)| finding.github() + "\n").collect(),
        Style::Json => {
            let all: Vec<_> = findings.iter().map(|(finding, _)| finding).collect();
            serde_json::to_string_pretty(&all).map_or_else(|error| error.to_string(), |text| text + "\n")
        }
    }
}

/// The message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
