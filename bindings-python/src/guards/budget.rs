//! The budget of retries of all calls together.

use crate::parameters::{Kind, Now, Seed};
use holdoff_core::{BudgetConfig, Error, FailureKind, Options, Timestamp, Withdrawal};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

guard! {
    Budget as budget "budget": holdoff_core::Budget, BudgetConfig;
    fresh |builder, seed, now| builder.budget()?.map(|config| (config, holdoff_core::Budget::new(&config, seed, now)));
    save |config, state, now| state.save(config, now);
    restore |bytes, config, now| holdoff_core::Budget::restore(bytes, config, now)?;
    new(*, seed: Seed, now: Now; **fields: "Unpack[BudgetFields]", config: "BudgetConfig");
    repr |config, state| "<Budget {} left>", state.balance(config, super::clock_time());

    impl {
        /// An attempt failed, retried or not.
        #[pyo3(signature = (kind = None, now = None))]
        fn fail(&self, py: Python<'_>, kind: Option<Kind>, now: Now) -> PyResult<()> {
            let kind = kind.map_or(FailureKind::Transient, |kind| kind.0);
            self.0.at(py, now, |config, state, now| state.fail(config, now, kind))
        }

        /// Pays for a retry after such a failure: returns the payment; None when there may be no retry.
        #[pyo3(signature = (kind = None, now = None))]
        fn withdraw(&self, py: Python<'_>, kind: Option<Kind>, now: Now) -> PyResult<Option<u32>> {
            let kind = kind.map_or(FailureKind::Transient, |kind| kind.0);
            self.0.at(py, now, |config, state, now| state.withdraw(config, now, kind).map(Withdrawal::as_raw))
        }
    }

    ref {
        /// A paid retry has run.
        retried() = budget.0.with(|config, state| state.retried(config));

        /// The call is over; with the payment of a retry that still runs, if any.
        end(withdrawal: Option<u32> = None) =
            budget.0.with(|config, state| state.end(config, withdrawal.map(Withdrawal::from_raw)));
    }

    at {
        /// A call begins.
        begin() -> () = |config, state, now| state.begin(config, now);

        /// An attempt, the first or a later one, is about to start: returns True if it may.
        admit() -> bool = |config, state, now| state.admit(config, now);

        /// A paid retry will never run.
        refund(withdrawal: u32) -> () = |config, state, now| state.refund(config, now, Withdrawal::from_raw(withdrawal));

        /// The call succeeded, with its payment if any.
        succeed(withdrawal: Option<u32> = None) -> () =
            |config, state, now| state.succeed(config, now, withdrawal.map(Withdrawal::from_raw));

        /// How many tokens, or retries, are left.
        balance() -> f64 = |config, state, now| state.balance(config, now);

        /// The chance that an attempt is refused: 0 except for a budget of requests.
        rejection() -> f64 = |config, state, now| state.rejection(config, now);
    }
}
