//! Guards: small machines that many calls share, so that a fleet stays alive when a dependency is ill.
//!
//! A guard is a configuration, which any number of keys may share, and a state. None of them has a clock, a timer or a lock:
//! a host that shares a state between threads locks it for one transition.

pub(crate) mod adaptive;
pub(crate) mod breaker;
pub(crate) mod budget;
pub(crate) mod bulkhead;
pub(crate) mod latency;
pub(crate) mod limiter;
pub(crate) mod line;
pub(crate) mod nested;
pub(crate) mod save;
pub(crate) mod stretch;
pub(crate) mod window;

use crate::words::words;

words! {
    /// The behaviour of a call when a guard refuses its next attempt.
    #[non_exhaustive]
    pub enum Refusal: u8 = Stop {
        /// Give up at once, and say when the guard would let it through.
        Stop = 0 "stop";
        /// Sleep until the guard would let it through, when that is before the deadline; else give up.
        Wait = 1 "wait";
    }
}
