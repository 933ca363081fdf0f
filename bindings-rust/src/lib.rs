//! Retry with backoff, jitter and deadlines: blocking and async loops over the pure core.
//!
//! A [`Policy`] says how often and how long; [`retry`] runs an operation by it.
//!
//! ```
//! use holdoff::Policy;
//! use std::time::Duration;
//!
//! # fn fetch() -> std::io::Result<String> { Ok("page".into()) }
//! let policy = Policy::options().attempts(5).deadline(Duration::from_secs(30)).build()?;
//! let page = holdoff::retry(&policy, fetch).classify(holdoff::classify::io_failure).call()?;
//! # assert_eq!(page, "page");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The same call with `.await` at its end retries an operation that returns a future. The feature `tokio` brings the
//! timer, `web` that of a page; any other runtime gives its own (see [`time::AsyncSleeper`]).
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use holdoff::Policy;
//! # async fn fetch() -> std::io::Result<String> { Ok("page".into()) }
//! let page = holdoff::retry(Policy::default(), fetch).when(|error| error.kind() != std::io::ErrorKind::NotFound).await?;
//! # assert_eq!(page, "page");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "tokio"))]
//! # fn main() {}
//! ```
//!
//! # The core decides, this crate waits
//! Every decision is made by `holdoff-core`: pure state machines that hosts in other languages drive too, so the same
//! policy, seed and failures give the same delays in all of them. This crate owns what the core does not have: the clock,
//! the sleep, the seed. The whole of the core is in [`core`], with the machines for loops of your own ([`core::Schedule`],
//! [`core::Retry`], [`core::Call`]).
//!
//! - `attempts` counts the first one; the default policy makes three, with full jitter, 100 ms doubling up to 5 s.
//! - A deadline bounds the whole operation, and a sleep that would not fit before it is not begun.
//! - An async attempt that reaches its limit (attempt timeout or deadline) is dropped and counts as a timeout. A blocking
//!   one cannot be stopped: hand it its limit with [`retry_with`].
//! - A server's hint (`Retry-After`) is obeyed up to a minute: return it in the [`Failure`] of
//!   [`classify`](builder::Retrying::classify).
//! - A value can be a failure too, and comes out when there is no other attempt:
//!   [`when_result`](builder::Retrying::when_result).
//! - Calls that share a [`SharedPolicy`] share a budget for retries, too, so that retries cannot multiply the load on a server that
//!   is down. A bare `&Policy` has none.
//! - A first attempt that succeeds reads no clock (unless it has a limit), draws no seed and allocates nothing.
//!
//! # An HTTP client
//! ```
//! use holdoff::Failure;
//! use holdoff::core::HintReader;
//! # struct Refused { status: u32, headers: Vec<(String, String)> }
//! # fn get(url: &str) -> Result<String, Refused> { Ok(url.to_owned()) }
//!
//! let policy = holdoff::Policy::default();
//! let page = holdoff::retry(&policy, || get("https://example.org/"))
//!     .classify(|refused| {
//!         let mut hints = HintReader::new(holdoff::time::wall());
//!         refused.headers.iter().for_each(|(name, value)| hints.header(name.as_bytes(), value.as_bytes()));
//!         hints.failure(refused.status).unwrap_or(Failure::PERMANENT)
//!     })
//!     .on_retry(|retried| eprintln!("attempt {} failed, next in {:?}", retried.attempt, retried.delay))
//!     .call();
//! # assert!(page.is_ok());
//! ```
//!
//! # Policies from elsewhere
//! [`core::Preset`] has the policies of other systems by name: `Policy::options().preset(Preset::Kubernetes)`. With the feature
//! `serde` a `core::Document` is read from JSON, YAML or TOML, and `Retrying::rules` follows its
//! rules.
//!
//! # Calls that outlive their process, and many on one timer
//! With the feature `record` a `core::Recorder` is a call that says what to write down, and a `core::Replay` makes it again
//! from that log, whatever has become of the process: `examples/durable_log.rs`. A [`core::Wheel`] says which of a million timers is due and when to
//! wake next: `examples/one_timer.rs`.
//!
//! # WebAssembly
//! In a page, a worker or Node under wasm-bindgen (wasm32-unknown-unknown) the feature `web` brings the clock, the timer and
//! the seeds: `.await` works as it stands. Without that feature the target has none of them: give a sleeper with a clock of its
//! own ([`time::Sleeper`], [`time::AsyncSleeper`]) and a seed to each operation, or one number to the program ([`testing::seed`]).
//!
//! # Tests without waiting
//! [`testing::VirtualTime`] is a clock that sleeping moves: `.sleeper(VirtualTime::new())` runs an hour of retries in microseconds,
//! and `.seed(n)` makes the jitter repeatable. Tokio's paused clock works with the default sleeper.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod blocking;
mod cancel;
mod change;
pub mod classify;
#[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
mod clock;
mod future;
mod guarded;
mod guards;
mod handler;
mod in_flight;
#[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
mod keyed_guards;
#[cfg(feature = "metrics")]
mod metered;
mod nested;
mod operation;
mod retrying;
mod seed;
mod shared_policy;
mod sleeper;
mod statistics;
mod stopped;
mod switches;
pub mod testing;
mod threads;
#[cfg(all(feature = "tower", not(all(target_family = "wasm", target_os = "unknown"))))]
pub mod tower;
#[cfg(feature = "tracing")]
mod traced;
mod virtual_time;
mod wakers;

pub use cancel::CancelToken;
pub use guards::SharedGuards;
pub use holdoff_core as core;
pub use holdoff_core::{Error, Failure, Policy};
pub use operation::Attempt;
pub use retrying::{retry, retry_with};
pub use shared_policy::SharedPolicy;
pub use stopped::Stopped;

/// Guards beside [`SharedGuards`]: one set a key, single guards for calls of another kind, and the types of a guarded
/// call.
pub mod guard {
    pub use crate::guarded::{CallGuards, Guarded, Unguarded};
    pub use crate::guards::{Member, Shared};
    #[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
    pub use crate::keyed_guards::KeyedGuards;
    pub use crate::shared_policy::Budgeted;
}

/// The builder that [`retry`] begins: its own type, the types of its parts, and what a hook is told.
pub mod builder {
    pub use crate::future::RetryFuture;
    #[cfg(feature = "serde")]
    pub use crate::handler::DocumentRules;
    pub use crate::handler::{
        Begun, Classify, Delay, Failed, GaveUp, Handler, KnownFacts, OnAttempt, OnGiveUp, OnRetry, OnSuccess, Retried,
        Succeeded, When, WhenResult, With,
    };
    pub use crate::nested::Nested;
    pub use crate::operation::{Async, Blocking, Informed, Operation, Plain, Returns};
    pub use crate::retrying::{IntoPolicy, Retrying};
}

/// Counting what operations do.
pub mod telemetry {
    #[cfg(feature = "metrics")]
    pub use crate::metered::Metered;
    pub use crate::statistics::{Counted, Numbers, Statistics};
}

/// Clocks and ways of waiting by them, beside [`testing::VirtualTime`].
pub mod time {
    pub use crate::cancel::Cancelled;
    #[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
    pub use crate::clock::wall;
    pub use crate::sleeper::{AsyncSleeper, Sleeper, System};
}
