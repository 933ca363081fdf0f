//! Durations and seeds.

use crate::*;

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
}
