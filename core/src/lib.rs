//! Retry decisions as pure state machines.
//!
//! The current time and a seed go in, a decision comes out: "sleep until T", "run attempt 3", "give up: deadline". There
//! is no clock, no timer, no thread, no heap and no global here, so that the same policy, seed and events give the same
//! decisions bit for bit in every language that hosts the core. The rules are numbered in `docs/spec.md` and cited here.
//!
//! Three levels, each built on the one below: [`Schedule`], a policy's delays; [`Retry`], one decision a failure;
//! [`Call`], the whole loop, which a host with a timer drives.
//!
//! ```
//! use holdoff_core::{Call, Failure, Outcome, Policy, Step, Timestamp};
//!
//! let policy = Policy::default();
//! let mut now = Timestamp::ZERO;
//! let (mut call, mut step) = Call::begin(&policy, 42, now);
//! loop {
//!     step = match step {
//!         Step::Attempt { ticket, .. } => call.fail(&policy, ticket, now, Failure::TRANSIENT),
//!         Step::Sleep { until, .. } => {
//!             now = until; // a host waits here
//!             call.tick(&policy, now)
//!         }
//!         Step::Wait { .. } => unreachable!("no attempt is left unanswered here"),
//!         Step::Stop(outcome) => {
//!             assert!(matches!(outcome, Outcome::GaveUp { .. }));
//!             break;
//!         }
//!     }
//! }
//! assert_eq!(call.attempt(), 3);
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unreachable,
        clippy::std_instead_of_core
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod backoff;
mod bucket;
mod call;
mod chain;
mod classify;
#[cfg(feature = "serde")]
mod document;
mod error;
mod event;
mod explain;
mod failure;
mod flat;
mod forms;
mod grpc;
mod guarded;
mod guards;
mod hint;
mod jitter;
mod json;
mod keyed;
mod layered;
mod lint;
mod nearest;
mod periodic;
mod plain;
mod policy;
mod preset;
mod recorder;
mod replay;
mod retry;
mod rng;
mod save;
#[cfg(feature = "serde")]
mod scalar;
mod schedule;
mod stepped;
mod time;
#[cfg(feature = "alloc")]
mod wheel;
mod write;

pub use backoff::{Backoff, Stage};
pub use bucket::{Bucket, BucketConfig};
pub use call::{Call, Outcome, Step, Ticket};
pub use classify::{Facts, Kept, Operations, Rules};
#[cfg(feature = "serde")]
pub use document::{Document, DocumentError};
pub use error::{ConfigError, ErrorCode, Given, Place, StopReason};
#[cfg(feature = "serde")]
pub use event::Noted;
pub use event::{Event, EventError, EventJson, EventKind, EventReader, Notes, Taken};
pub use explain::{Explanation, GuardedExplanation, InTime, Row, Rows, Words};
pub use failure::{Failure, FailureKind};
pub use flat::FlatStep;
pub use forms::{Form, FormError, FormKept, FormReader, Formed};
pub use grpc::GrpcCode;
pub use guarded::{Guarded, Guards};
pub use guards::Refusal;
pub use guards::adaptive::{Adaptive, AdaptiveConfig, AdaptiveKind, AdaptiveStart};
pub use guards::breaker::config::{BreakerConfig, BreakerMode, BreakerOptions, Reopen, Trip};
pub use guards::breaker::{Breaker, BreakerState, Permit, Verdict};
pub use guards::budget::{Budget, BudgetConfig, BudgetKind, Held};
pub use guards::builder::{GuardWords, GuardsBuilder, Takes};
pub use guards::bulkhead::{Bulkhead, BulkheadConfig, Entry, QueuePlace};
pub use guards::latency::{HedgeConfig, Latency};
#[cfg(target_has_atomic = "64")]
pub use guards::limiter::SharedGcra;
pub use guards::limiter::{Gcra, GcraConfig, Limiter, LimiterConfig, LimiterKind};
pub use guards::nested::{Digits, Nesting, Token};
pub use guards::stretch::{Stretch, StretchConfig};
pub use hint::{Hint, HintMode, HintOver, HintReader};
pub use jitter::{Cap, Jitter};
pub use keyed::config::{Direction, GateConfig, GateOptions, Growth};
pub use keyed::gate::Gate;
pub use keyed::longest;
#[cfg(feature = "alloc")]
pub use keyed::store::Keyed;
pub use layered::{Layered, Layers, Level};
pub use lint::{Lint, LintKind, nested_attempts};
pub use periodic::flat::FlatPeriodicStep;
pub use periodic::options::{PeriodicOptions, Timer};
pub use periodic::pace::{Pace, Reset};
pub use periodic::{Answer, Ended, Periodic, PeriodicStep};
pub use plain::PlainCall;
pub use policy::{Field, OnDeadline, PlainFields, PlainPolicy, Policy, PolicyBuilder, Value};
pub use preset::Preset;
pub use recorder::{Events, Recorded, Recorder};
pub use replay::{Replay, ReplayError, ReplayMode};
pub use retry::{Cause, Decision, Retry};
pub use rng::{Rng, seed_at};
pub use save::{SaveError, Saved};
pub use schedule::Schedule;
pub use stepped::Stepped;
pub use time::{Span, Timestamp};
#[cfg(feature = "alloc")]
pub use wheel::{TimerKey, Wheel, WheelFull};
pub use write::{write_document, write_guarded};
