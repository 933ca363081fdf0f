//! `rule`: what a warning means, and how to mend it.

use crate::host::{Answer, Host, error};
use crate::style::{BOLD, filled, styled};
use clap::Args;
use holdoff_core::LintKind;

/// The page about all warnings.
const PAGE: &str = include_str!("../lints.md");

/// Explain a warning: what happens, and how to mend it.
#[derive(Args)]
pub(crate) struct Rule {
    /// The name or the number of a warning, such as `no_jitter` or 303 (default: list all).
    #[arg(value_name = "WARNING")]
    rule: Option<String>,
}

impl Rule {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let Some(rule) = &self.rule else {
            let width = LintKind::ALL.iter().map(|kind| kind.name().len()).max().unwrap_or_default();
            let line = |kind: LintKind| {
                let name = format!("{:width$}", kind.name());
                let line = format!("{} {}  {}", kind.code(), styled(BOLD, name), kind.text());
                filled(&line, host.width, &" ".repeat(width + 6)) + "\n"
            };
            return Ok(LintKind::ALL.into_iter().map(line).collect::<String>().into());
        };
        let kind = LintKind::from_name(rule).or_else(|| LintKind::from_code(rule.parse().ok()?));
        match kind.and_then(section) {
            Some(text) => Ok(paragraphs(&text, host.width).into()),
            None => Err(error(format_args!("{rule}: is not a warning; `holdoff rule` lists them"))),
        }
    }
}

/// Paragraphs of the page in lines of at most `width` characters.
fn paragraphs(text: &str, width: usize) -> String {
    let all = text.split("\n\n").map(|paragraph| filled(&paragraph.replace('\n', " "), width, ""));
    all.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// The section of the page about a warning.
fn section(kind: LintKind) -> Option<String> {
    let heading = format!("\n## {}\n", kind.name());
    let (_, text) = PAGE.split_once(&heading)?;
    let text = text.split("\n## ").next().unwrap_or(text);
    let title = format!("{} {}", kind.code(), kind.name());
    Some(format!("{}\n\n{}", styled(BOLD, title), text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_has_a_section() {
        for kind in LintKind::ALL {
            assert!(section(kind).is_some_and(|text| text.len() > 90), "{}", kind.name());
        }
        let headings = PAGE.lines().filter_map(|line| line.strip_prefix("## "));
        assert!(headings.eq(LintKind::ALL.map(LintKind::name)), "one for each, in the order of their numbers");
    }
}
