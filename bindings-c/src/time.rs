//! Durations and seeds.

use crate::boundary::{answer, drive_plain, text};
use crate::errors::status;
use core::ffi::{c_char, c_int};
use holdoff_core::{ErrorCode, Rng, Span, seed_at};

/// Reads a length of time with its unit: "250ms", "1.5s", "2m". Units are ns, us, ms, s, m and h.
///
/// Returns 0 and writes the nanoseconds to `ns` (which may be NULL); or HOLDOFF_ERROR_NOT_A_DURATION for any other text
/// and for more than HOLDOFF_LONGEST_NS; or HOLDOFF_ERROR_NULL_POINTER without a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_parse_duration(duration: *const c_char, ns: *mut u64) -> c_int {
    // SAFETY: the header's promise.
    let text = unsafe { text(duration) }.ok_or(ErrorCode::NullPointer);
    status(text.and_then(|text| Span::parse(text).ok_or(ErrorCode::NotADuration)).map(|span| {
        // SAFETY: the header's promise.
        unsafe { answer(ns, span.as_nanos()) }
    }))
}

/// The seed of the k-th failing operation (k from 0) of a program that was seeded with `n`: the same in every language.
#[unsafe(no_mangle)]
pub extern "C" fn holdoff_seed_at(n: u64, k: u64) -> u64 {
    seed_at(n, k)
}

/// Draws a uniform number from [0, 1) from the generator whose state is `seed`, and moves it on: what the machines do that take
/// a `u`. Any number is a good seed to begin with. To draw what the other languages draw, ask only where the machine says
/// that it draws.
///
/// Returns a multiple of 2^-32; 0 without a seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_uniform(seed: *mut u64) -> f64 {
    // SAFETY: the header's promise.
    unsafe { drive_plain::<u64, u64>(seed) }.map_or(0.0, |seed| {
        let mut rng = Rng::new(*seed);
        let u = rng.uniform();
        *seed = rng.state();
        u
    })
}
