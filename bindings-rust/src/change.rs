//! A change of a breaker: an event of `tracing`, a counter of `metrics`.

use holdoff_core::{Breaker, BreakerConfig, BreakerState, Timestamp};

/// The state of a breaker at the latest time that it has seen.
pub(crate) fn state(config: &BreakerConfig, breaker: &Breaker) -> BreakerState {
    breaker.state(config, Timestamp::ZERO)
}

/// A breaker may have changed.
pub(crate) fn changed(before: BreakerState, after: BreakerState) {
    if before != after {
        let (before, after) = (before.name(), after.name());
        #[cfg(feature = "tracing")]
        tracing::warn!(target: "holdoff", before, after, "breaker");
        #[cfg(feature = "metrics")]
        metrics::counter!("holdoff_breaker_changes_total", "before" => before, "after" => after).increment(1);
    }
}
