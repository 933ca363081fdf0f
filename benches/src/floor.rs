//! The least that the work can cost: integer nanoseconds, an exponential, full jitter, nothing checked.
//!
//! There are two. The base of the ratios is exact: it draws 64 bits and rejects draws that would favour some
//! delays (Lemire, "Fast Random Integer Generation in an Interval", 2019). The other draws 32 bits and rejects nothing, as this
//! project's own rule of jitter does: nobody can be faster and still look at the draw.

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

/// The loop that a program would write by hand if it had to be fast and nothing else.
#[derive(Debug)]
pub struct Floor<const EXACT: bool = true> {
    rng: Lcg64Xsh32,
    base: u64,
    max: u64,
    left: u32,
}

impl<const EXACT: bool> Floor<EXACT> {
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
        let delay = if EXACT { self.exact() } else { self.of_32_bits() };
        self.base = (self.base << 1).min(self.max);
        Some(delay)
    }

    #[inline(always)]
    fn of_32_bits(&mut self) -> u64 {
        ((u128::from(self.rng.next_u32()) * u128::from(self.base)) >> 32) as u64
    }

    #[inline(always)]
    fn exact(&mut self) -> u64 {
        let mut product = u128::from(self.rng.next_u64()) * u128::from(self.base);
        // Only a draw this low can be one too many, so that the division is rare.
        if (product as u64) < self.base {
            let too_many = self.base.wrapping_neg() % self.base;
            while (product as u64) < too_many {
                product = u128::from(self.rng.next_u64()) * u128::from(self.base);
            }
        }
        (product >> 64) as u64
    }
}
