//! Guards: small machines that many calls share, so that a fleet stays alive when a dependency is ill.
//!
//! A guard is a configuration, which any number of keys may share, and a state. None of them has a clock, a timer or a lock:
//! a host that shares a state between threads locks it for one transition.

use crate::describe::options::Options;
use crate::error::Error;
use crate::fields::Section;
use crate::time::Timestamp;
use crate::words::words;

/// The table of all guards, a row each in the order of a document: name, classes of other languages and of C, configuration and
/// state, and `words` where the state needs some beside itself. It is
/// expanded by a macro of the caller's, which gets all rows.
#[doc(hidden)]
#[macro_export]
macro_rules! each_guard {
    ($expand:ident) => {
        $expand! {
            /// How many retries there may be for the calls there are.
            budget: Budget holdoff_budget, $crate::BudgetConfig, $crate::Budget;
            /// When a breaker stops calls to a server that keeps failing.
            breaker: Breaker holdoff_breaker, $crate::BreakerConfig, $crate::Breaker;
            /// How many attempts there may be in a time.
            limiter: Limiter holdoff_limiter, $crate::LimiterConfig, $crate::Limiter, words;
            /// How many attempts may run at once.
            bulkhead: Bulkhead holdoff_bulkhead, $crate::BulkheadConfig, $crate::Bulkhead, words;
            /// A rate of attempts that follows the server's throttling.
            adaptive: Adaptive holdoff_adaptive, $crate::AdaptiveConfig, $crate::Adaptive;
            /// Longer delays while many attempts fail.
            stretch: Stretch holdoff_stretch, $crate::StretchConfig, $crate::Stretch;
            /// A second attempt beside a slow one.
            hedge: Hedge holdoff_hedge, $crate::HedgeConfig, $crate::Latency;
        }
    };
}

/// The configuration of a guard: makes the guard's state, lends it to calls, saves it. Alike for all guards, so that a host that
/// stores and shares them names none.
pub trait GuardConfig: Copy {
    /// The state, which calls share.
    type State;
    /// The parts that a call borrows.
    type Lent<'a>;
    /// The section of a document that describes the guard.
    const SECTION: Section;

    /// Reads the guard's section; `None` without one.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    fn described(options: &Options) -> Result<Option<Self>, Error>;

    /// A state that has seen nothing.
    fn state(&self, seed: u64, now: Timestamp) -> Self::State;

    /// The field that says how many words of memory the state needs beside itself.
    const WORDS: &'static str = "";

    /// How many words of memory the state needs beside itself.
    fn words(&self) -> usize {
        0
    }

    /// Lends the guard to a call.
    fn lend<'a>(&'a self, state: &'a mut Self::State, words: &'a mut [u64]) -> Self::Lent<'a>;

    /// True if nothing that protects a server is lost when the guard is made anew at `now` (spec 21.5).
    fn is_at_rest(lent: &Self::Lent<'_>, now: Timestamp) -> bool;

    /// How many bytes a saved state has; 0 for a guard that is not saved.
    fn saved(&self) -> usize;

    /// Writes the state at `now` as bytes that last (spec 31). `out` has as many bytes as [`GuardConfig::saved`] says.
    fn save(&self, state: &Self::State, words: &[u64], now: Timestamp, out: &mut [u8]);

    /// The state that [`GuardConfig::save`] made bytes of, on a clock that reads `now`.
    ///
    /// # Errors
    /// An [`Error`]: no saved guard of this sort, damaged, or saved under another kind or length.
    fn restore(&self, bytes: &[u8], words: &mut [u64], now: Timestamp) -> Result<Self::State, Error>;
}

/// Implements [`GuardConfig`] for a guard that is saved and needs no words: its section, the function of [`Options`] that reads
/// it, and a new state.
macro_rules! guard_config {
    ($config:ident: $section:expr, $described:ident, $state:ident = |$of:pat_param, $seed:pat_param, $now:pat_param| $new:expr) => {
        impl $crate::decide::guards::GuardConfig for $config {
            type State = $state;
            type Lent<'a> = (&'a Self, &'a mut $state);
            const SECTION: $crate::fields::Section = $section;

            fn described(options: &$crate::describe::options::Options) -> Result<Option<Self>, Error> {
                options.$described()
            }

            fn state(&self, $seed: u64, $now: Timestamp) -> $state {
                let $of = self;
                $new
            }

            fn lend<'a>(&'a self, state: &'a mut $state, _: &'a mut [u64]) -> Self::Lent<'a> {
                (self, state)
            }

            fn is_at_rest((config, state): &Self::Lent<'_>, now: Timestamp) -> bool {
                state.is_at_rest(config, now)
            }

            fn saved(&self) -> usize {
                $state::SAVED
            }

            fn save(&self, state: &$state, _: &[u64], now: Timestamp, out: &mut [u8]) {
                if let Some(out) = out.first_chunk_mut() {
                    *out = state.save(self, now);
                }
            }

            fn restore(&self, bytes: &[u8], _: &mut [u64], now: Timestamp) -> Result<$state, Error> {
                $state::restore(bytes, self, now)
            }
        }
    };
}

// The guards use the macro above.
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

pub use self::adaptive::{Adaptive, AdaptiveConfig, AdaptiveStart};
pub use self::breaker::config::BreakerConfig;
pub use self::breaker::{Breaker, BreakerState, Permit, Verdict};
pub use self::budget::{Budget, BudgetConfig, Shortage, Withdrawal};
pub use self::bulkhead::{Bulkhead, BulkheadConfig, Entry, QueuePlace};
pub use self::latency::{HedgeConfig, Latency};
pub use self::limiter::{Limiter, LimiterConfig};
pub use self::nested::{Nesting, Token};
pub use self::stretch::{Stretch, StretchConfig};

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
