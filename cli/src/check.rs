//! `lint` and `check`: what is wrong with policies, and what is hardly meant.

use crate::files::files;
use crate::finding::{Finding, Severity, Style, rendered};
use crate::host::{Answer, Host, Output};
use crate::input::{Format, Input, Problem};
use crate::spans;
use crate::style::{DIM, GOOD, styled};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holdoff_core::{LintKind, Span};

/// Print warnings about a policy: settings that are valid and hardly meant.
#[derive(Args)]
pub(crate) struct Lint {
    /// A preset, or a JSON file with a policy (`-`: the standard input).
    #[arg(value_hint = clap::ValueHint::FilePath)]
    policy: String,
    #[command(flatten)]
    rules: Rules,
}

/// Check policy files: errors and warnings, for CI. Exits with 1 if there is any, with 2 if a file cannot be read.
#[derive(Args)]
pub(crate) struct Check {
    /// JSON files with a policy, or patterns such as `config/**/*.retry.json` (`-`: the standard input).
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<String>,
    #[command(flatten)]
    rules: Rules,
}

/// The options of both.
#[derive(Args)]
struct Rules {
    #[command(flatten)]
    form: Format,
    /// A warning to leave out, by its name.
    #[arg(long, value_name = "WARNING", value_parser = kind())]
    allow: Vec<LintKind>,
    /// How long the caller waits, such as 30s: sleeps that take longer are a warning.
    #[arg(long, value_name = "TIME", value_parser = span)]
    within: Option<Span>,
    /// Print a list of objects.
    #[arg(long)]
    json: bool,
    /// Print workflow commands of GitHub, which show each finding beside its line.
    #[arg(long, conflicts_with = "json")]
    github: bool,
}

fn kind() -> impl TypedValueParser<Value = LintKind> {
    PossibleValuesParser::new(LintKind::ALL.map(LintKind::name))
        .try_map(|name| LintKind::from_name(&name).ok_or("is no name of a warning"))
}

/// Reads a time with its unit.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    Span::parse(text).ok_or_else(|| "must be a time with its unit, such as 250ms, 1.5s or 2m".to_owned())
}

impl Lint {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let read = self.rules.form.policy(&self.policy, host);
        self.rules.report(vec![read], host)
    }
}

impl Check {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let inputs = self.files.iter().flat_map(|pattern| match files(pattern, host) {
            Ok(found) => found.into_iter().map(|file| self.rules.form.file(&file, host)).collect(),
            Err(text) => vec![Err(Problem::Unreadable(text))],
        });
        self.rules.report(inputs.collect(), host)
    }
}

impl Rules {
    /// Prints the findings about all inputs. A file that cannot be read is said after the findings about the others.
    fn report(&self, inputs: Vec<Result<Input, Problem>>, host: &Host<'_>) -> Answer {
        let (mut findings, mut unread) = (Vec::new(), String::new());
        for input in &inputs {
            match input {
                Ok(input) => findings.extend(self.lints(input).map(|finding| (finding, &*input.text))),
                Err(Problem::Wrong(wrong, text)) => {
                    findings.extend(wrong.iter().map(|finding| (finding.clone(), &**text)));
                }
                Err(Problem::Unreadable(text)) => unread += &format!("{text}\n"),
            }
        }
        let style = match self {
            Self { json: true, .. } => Style::Json,
            Self { github: true, .. } => Style::Github,
            _ => Style::Text,
        };
        let mut out = rendered(&findings, style, host.width);
        let is_read = unread.is_empty();
        if style == Style::Text && (is_read || !findings.is_empty()) {
            out.push_str(&summary(inputs.len(), &findings));
        }
        let code = if is_read { u8::from(!findings.is_empty()) } else { 2 };
        Ok(Output { out, err: unread, code, ..Output::default() })
    }

    fn lints<'i>(&'i self, input: &'i Input) -> impl Iterator<Item = Finding> + 'i {
        let (policy, guards) = (&input.document.policy, &input.document.guards);
        let lints: Vec<_> = match self.within {
            None => guards.lints(policy).collect(),
            Some(within) => guards.lints_within(policy, within).collect(),
        };
        lints.into_iter().filter(|lint| !self.allow.contains(&lint.kind)).map(|lint| {
            // Fields of other systems have other names.
            let paths = if self.form.form.is_none() { places(lint.kind) } else { &[] };
            let found = paths.iter().find_map(|path| Some((*path, spans::find(&input.text, path, true)?)));
            let (path, span) = found.unzip();
            let text = lint.to_string();
            Finding {
                file: input.name.clone(),
                severity: Severity::Warning,
                code: lint.kind.code(),
                name: lint.kind.name(),
                message: text.split_once(": ").map_or(&*text, |(_, message)| message).to_owned(),
                path: path.unwrap_or_default().to_owned(),
                position: span.as_ref().map(|span| spans::line_and_column(&input.text, span.start)),
                span,
            }
        })
    }
}

/// `2 files: 1 error, 3 warnings`.
fn summary(files: usize, findings: &[(Finding, &str)]) -> String {
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let of = |severity| findings.iter().filter(|(finding, _)| finding.severity == severity).count();
    let files = if files == 1 { String::new() } else { styled(DIM, counted(files, "file")) + ": " };
    if findings.is_empty() {
        return format!("{files}{}\n", styled(GOOD, "no findings"));
    }
    let counts = [(of(Severity::Error), "error"), (of(Severity::Warning), "warning")];
    let counts: Vec<_> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
    format!("{files}{}\n", counts.join(", "))
}

/// The fields that a lint is about, the nearest first. The first that a document has is the place of the lint there.
const fn places(kind: LintKind) -> &'static [&'static str] {
    use LintKind as L;
    match kind {
        L::Forever | L::ManyAttempts | L::UnreachableAttempts => &["attempts", "deadline", "preset"],
        L::AttemptsBeforeDeadline => &["deadline", "attempts"],
        L::Shrinking => &["backoff.factor", "backoff"],
        L::NoJitter => &["jitter", "backoff", "preset"],
        L::WaitAboveDeadline | L::OpenAboveDeadline => &["deadline", "backoff"],
        L::AttemptTimeoutAboveDeadline => &["attempt_timeout"],
        L::HintAboveDeadline | L::LongHint => &["hint.max", "hint", "deadline"],
        L::LongWait | L::WaitAboveTimeout => &["backoff", "attempts", "preset"],
        L::HedgeWithoutBudget | L::HedgeAboveAttempts | L::LateHedge => &["hedge"],
        L::AttemptsAboveNested => &["attempts", "nested"],
        L::EmptyBudget => &["budget"],
        L::ResetNever => &["reset_after"],
        L::HiddenRule => &["rules"],
        L::HintWithoutFloor => &["hint", "backoff"],
        _ => &[],
    }
}
