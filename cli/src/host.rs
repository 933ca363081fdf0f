//! The outside of the program: what it reads, and what it says.

use crate::style;
use clap::ColorChoice;
use std::ffi::OsString;
use std::fmt::{self, Display};

/// The outside of the program.
#[derive(Clone, Copy)]
pub struct Host<'h> {
    /// Reads a file; `-` is the standard input. The error is the system's words.
    pub read: &'h dyn Fn(&str) -> Result<Vec<u8>, String>,
    /// The length of a file in bytes. The error is the system's words.
    pub size: &'h dyn Fn(&str) -> Result<u64, String>,
    /// The entries of a folder. The error is the system's words.
    pub list: &'h dyn Fn(&str) -> Result<Vec<Entry>, String>,
    /// Writes a file. The error is the system's words.
    pub write: &'h dyn Fn(&str, &str) -> Result<(), String>,
    /// Starts a program with arguments, waits for its end, and returns its exit code. The error is the system's words. None if
    /// the host cannot start programs.
    pub start: Option<&'h Start<'h>>,
    /// Shows how far a long command is, in place of the last such text; an empty text ends it.
    pub progress: &'h dyn Fn(&str),
    /// The columns of the terminal.
    pub width: usize,
}

/// The function that starts a program.
pub type Start<'h> = dyn Fn(&str, &[OsString]) -> Result<u8, String> + 'h;

/// An entry of a folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    /// Its name; signs that are no Unicode are replaced.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EntryKind {
    /// A file with bytes.
    File,
    /// A folder.
    Folder,
    /// A link to another place, which a walk does not follow.
    Link,
    /// A pipe, a device, a socket, or a file with a name that is no Unicode.
    Other,
}

impl fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("width", &self.width).finish_non_exhaustive()
    }
}

/// The end of a run. Both texts have ANSI styles, which a host without colours removes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Output {
    /// The person's wish about colours.
    pub color: ColorChoice,
    /// The answer.
    pub out: String,
    /// Errors.
    pub err: String,
    /// The exit code: 0, 1 for findings and for a policy that gives up, 2 for wrong arguments and what cannot be read.
    pub code: u8,
}

impl From<String> for Output {
    /// An answer that is all there is to say.
    fn from(out: String) -> Self {
        Self { out, ..Self::default() }
    }
}

/// An answer, or the text of an error.
pub(crate) type Answer = Result<Output, String>;

/// The line of an error that has no place in a file.
pub(crate) fn error(text: impl Display) -> String {
    format!("{}error{:#}: {text}", style::ERROR, style::ERROR)
}
