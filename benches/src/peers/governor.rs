//! `governor`: GCRA in an atomic. It reads a clock itself, by default the processor's counter; with a clock that stands still its
//! own work is left.

use crate::guards::LIMIT;
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;

/// A limiter of one state.
pub type Direct<C> = RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// A call each nanosecond, and a burst that nobody uses up.
#[must_use]
pub fn quota() -> Quota {
    let limit = NonZeroU32::new(LIMIT).unwrap_or(NonZeroU32::MAX);
    Quota::per_second(limit).allow_burst(NonZeroU32::MAX)
}

/// One state, on some clock.
#[must_use]
pub fn direct<C: Clock>(clock: C) -> Direct<C> {
    RateLimiter::direct_with_clock(quota(), clock)
}
