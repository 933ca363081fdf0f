//! Tokens that drip into a bucket.

use crate::*;

extern_c! {
    /// The rate and the size of a bucket: 32 bytes, shared by any number of buckets and only read. The content is the
    /// library's.
    memory holdoff_bucket_config([u64; 3]) as config holds BucketConfig, b"hoBuckC1", NotAPolicy;

    /// Makes the configuration of a bucket that gets `rate` tokens each `per_ns` and keeps at most `burst` of them: finite,
    /// from 0 on; more than 0; 0 lets nothing through. With `per_ns` one second it is Go's rate.NewLimiter.
    ///
    /// Returns 0, HOLDOFF_ERROR_FACTOR_RANGE, HOLDOFF_ERROR_ZERO_LIMIT or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_bucket_config_init(rate: f64, per_ns: u64, burst: u64) = BucketConfig::new(rate, span(per_ns), burst)?;
}

extern_c! {
    /// The tokens of one bucket: 16 bytes. Zeroed it is a bucket that was empty at time 0, and any other content is one as
    /// well. A `now` before the latest one reads as that one. The content is the library's.
    memory holdoff_bucket([u64; 2]) as bucket holds Bucket;

    /// Fills it at `now`.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    init holdoff_bucket_fill(config: *const holdoff_bucket_config, now) = Bucket::full(get(config)?, now);

    /// Takes `count` tokens at `now`, unless it takes longer than `longest_ns` for them to be there; 0 takes only what is
    /// there, HOLDOFF_LONGEST_NS whatever comes. Tokens that were taken do not come back.
    ///
    /// Returns whether they were taken, and writes how long to wait for them before acting to `wait_ns` (which may be
    /// NULL). False for more than a burst, and for wrong use.
    get_mut holdoff_bucket_reserve(config: *const holdoff_bucket_config, count: u64, now, longest_ns: u64,
        wait_ns: *mut Span) -> bool =
        write_some(wait_ns, bucket.reserve_within(get(config)?, count, now, span(longest_ns))), else false;

    /// Returns the tokens at `now`; negative while tokens are reserved that are not there yet. 0 for wrong use.
    get holdoff_bucket_tokens(config: *const holdoff_bucket_config, now) -> f64 =
        bucket.tokens_at(get(config)?, now), else 0.0;
}
