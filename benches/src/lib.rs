//! Ratios against the peers and the floors, in one run.
//!
//! Each work is written once here, as a function of its inputs, so that every harness measures the same code. Nothing
//! sleeps: what is measured is what a retry costs beyond the wait.

pub mod compile;
pub mod counting;
pub mod delays;
pub mod fleet;
pub mod floor;
pub mod guards;
pub mod keys;
pub mod loops;
pub mod peers;
pub mod retries;
pub mod runs;
pub mod sample;
pub mod scale;
pub mod sizes;
pub mod timers;
pub mod works;
