//! A change of a breaker: an event of `tracing`, a counter of `metrics`.

use holdoff_core::BreakerState;

/// A breaker may have changed.
#[inline]
pub(crate) fn changed(before: Option<BreakerState>, after: Option<BreakerState>) {
    if let (Some(before), Some(after)) = (before, after)
        && before != after
    {
        let _names = (before.name(), after.name());
        #[cfg(feature = "tracing")]
        tracing::warn!(target: "holdoff", before = _names.0, after = _names.1, "breaker");
        #[cfg(feature = "metrics")]
        metrics::counter!("holdoff_breaker_changes_total", "before" => _names.0, "after" => _names.1).increment(1);
    }
}
