//! One decision a failure, for hosts that write their own loop.

use crate::*;

extern_c! {
    /// The state of one operation that may fail, without its loop: 72 bytes. May be copied and moved; one thread at a time.
    /// The content is the library's.
    memory holdoff_retry([u64; 8]) as retry holds Retry, b"hoRetry1", NotACall;

    /// Makes an operation whose first attempt began at `started`.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_retry_init(seed, started: Timestamp) = Retry::new(seed, started);

    /// Decides what to do about an attempt that failed at `now`; once for each failed attempt, in the order of their ends.
    ///
    /// Returns HOLDOFF_SLEEP until `at`, or HOLDOFF_STOP: HOLDOFF_GAVE_UP with the reason and, in `at`, when another try
    /// might succeed; or HOLDOFF_INVALID with the number of an error for wrong use, zeroed memory included.
    fn holdoff_retry_on_failure(retry: *mut holdoff_retry, policy, now, failure) -> holdoff_step = {
        if failure.is_common()
            && let Ok(retry) = get_mut(retry)
            && let Ok(policy) = get(policy)
            && let Some(until) = retry.at_once(policy, now)
        {
            return Step::Sleep { until, cause: Cause::Backoff }.into();
        }
        on_any_failure(retry, policy, now, failure)
    };
}

/// Any decision, and any error. Out of line, so that the common one needs no room on the stack.
#[cold]
#[inline(never)]
unsafe extern "C" fn on_any_failure(
    retry: *mut holdoff_retry,
    policy: *const holdoff_policy,
    now: Timestamp,
    failure: holdoff_failure,
) -> holdoff_step {
    let decide = || -> Result<Step, ErrorCode> {
        // SAFETY: the header's promise.
        let (retry, policy) = unsafe { (get_mut(retry)?, get(policy)?) };
        Ok(match retry.on_failure(policy, now, Failure::try_from(failure)?) {
            Decision::Sleep { until, cause } => Step::Sleep { until, cause },
            Decision::GiveUp { reason, retry_at } => Step::Stop(Outcome::GaveUp { reason, retry_at }),
        })
    };
    decide().into()
}
