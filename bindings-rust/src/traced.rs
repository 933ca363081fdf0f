//! The events of `tracing`: a retry, the end of a call without a success, a change of a breaker. The target of all is `holdoff`.

use holdoff_core::{Breaker, BreakerConfig, BreakerState, Cause, Failure, StopReason, Timestamp};
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

/// The state of a breaker at the latest time that it has seen.
pub(crate) fn state(config: &BreakerConfig, breaker: &Breaker) -> BreakerState {
    breaker.state(config, Timestamp::ZERO)
}

/// A breaker may have changed.
pub(crate) fn changed(from: BreakerState, to: BreakerState) {
    if from != to {
        tracing::warn!(target: "holdoff", from = from.name(), to = to.name(), "breaker");
    }
}
