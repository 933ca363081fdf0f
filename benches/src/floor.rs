//! The least that the work can cost: integer nanoseconds, an exponential, full jitter, one PCG draw, nothing checked.

use rand_pcg::Lcg64Xsh32;
use rand_pcg::rand_core::Rng as _;

/// What a program would write by hand if it had to be fast and nothing else.
#[derive(Debug)]
pub struct Floor {
    rng: Lcg64Xsh32,
    base: u64,
    max: u64,
    left: u32,
}

impl Floor {
    /// The first delay, the longest one, and how many retries there are.
    #[must_use]
    #[inline(always)]
    pub fn new(seed: u64, initial: u64, max: u64, retries: u32) -> Self {
        Self { rng: Lcg64Xsh32::new(seed, 0x0a02_bdbf_7bb3_c0a7), base: initial, max, left: retries }
    }

    /// The next delay, uniform between nothing and the base delay, which doubles.
    #[inline(always)]
    pub fn delay(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let delay = (u128::from(self.rng.next_u32()) * u128::from(self.base)) >> 32;
        self.base = (self.base << 1).min(self.max);
        Some(delay as u64)
    }
}
