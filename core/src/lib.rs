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

mod decide;
mod describe;
mod error;
mod field_words;
mod fields;
mod json;
mod nearest;
mod pace;
#[cfg(feature = "record")]
mod record;
mod saved_bytes;
#[cfg(feature = "serde")]
mod serde_value;
mod time;
mod value;
mod words;

pub use decide::backoff::{Backoff, BackoffKind};
pub use decide::bucket::{Bucket, BucketConfig};
pub use decide::call::{Call, Machine, NoGuards, Outcome, Step, Ticket};
pub use decide::chaos::Chaos;
pub use decide::clients::{CLIENT_ERRORS, ClientErrors, Clues};
pub use decide::failure::{Failure, FailureKind};
pub use decide::grpc::GrpcCode;
pub use decide::guarded::{Flight, GuardedCall, Guards, Turn};
pub use decide::guards::*;
pub use decide::hint::reader::HintReader;
pub use decide::hint::{Hint, HintMode, HintOver};
pub use decide::jitter::{Cap, Jitter, JitterKind};
pub use decide::layered::{Layered, Layers, Level};
pub use decide::policy::{DeadlineFrom, DelayFrom, Limits, OnDeadline, Policy};
pub use decide::policy_fields::PolicyFields;
pub use decide::raw_step::RawStep;
pub use decide::retry::{Cause, Decision, Retry};
pub use decide::rng::{Rng, seed_at};
pub use decide::schedule::Schedule;
pub use decide::stage::Stage;
#[cfg(feature = "serde")]
pub use describe::document::{Document, DocumentError};
pub use describe::drawing::Drawing;
pub use describe::explain::{Explanation, InTime, Row, Rows, Table};
#[cfg(feature = "foreign")]
pub use describe::foreign::{ForeignPolicy, Form, FormReader};
pub use describe::lint::{Lint, LintKind, nested_attempts};
pub use describe::options::Options;
pub use describe::preset::Preset;
#[cfg(feature = "alloc")]
pub use describe::rules::texts::Texts;
pub use describe::rules::{Facts, HostText, Rules, TextList};
pub use describe::write::{HostTexts, write_document};
pub use error::{Error, ErrorCode, Quantity, StopReason, Subject};
pub use fields::{Field, Range, Section, Takes, Words as FieldWords, is_guard};
#[cfg(feature = "serde")]
pub use json::read::{JsonText, NotJson};
#[cfg(feature = "alloc")]
pub use pace::keyed::budget::KeyedBudget;
pub use pace::keyed::config::{Direction, GateConfig, GateOptions, Growth};
pub use pace::keyed::gate::Gate;
#[cfg(feature = "alloc")]
pub use pace::keyed::store::Keyed;
pub use pace::periodic::loop_backoff::{LoopBackoff, Reset};
pub use pace::periodic::options::{PeriodicOptions, Timer};
pub use pace::periodic::{Answer, Ended, Periodic, PeriodicStep};
pub use pace::wait_backoff::WaitBackoff;
#[cfg(feature = "alloc")]
pub use pace::wheel::{TimerKey, Wheel, WheelFull};
#[cfg(all(feature = "record", feature = "serde"))]
pub use record::event::EventWithNotes;
#[cfg(feature = "record")]
pub use record::event::{Event, EventKind, EventReader, Notes, ValueOwner};
#[cfg(feature = "record")]
pub use record::recorder::{Events, Recorded, Recorder};
#[cfg(feature = "record")]
pub use record::replay::{Replay, ReplayError, ReplayMode};
#[cfg(feature = "record")]
pub use record::save::Saved;
#[cfg(feature = "serde")]
pub use serde_value::{DocumentRules, DocumentValue, read_values};
pub use time::{Span, Timestamp, widen_tick};
pub use value::Value;
