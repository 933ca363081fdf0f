//! Guards: small machines that many calls share, so that a fleet stays alive when a dependency is ill.
//!
//! A guard is a configuration, which any number of keys may share, and a state. None of them has a clock, a timer or a lock:
//! a host that shares a state between threads locks it for one transition.

/// The table of all guards, a row each in the order of a document: name, classes of other languages and of C, configuration and
/// state; `words` where the state needs some beside itself. It is expanded by a macro of the caller's, which gets all rows.
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
            /// A pause of all calls for as long as a server asks one of them to stay away.
            pause: Pause holdoff_pause, $crate::PauseConfig, $crate::Pause;
        }
    };
}

pub(crate) mod adaptive;
pub(crate) mod breaker;
pub(crate) mod budget;
pub(crate) mod bulkhead;
pub(crate) mod guard;
pub(crate) mod latency;
pub(crate) mod limiter;
pub(crate) mod line;
pub(crate) mod nested;
pub(crate) mod pause;
pub(crate) mod save;
pub(crate) mod stretch;
pub(crate) mod window;

pub use self::adaptive::{Adaptive, AdaptiveConfig, AdaptiveStart};
pub use self::breaker::config::BreakerConfig;
pub use self::breaker::{Breaker, BreakerState, Permit, Verdict};
pub use self::budget::{Budget, BudgetConfig, Shortage, Withdrawal};
pub use self::bulkhead::{Bulkhead, BulkheadConfig, Entry, QueuePlace};
pub use self::guard::{GuardConfig, Refusal};
pub use self::latency::{HedgeConfig, Latency};
pub use self::limiter::{Limiter, LimiterConfig};
pub use self::nested::{Nesting, Token};
pub use self::pause::{Pause, PauseConfig};
pub use self::stretch::{Stretch, StretchConfig};
