//! Paths whose instructions are counted.

/// Something to count.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The work.
    pub work: &'static str,
    /// The machine that does it: one of ours, `floor` or `bare`.
    pub who: &'static str,
    /// Runs it so often.
    pub run: fn(u32),
}
