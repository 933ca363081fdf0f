//! Durations and seeds.

use crate::*;
use holdoff_core::{Rng, seed_at};

extern_c! {
    /// Reads a length of time with its unit: "250ms", "1.5s", "2m". Units are ns, us, ms, s, m and h.
    ///
    /// Returns 0 and writes the nanoseconds to `ns` (which may be NULL); or HOLDOFF_ERROR_NOT_A_DURATION for any other text
    /// and for more than HOLDOFF_LONGEST_NS; or HOLDOFF_ERROR_NULL_POINTER without a text.
    fn holdoff_parse_duration(duration: *const c_char, ns: *mut Span) -> c_int = {
        let text = c_str(duration).ok_or(ErrorCode::NullPointer);
        let span = text.and_then(|text| Span::parse(text).ok_or(ErrorCode::NotADuration));
        status(span.map(|span| write(ns, span)))
    };

    /// Returns the seed of the k-th failing operation (k from 0) of a program with the seed `n`: the same in every
    /// language.
    fn holdoff_seed_at(n: u64, k: u64) -> u64 = seed_at(n, k);

    /// Draws a uniform number from [0, 1) from the generator whose state is `seed`, and moves it on: what the machines do
    /// that take a `u`. Any number is a good seed to begin with. To draw what the other languages draw, ask only where the
    /// machine says that it draws.
    ///
    /// Returns a multiple of 2^-32; 0 without a seed.
    fn holdoff_uniform(seed: *mut u64) -> f64 =
        get_untagged_mut::<u64, u64>(seed).map_or(0.0, |seed| {
            let mut rng = Rng::new(*seed);
            let u = rng.uniform();
            *seed = rng.state();
            u
        });
}
