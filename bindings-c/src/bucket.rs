//! Tokens that drip into a bucket.

use crate::boundary::{answer, drive_plain, look, look_plain, memory, place};
use crate::errors::status;
use core::ffi::c_int;
use holdoff_core::{Bucket, BucketConfig, ErrorCode, Span, Timestamp};

/// How fast a bucket fills and how much it holds: 32 bytes, shared by any number of buckets and only read. The content is the
/// library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_bucket_config {
    magic: u64,
    state: [u64; 3],
}

memory!(holdoff_bucket_config: BucketConfig, u64::from_be_bytes(*b"hoBuckC1"), ErrorCode::NotAPolicy);
const _: () = assert!(size_of::<BucketConfig>() == 3 * 8);

/// Makes the configuration of a bucket that gets `rate` tokens each `per_ns` and keeps at most `burst` of them: finite, from 0
/// on; more than 0; 0 lets nothing through. With `per_ns` one second it is Go's rate.NewLimiter.
///
/// Returns 0, HOLDOFF_ERROR_FACTOR_RANGE, HOLDOFF_ERROR_ZERO_LIMIT or HOLDOFF_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bucket_config_init(
    config: *mut holdoff_bucket_config,
    rate: f64,
    per_ns: u64,
    burst: u64,
) -> c_int {
    let made = BucketConfig::new(rate, Span::from_nanos(per_ns), burst).map_err(|error| error.code);
    // SAFETY: the header's promise.
    status(made.and_then(|made| unsafe { place(config, made) }))
}

/// The tokens of one bucket: 16 bytes. Zeroed it is a bucket that was empty at time 0, and any other content is one as well. A
/// `now` before the latest one reads as that one. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_bucket {
    state: [u64; 2],
}

/// Fills it at `now`.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bucket_fill(
    bucket: *mut holdoff_bucket,
    config: *const holdoff_bucket_config,
    now: u64,
) -> c_int {
    // SAFETY: the header's promise.
    let both = unsafe { drive_plain::<_, Bucket>(bucket).and_then(|bucket| Ok((bucket, look(config)?))) };
    status(both.map(|(bucket, config)| *bucket = Bucket::full(config, Timestamp::from_nanos(now))))
}

/// Takes `count` tokens at `now`, unless it takes longer than `longest_ns` for them to be there; 0 takes only what is there,
/// HOLDOFF_LONGEST_NS whatever comes. What is taken is not given back.
///
/// Returns whether they were taken, and writes how long to wait for them before acting to `wait_ns` (which may be NULL). False
/// for more than a burst, and for wrong use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bucket_reserve(
    bucket: *mut holdoff_bucket,
    config: *const holdoff_bucket_config,
    count: u64,
    now: u64,
    longest_ns: u64,
    wait_ns: *mut u64,
) -> bool {
    // SAFETY: the header's promise.
    let both = unsafe { drive_plain::<_, Bucket>(bucket).and_then(|bucket| Ok((bucket, look(config)?))) };
    let (now, longest) = (Timestamp::from_nanos(now), Span::from_nanos(longest_ns));
    let wait = both.ok().and_then(|(bucket, config)| bucket.reserve_within(config, count, now, longest));
    if let Some(wait) = wait {
        // SAFETY: the header's promise.
        unsafe { answer(wait_ns, wait.as_nanos()) }
    }
    wait.is_some()
}

/// The tokens there are at `now`; negative while some are reserved that are not there yet. 0 for wrong use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_bucket_tokens(
    bucket: *const holdoff_bucket,
    config: *const holdoff_bucket_config,
    now: u64,
) -> f64 {
    // SAFETY: the header's promise.
    let both = unsafe { look_plain::<_, Bucket>(bucket).and_then(|bucket| Ok((bucket, look(config)?))) };
    both.map_or(0.0, |(bucket, config)| bucket.tokens_at(config, Timestamp::from_nanos(now)))
}
