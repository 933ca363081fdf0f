//! A fleet of clients and a server that fails, in virtual time, to see whether the guards hold what they promise.
//!
//! A guard is proved by what ten thousand clients do together, which no test of one machine shows. Every client here is a
//! process of its own that runs the core's machines; only the server, the network and the clock are made up. The model is
//! described in docs/storm.md. A run is a function of its seed: the same on every machine.

mod agenda;
pub mod bounds;
pub mod bursts;
pub mod contention;
pub mod drawing;
pub mod fleet;
pub mod measure;
mod packed;
pub mod picture;
pub mod report;
pub mod scenario;
pub mod scenes;
pub mod server;
pub mod single;
pub mod strategy;
pub mod sweep;

/// A second in nanoseconds.
pub const SECOND: u64 = 1_000_000_000;
/// A millisecond in nanoseconds.
pub const MILLI: u64 = 1_000_000;
