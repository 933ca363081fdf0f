//! The budget of retries of all calls together.

use crate::parameters::{Kind, Now, Seed};
use holdoff_core::{BudgetConfig, Error, FailureKind, Options, Timestamp, Withdrawal};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn or_transient(kind: Option<Kind>) -> FailureKind {
    kind.map_or(FailureKind::Transient, |kind| kind.0)
}

guard! {
    Budget(self, py) "budget": holdoff_core::Budget, BudgetConfig;
    fresh |builder, seed, now| builder.budget()?.map(|config| (config, holdoff_core::Budget::new(&config, seed, now)));
    save |config, state, now| state.save(config, now);
    restore |bytes, config, now| holdoff_core::Budget::restore(bytes, config, now)?;
    new(*, seed: Seed, now: Now; **fields: "Unpack[BudgetFields]", config: "BudgetConfig");
    repr |config, state| "<Budget {} left>", state.balance(config, super::clock_time());

    /// A paid retry has run.
    ref retried() = self.0.with(|config, state| state.retried(config));

    /// The call is over; with the payment of a retry that still runs, if any.
    ref end(withdrawal: Option<u32> = None) =
        self.0.with(|config, state| state.end(config, withdrawal.map(Withdrawal::from_raw)));

    /// An attempt failed, retried or not.
    at fail(kind: Option<Kind> = None) -> () = |config, state, now| state.fail(config, now, or_transient(kind));

    /// Pays for a retry after such a failure: returns the payment; None when there may be no retry.
    at withdraw(kind: Option<Kind> = None) -> Option<u32> =
        |config, state, now| state.withdraw(config, now, or_transient(kind)).map(Withdrawal::as_raw);

    /// A call begins.
    at begin() -> () = |config, state, now| state.begin(config, now);

    /// An attempt, the first or a later one, is about to start: returns True if it may.
    at admit() -> bool = |config, state, now| state.admit(config, now);

    /// A paid retry will never run.
    at refund(withdrawal: u32) -> () = |config, state, now| state.refund(config, now, Withdrawal::from_raw(withdrawal));

    /// The call succeeded, with its payment if any.
    at succeed(withdrawal: Option<u32> = None) -> () =
        |config, state, now| state.succeed(config, now, withdrawal.map(Withdrawal::from_raw));

    /// How many tokens, or retries, are left.
    at balance() -> f64 = |config, state, now| state.balance(config, now);

    /// The chance that an attempt is refused: 0 except for a budget of requests.
    at rejection() -> f64 = |config, state, now| state.rejection(config, now);
}
