//! The command line of holdoff as a library: arguments in; two texts and an exit code out.
//!
//! It reads no file and asks no terminal. A [`Host`] does both, so that the same program is a binary, a WebAssembly module that
//! Node.js starts, and a Python wheel. The core decides everything that is printed.

mod audit;
mod block;
mod completions;
mod convert;
mod detect;
mod explain;
mod files;
mod finding;
mod formats;
mod host;
mod input;
mod names;
mod placeholder;
mod presets;
mod program;
mod reading;
mod replay;
mod resilience4j;
mod rule;
mod scan;
mod simulate;
mod simulated;
mod spans;
mod style;
mod syntax;
mod system;
mod table;
mod tree;

pub use host::{Entry, EntryKind, Host, Output, Start};
pub use program::run;
pub use scan::look::{Look, Mark, PolicyOfFile, look, policy};
