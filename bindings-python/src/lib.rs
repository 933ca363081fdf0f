//! The core for Python: decorator, iterator, caller object and raw machines.
//!
//! Nothing is decided here. The files do a host's duties: read the clock, wait, turn errors into failures, attach the outcome
//! to the error that goes back to the user. There is a loop for each way of waiting: blocking in [`caller`], and three written in
//! Python, for coroutines, for blocks of code and for hedged attempts in threads. All drive an [`operation::Operation`].
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::unreachable)]

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict as _;
use std::sync::OnceLock;

#[macro_use]
mod macros;

mod attempts;
mod caller;
mod classify;
mod clock;
mod config;
mod context;
mod convert;
mod coroutine;
mod event;
mod explain;
mod failure;
mod gates;

mod guards;
mod hints;
mod json;
mod layers;
mod machine;
mod notebook;
mod on;
mod operation;
mod outcome;
mod parameters;
mod periodic;
mod policy;
mod recorder;
mod retrying;
mod save;
mod seeds;
mod simulation;
mod telemetry;
mod testing;
mod wheel;

/// The statics of this module hold objects of one interpreter. From Python 3.12 on the interpreter refuses by itself.
fn refuse_subinterpreter(py: Python<'_>) -> PyResult<()> {
    static FIRST: OnceLock<usize> = OnceLock::new();
    let own = py.import("sys")?.as_ptr() as usize;
    if *FIRST.get_or_init(|| own) == own {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "holdoff runs in one interpreter of a process: it does not support loading in subinterpreters",
    ))
}

/// Declares the module, with the class of each guard.
macro_rules! module {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        #[pymodule]
        mod _holdoff {
            use super::*;

            #[pymodule_export]
            use super::{
                attempts::attempts,
                caller::retry,
                classify::{answer_of, classify_built_in},
                clock::{monotonic_ns, overridden_time, override_time},
                config::parse_duration,
                context::{Scope, enter_limit, enter_token, leave_scope, limit_nanos, remaining, token},
                coroutine::{code_flags, is_coroutine_function},
                event::Event,
                explain::{Explanation, Lint, Row, Rows, lint_nested, preset_names},
                failure::Failure,
                gates::{Bucket, Gate, GateConfig, Keyed},
                guards::forked,
                guards::guarded::GuardedCall,
                guards::keyed::KeyedGuards,
                guards::set::{$($class),*},
                guards::loops::override_budgets,
                guards::nested::Token,
                guards::notify::Notify,
                guards::set::{Guards, unpickled_guard, unpickled_guards},
                hints::{grpc_failure, hint_of, http_failure},
                layers::{Layered, Layers},
                machine::{Call, Decision, Retry, Schedule, Step},
                operation::Operation,
                outcome::Outcome,
                periodic::{LoopBackoff, Periodic, PeriodicStep, WaitBackoff},
                policy::Policy,
                recorder::{Recorder, replay},
                retrying::{Retrying, unpickled_retrying},
                seeds::{override_uniform, seed, seed_at},
                telemetry::{report_unraisable, tell_of},
                testing::{Chaos, jittered, next_at, override_attempts, pinned},
                wheel::Wheel,
            };

            #[pymodule_export]
            const NEVER: u64 = u64::MAX;
            #[pymodule_export]
            #[allow(non_upper_case_globals)]
            const __version__: &str = env!("CARGO_PKG_VERSION");

            #[pymodule_init]
            fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
                let py = module.py();
                refuse_subinterpreter(py)?;
                coroutine::find_coroutine_type(py)?;
                if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
                    let forked = [("after_in_child", module.getattr("forked")?)].into_py_dict(py)?;
                    register.call((), Some(&forked))?;
                }
                Ok(())
            }
        }
    };
}
holdoff_core::each_guard!(module);
