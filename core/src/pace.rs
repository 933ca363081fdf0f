//! When to run next, without a failure to decide about: periodic loops, gates by key, timers.

pub(crate) mod keyed;
pub(crate) mod periodic;
pub(crate) mod wait_backoff;
#[cfg(feature = "alloc")]
pub(crate) mod wheel;
