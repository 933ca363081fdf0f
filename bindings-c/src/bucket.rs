//! Tokens that drip into a bucket.

use crate::*;

memory! {
    /// The rate and the size of a bucket: 32 bytes, shared by any number of buckets and only read. The content is the
    /// library's.
    holdoff_bucket_config([u64; 3]) holds BucketConfig, b"hoBuckC1", NotAPolicy
}

extern_c! {
    /// Makes the configuration of a bucket that gets `rate` tokens each `per_ns` and keeps at most `burst` of them: finite,
    /// from 0 on; more than 0; 0 lets nothing through. With `per_ns` one second it is Go's rate.NewLimiter.
    ///
    /// Returns 0, HOLDOFF_ERROR_FACTOR_RANGE, HOLDOFF_ERROR_ZERO_LIMIT or HOLDOFF_ERROR_NULL_POINTER.
    fn holdoff_bucket_config_init(config: *mut holdoff_bucket_config, rate: f64, per_ns: u64, burst: u64) -> c_int =
        store_built(config, BucketConfig::new(rate, span(per_ns), burst));
}

/// The tokens of one bucket: 16 bytes. Zeroed it is a bucket that was empty at time 0, and any other content is one as
/// well. A `now` before the latest one reads as that one. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_bucket {
    state: [u64; 2],
}

untagged!(holdoff_bucket, holds Bucket);

extern_c! {
    /// Fills it at `now`.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    fn holdoff_bucket_fill(bucket: *mut holdoff_bucket, config: *const holdoff_bucket_config, now: Timestamp) -> c_int =
        status(pair(get_untagged_mut(bucket), get(config)).map(|(bucket, config)| *bucket = Bucket::full(config, now)));

    /// Takes `count` tokens at `now`, unless it takes longer than `longest_ns` for them to be there; 0 takes only what is
    /// there, HOLDOFF_LONGEST_NS whatever comes. Tokens that were taken do not come back.
    ///
    /// Returns whether they were taken, and writes how long to wait for them before acting to `wait_ns` (which may be
    /// NULL). False for more than a burst, and for wrong use.
    fn holdoff_bucket_reserve(bucket: *mut holdoff_bucket, config: *const holdoff_bucket_config, count: u64,
        now: Timestamp, longest_ns: u64, wait_ns: *mut Span) -> bool = {
        let wait = pair(get_untagged_mut(bucket), get(config)).ok().and_then(|(bucket, config)| {
            bucket.reserve_within(config, count, now, span(longest_ns))
        });
        write_some(wait_ns, wait)
    };

    /// Returns the tokens at `now`; negative while tokens are reserved that are not there yet. 0 for wrong use.
    fn holdoff_bucket_tokens(bucket: *const holdoff_bucket, config: *const holdoff_bucket_config,
        now: Timestamp) -> f64 =
        pair(get_untagged(bucket), get(config)).map_or(0.0, |(bucket, config)| bucket.tokens_at(config, now));
}
