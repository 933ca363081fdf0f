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

/// A text in a style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
