//! The events of `tracing` about calls: a retry, and the end without a success. The target of all is `holdoff`.

use holdoff_core::{Cause, Failure, StopReason};
use std::time::Duration;

/// An attempt failed, and the call sleeps before the next one.
pub(crate) fn retried(operation: &str, attempt: u32, failure: Failure, delay: Duration, cause: Cause) {
    let (kind, cause) = (failure.kind.name(), cause.name());
    tracing::debug!(target: "holdoff", operation, attempt, kind, ?delay, cause, "retry");
}

/// A call ended without a success.
pub(crate) fn gave_up(operation: &str, attempt: u32, reason: StopReason, retry_in: Option<Duration>) {
    tracing::warn!(target: "holdoff", operation, attempt, reason = reason.name(), ?retry_in, "give up");
}
