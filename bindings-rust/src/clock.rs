//! The machine's clocks: a clock that never runs backwards, and the wall clock.

use holdoff_core::Timestamp;
use std::sync::LazyLock;
use std::time::Duration;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::{Instant, SystemTime};
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
use web_time::{Instant, SystemTime};

/// The zero of the system's clock. An hour ago, because a paused test clock may lag behind the first look at this one.
static EPOCH: LazyLock<Instant> = LazyLock::new(|| {
    let now = Instant::now();
    now.checked_sub(Duration::from_secs(3600)).unwrap_or(now)
});

/// The time that an instant of the system is.
pub(crate) fn since_epoch(instant: Instant) -> Timestamp {
    let since = instant.saturating_duration_since(*EPOCH);
    Timestamp::from_nanos(since.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(since.subsec_nanos())))
}

/// The time on the system's clock.
pub(crate) fn now() -> Timestamp {
    since_epoch(Instant::now())
}

/// The wall clock in nanoseconds since the Unix epoch, for a [`HintReader`](crate::core::HintReader): a date in a header needs
/// it. `u64::MAX`, "not known", for a clock before 1970.
///
/// ```
/// use holdoff::core::HintReader;
///
/// let mut hints = HintReader::new(holdoff::time::wall());
/// for (name, value) in [("content-type", "text/html"), ("retry-after", "120")] {
///     hints.header(name.as_bytes(), value.as_bytes());
/// }
/// let failure = hints.failure(503).unwrap();
/// assert_eq!(failure.hint.span(), Some(holdoff::core::Span::from_secs(120)));
/// ```
pub fn wall() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.ok().and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(u64::MAX)
}
