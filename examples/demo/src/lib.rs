//! One flaky server, five hosts: the same decisions in each.
//!
//! The server plays a script on each path and counts. The hosts are programs in five languages, written as a user of the
//! package would write them; each calls every path and prints what it saw and decided. The rest compares and shows.

pub mod compare;
#[cfg(feature = "flaky")]
pub mod flaky;
pub mod host;
pub mod plan;
pub mod server;
pub mod table;
pub mod trace;

/// The Rust example on the front page compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
