//! The styles of what is printed. A host without colours removes them.

use anstyle::{AnsiColor, Style};
use clap::builder::Styles;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const RANGE: Style = AnsiColor::Blue.on_default();

/// The styles of help texts.
pub(crate) const HELP: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// A text in lines of at most `width` characters, the later ones indented. No word is broken.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    filled(text, width, "  ")
}

/// The same with an indentation of its own.
pub(crate) fn filled(text: &str, width: usize, indent: &str) -> String {
    let options = textwrap::Options::new(width).subsequent_indent(indent);
    textwrap::fill(text, options.break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation))
}

/// A text whose long lines are wrapped below the beginning of each.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let line = |line: &str| {
        let indent = " ".repeat(line.len() - line.trim_start().len() + 2);
        if line.len() > width { filled(line, width, &indent) } else { line.to_owned() }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A text in a style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
