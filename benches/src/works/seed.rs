//! The seed of all works.

/// A seed that the compiler does not know.
#[inline(always)]
pub(super) fn seed() -> u64 {
    std::hint::black_box(7)
}
