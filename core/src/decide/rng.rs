//! Randomness as an argument: the generator is one `u64` of state, so a retry's future can be saved, moved and replayed.
//!
//! The bits come from PCG XSH RR 64/32 (O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
//! Algorithms for Random Number Generation", 2014), as the crate `rand_pcg` implements it. A saved state is the seed that
//! produces the rest of the sequence: drawing from it equals a generator that kept running (spec 2.2).

use rand_pcg::Lcg64Xsh32;
use rand_pcg::rand_core::Rng as _;

/// The stream of every operation: PCG's own default, so that any PCG implementation can check a sequence.
const STREAM: u64 = 0x0a02_bdbf_7bb3_c0a7;
/// The golden ratio as a 64-bit fraction, the step of splitmix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator of 32-bit draws in one word: the running state of [`Lcg64Xsh32`] without its stream, which is always the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Rng(u64);

impl Rng {
    /// A generator for `seed`. Every seed is good: nearby seeds give unrelated first draws.
    #[must_use]
    #[inline(always)]
    pub fn new(seed: u64) -> Self {
        Self(Lcg64Xsh32::new(seed, STREAM).state())
    }

    /// A generator whose next draw is `draw`, for an explanation or a test that pins a uniform: `draw = u * 2^32`.
    #[must_use]
    pub const fn about_to_draw(draw: u32) -> Self {
        // The output of a state whose top five bits are zero is not rotated, and its bits 27 to 58 are `x ^ (x >> 18)`.
        let mixed = (draw as u64) << 27;
        Self(mixed ^ (mixed >> 18) ^ (mixed >> 36))
    }

    /// The seed of the remaining sequence: the state one step back, less the increment that [`Rng::new`] adds to a seed.
    #[must_use]
    pub fn state(self) -> u64 {
        let mut pcg = self.pcg();
        pcg.advance(u64::MAX);
        pcg.state().wrapping_sub((STREAM << 1) | 1)
    }

    /// Draws the next 32 bits.
    #[inline(always)]
    pub fn next_u32(&mut self) -> u32 {
        let mut pcg = self.pcg();
        let draw = pcg.next_u32();
        self.0 = pcg.state();
        draw
    }

    /// Draws a uniform number from [0, 1): a multiple of 2^-32 (spec 2.3).
    #[inline(always)]
    pub fn uniform(&mut self) -> f64 {
        unit(self.next_u32())
    }

    #[inline(always)]
    fn pcg(self) -> Lcg64Xsh32 {
        Lcg64Xsh32::from_state(self.0, STREAM)
    }
}

/// A draw as a uniform number from [0, 1).
#[inline(always)]
pub(crate) fn unit(draw: u32) -> f64 {
    f64::from(draw) / 4_294_967_296.0
}

/// The seed of the `k`-th failing operation, k from 0, of a program seeded with `n`: the k-th output of splitmix64
/// (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014) started at `n` (spec 2.5).
#[must_use]
pub const fn seed_at(n: u64, k: u64) -> u64 {
    let mut z = n.wrapping_add(k.wrapping_add(1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_one_at_a_time_equals_a_generator_that_keeps_running() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut running = Lcg64Xsh32::new(seed, STREAM);
            let mut ours = Rng::new(seed);
            for _ in 0..1000 {
                assert_eq!(ours.next_u32(), running.next_u32());
            }
        }
    }

    #[test]
    fn a_state_is_the_seed_of_the_rest() {
        let mut rng = Rng::new(9);
        assert_eq!(rng.state(), 9);
        for _ in 0..1000 {
            rng.next_u32();
            assert_eq!(Rng::new(rng.state()), rng);
        }
    }

    #[test]
    fn a_draw_can_be_pinned() {
        let mut running = Rng::new(3);
        let odd = (0..10_000).map(|_| running.next_u32());
        for draw in [0, 1, 1 << 31, u32::MAX].into_iter().chain(odd) {
            assert_eq!(Rng::about_to_draw(draw).next_u32(), draw);
        }
    }

    #[test]
    fn uniforms_stay_below_one() {
        let mut rng = Rng::new(7);
        assert!((0..100_000).map(|_| rng.uniform()).all(|u| (0.0..1.0).contains(&u)));
    }

    #[test]
    fn seeds_of_a_program_are_the_published_splitmix64_sequence() {
        // The first outputs for seed 1234567 in the reference implementation's own test.
        assert_eq!(seed_at(1_234_567, 0), 6_457_827_717_110_365_317);
        assert_eq!(seed_at(1_234_567, 1), 3_203_168_211_198_807_973);
    }
}
