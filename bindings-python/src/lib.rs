//! The core for Python: decorator, iterator, caller object and raw machines.
//!
//! Nothing is decided here. The files do a host's duties: read the clock, wait, turn errors into failures, attach the outcome
//! to the error that goes back to the user. The asynchronous loop and `attempts()` are
//! Python, because only Python can await; they drive the same [`operation::Operation`] as the loop in [`caller`].
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::unreachable)]

use pyo3::prelude::*;

mod caller;
mod classify;
mod clock;
mod config;
mod convert;
mod event;
mod explain;
mod failure;
mod gates;

mod guards;
mod hints;
mod json;
mod layers;
mod machine;
mod on;
mod operation;
mod outcome;
mod parameters;
mod policy;
mod recorder;
mod retried;
mod retrying;
mod save;
mod seeds;
mod stepped;
mod testing;
mod vectorcall;
mod wheel;

#[pymodule]
mod _holdoff {
    use super::*;

    #[pymodule_export]
    use caller::retry;
    #[pymodule_export]
    use clock::{monotonic_ns, overridden_time, override_time, remaining};
    #[pymodule_export]
    use config::parse_duration;
    #[pymodule_export]
    use event::Event;
    #[pymodule_export]
    use explain::{Explanation, Lint, Row, Rows, lint_nested, preset_names};
    #[pymodule_export]
    use failure::Failure;
    #[pymodule_export]
    use gates::{Bucket, Gate, GateConfig, Keyed};
    #[pymodule_export]
    use guards::breaker::Breaker;
    #[pymodule_export]
    use guards::budget::Budget;
    #[pymodule_export]
    use guards::bulkhead::Bulkhead;
    #[pymodule_export]
    use guards::guarded::GuardedCall;
    #[pymodule_export]
    use guards::hedge::Hedge;
    #[pymodule_export]
    use guards::keyed::KeyedGuards;
    #[pymodule_export]
    use guards::nested::Token;
    #[pymodule_export]
    use guards::notify::Notify;
    #[pymodule_export]
    use guards::rates::{Adaptive, Limiter};
    #[pymodule_export]
    use guards::set::Guards;
    #[pymodule_export]
    use guards::stretch::Stretch;
    #[pymodule_export]
    use hints::{grpc_failure, hint_of, http_failure};
    #[pymodule_export]
    use layers::{Layered, Layers};
    #[pymodule_export]
    use machine::{Call, Decision, Retry, Schedule, Step};
    #[pymodule_export]
    use operation::{Operation, RetryEvent};
    #[pymodule_export]
    use outcome::{Outcome, outcome_of};
    #[pymodule_export]
    use policy::Policy;
    #[pymodule_export]
    use recorder::{Recorder, replay};
    #[pymodule_export]
    use retrying::Retrying;
    #[pymodule_export]
    use seeds::{override_uniform, seed, seed_at};
    #[pymodule_export]
    use stepped::{Pace, Periodic, PeriodicStep, Stepped};
    #[pymodule_export]
    use testing::{jittered, next_at, pinned};
    #[pymodule_export]
    use wheel::Wheel;

    #[pymodule_export]
    const NEVER: u64 = u64::MAX;
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        caller::find_coroutine_type(py)?;
        module.add("Retried", retried::Retried::class(py)?.class())?;
        vectorcall::quicken::<Retrying>(py)?;
        vectorcall::quicken::<Policy>(py)
    }
}
