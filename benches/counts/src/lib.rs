//! The hot paths, run so often that their instructions can be counted.
//!
//! Each path is a function of how often it runs. A tool that counts instructions runs it at two lengths: the difference has
//! nothing in it but the path, and comes out the same on every machine with the same compiler. Nothing here allocates, reads
//! a clock or asks the operating system while it is counted, because that differs from machine to machine.

pub mod decisions;
#[path = "../../src/delays.rs"]
pub mod delays;
#[path = "../../src/floor.rs"]
pub mod floor;
pub mod guards;
pub mod inlined;
#[path = "../../src/loops.rs"]
pub mod loops;
mod path;
pub mod wheel;

pub use path::Path;

/// All that is counted.
#[must_use]
pub fn all() -> Vec<Path> {
    [&[decisions::DEFAULT][..], &decisions::KINDS, &decisions::LOOPS, &guards::PATHS, &[wheel::EXPIRE]].concat()
}
