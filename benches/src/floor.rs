//! The least that the work can cost: integer nanoseconds, an exponential, full jitter, one PCG draw, nothing checked.

use rand_pcg::Lcg64Xsh32;
use rand_pcg::rand_core::Rng as _;

/// The numbers of the floor, known at run time as a policy's are.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The first delay.
    pub initial: u64,
    /// The longest delay.
    pub max: u64,
    /// How many retries there are.
    pub retries: u32,
}

/// What a program would write by hand if it had to be fast and nothing else.
#[derive(Debug)]
pub struct Floor {
    rng: Lcg64Xsh32,
    base: u64,
    max: u64,
    left: u32,
}

impl Floor {
    /// At the first delay.
    #[must_use]
    #[inline(always)]
    pub fn new(numbers: &Numbers, seed: u64) -> Self {
        let Numbers { initial, max, retries } = *numbers;
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
