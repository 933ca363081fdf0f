//! Findings about policies: errors and lints, each with its place, as text, as JSON and as annotations of GitHub.

use crate::style::{filled, wrapped};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use holdoff_core::{ErrorCode, LintKind};
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
/// The pages of the documentation.
const PAGES: &str = "https://github.com/holdoff/holdoff/blob/main/docs/";

/// The address of the page about a finding, by its name.
pub(crate) fn page(name: &str) -> String {
    match LintKind::from_name(name) {
        Some(_) => format!("{PAGES}lints.md#{name}"),
        None => format!("{PAGES}errors.md#errors"),
    }
}

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
        // The place in what is shown of the line, and in the file.
        let mut moved = None;
        let report = match (lines, self.position) {
            (Some((start, end, span)), Some((line, column))) if end - start <= LONGEST_LINE => {
                // The value of a field that belongs to no policy may be a secret.
                let is_unknown = [ErrorCode::UnknownField, ErrorCode::UnknownFormField].map(ErrorCode::name);
                let end = if is_unknown.contains(&self.name) { start + span.end } else { end };
                let (shown, span) = masked(&text[start..end], &span);
                moved = Some([shown[..span.start].chars().count() + 1, column].map(|at| format!("{file}:{line}:{at}")));
                let snippet = Snippet::source(shown).path(file).line_start(line);
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
        let help = (self.severity == Severity::Error).then(|| page(self.name));
        // Behind `  = note: `.
        let room = width.saturating_sub(10).max(20);
        let notes: Vec<_> = effect.into_iter().chain(&more).map(|note| filled(note, room, "")).collect();
        let notes = notes.iter().map(|note| Level::NOTE.message(note));
        let report = report.elements(notes).elements(help.iter().map(|page| Level::HELP.message(page)));
        let rendered = renderer.render(&[report]);
        let rendered = moved.map_or(rendered.clone(), |[shown, place]| rendered.replacen(&shown, &place, 1));
        let (title, rest) = rendered.split_once('\n').unwrap_or((&rendered, ""));
        format!("{}\n{rest}", wrapped(title, width))
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

/// A line of a file with a setting and nothing else, so that no other value of the file is printed: its name, its value if that is no
/// list and no object, and the brackets and spaces around it.
fn masked(line: &str, span: &Range<usize>) -> (String, Range<usize>) {
    let (before, found, after) = (&line[..span.start], &line[span.clone()], &line[span.end..]);
    // A whole policy is shown by its beginning: the name of its first field, or a bracket.
    let first = found.find([':', '=']).map_or(found, |at| &found[..at]);
    let first = if first.starts_with(['{', '[']) { &first[..1] } else { first };
    let is_whole = first.len() < found.len();
    let after = if is_whole { "" } else { after };
    let name = before.trim_end().strip_suffix([':', '=']).map(|name| name.trim_end().trim_end_matches(['"', '\'']));
    let name = name.map_or(before.len(), |name| {
        let stem = name.trim_end_matches(|sign: char| sign.is_alphanumeric() || "_-.".contains(sign));
        stem.trim_end_matches(['"', '\'']).len()
    });
    let is_bare = |sign: char| !sign.is_alphanumeric();
    let around = Some(&before[..name]).filter(|around| around.chars().all(is_bare)).unwrap_or_default();
    let start = around.len() + before.len() - name;
    let shown = format!("{around}{}{first}{}", &before[name..], value(after));
    (shown, start..start + first.len())
}

/// The value behind a name, if it is in the line and neither a list nor an object, and the comma behind it.
fn value(after: &str) -> &str {
    let is_sign = |sign: char| sign.is_whitespace() || ":=\"'".contains(sign);
    let at = after.find([':', '=']).filter(|at| after[..*at].chars().all(is_sign));
    let Some(at) = at else {
        // Behind a value, not a name.
        let end = after.find(|sign: char| !",]} ".contains(sign)).unwrap_or(after.len());
        return after[..end].trim_end();
    };
    let rest = &after[at + 1..];
    let from = at + 1 + rest.len() - rest.trim_start().len();
    let end = match after[from..].chars().next() {
        Some('{' | '[') => from + 1,
        Some(quote @ ('"' | '\'')) => after[from + 1..].find(quote).map_or(after.len(), |length| from + length + 2),
        _ => after[from..].find([',', '}', ']', '#', ';']).map_or(after.len(), |length| from + length),
    };
    let rest = &after[end..];
    let close = rest.find(|sign: char| !",]} ".contains(sign)).unwrap_or(rest.len());
    after[..end + close].trim_end()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_value_but_that_of_its_setting() {
        for (line, found, shown) in [
            ("  \"attempts\": 12,", "\"attempts\"", "  \"attempts\": 12,"),
            ("  attempts: 12 # key hunter2", "attempts", "  attempts: 12"),
            ("  - attempts: \"12\", key: hunter2", "attempts", "  - attempts: \"12\","),
            ("{\"key\": \"hunter2\", \"attempts\": 12}", "\"attempts\"", "\"attempts\": 12}"),
            ("{\"key\": \"hunter2\", \"max\": 5, \"x\": 1}", "5", "\"max\": 5,"),
            ("{\"Retry\": [{\"key\": \"hunter2\"}]}", "\"Retry\"", "{\"Retry\": ["),
            ("{\"key\": \"hunter2\"}", "{\"key\": \"hunter2\"}", "{"),
            ("key: hunter2", "key: hunter2", "key"),
            ("k\u{e9}y = hunter2; attempts = 3;", "attempts", "attempts = 3"),
            ("retry.attempts = 3", "retry.attempts", "retry.attempts = 3"),
        ] {
            let start = line.find(found).unwrap();
            let (text, span) = masked(line, &(start..start + found.len()));
            assert_eq!(text, shown);
            assert!(found.starts_with(&text[span]), "{line}");
        }
    }
}
