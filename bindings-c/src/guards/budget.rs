//! How many retries there may be for the calls there are.

use crate::*;
use holdoff_core::{Budget, BudgetConfig, GuardsBuilder, Held};

/// How many bytes a saved budget has.
pub const HOLDOFF_SAVED_BUDGET: usize = 144;
const _: () = assert!(HOLDOFF_SAVED_BUDGET == Budget::SAVED);

memory! {
    /// A budget for retries, its configuration and its state: 200 bytes. May be copied and moved. Zeroed memory is no budget, and an
    /// error. The content is the library's.
    ///
    /// All calls of a client share one. A call says holdoff_budget_begin first and holdoff_budget_end last. Each of its attempts
    /// asks holdoff_budget_admit. What fails says holdoff_budget_fail and asks holdoff_budget_withdraw for the next attempt. A retry
    /// that was allowed says holdoff_budget_retried when it has run, or holdoff_budget_refund if it never will. A success says
    /// holdoff_budget_succeed. A holdoff_guarded does all of that.
    holdoff_budget([u64; 24]) holds Guard<BudgetConfig, Budget>, b"hoBudge1", NotAGuard
}

pub(crate) fn make(builder: &GuardsBuilder, seed: u64, now: Timestamp) -> Made<BudgetConfig, Budget> {
    Ok(builder.budget()?.map(|config| Guard { config, state: Budget::new(&config, seed, now) }))
}

extern_c! {
    /// Makes the budget that the options describe under "budget", of which nothing is used at `now`. Only the kind "requests" draws
    /// from the seed.
    ///
    /// Returns 0 and writes `budget`; or a HOLDOFF_ERROR_ number (HOLDOFF_ERROR_FIELD_MISSING when they describe none) and leaves it
    /// as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    fn holdoff_budget_init(budget: *mut holdoff_budget, options: *const holdoff_options, seed: u64, now: Timestamp,
        problem: *mut holdoff_problem) -> c_int {
        init(budget, options, problem, "budget", |builder| make(builder, seed, now))
    }

    /// A call begins at `now`.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_begin(budget: *mut holdoff_budget, now: Timestamp) -> c_int {
        status(get_mut(budget).map(|Guard { config, state }| state.begin(config, now)))
    }

    /// Whether an attempt, the first or a later one, may start at `now`. Only the kind "requests" ever says no; false for memory
    /// that holds no budget.
    fn holdoff_budget_admit(budget: *mut holdoff_budget, now: Timestamp) -> bool {
        get_mut(budget).is_ok_and(|Guard { config, state }| state.admit(config, now))
    }

    /// An attempt failed at `now`, as a kind of failure (HOLDOFF_TRANSIENT, ...).
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_NOT_A_GUARD or HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND.
    fn holdoff_budget_fail(budget: *mut holdoff_budget, now: Timestamp, kind: u32) -> c_int {
        let budget = pair(get_mut(budget), kind_of(kind));
        status(budget.map(|(Guard { config, state }, kind)| state.fail(config, now, kind)))
    }

    /// May there be a retry at `now`, after a kind of failure? It is paid for then, and what was paid is written to `held` (which may
    /// be NULL), in the place of what an earlier retry of the call paid.
    ///
    /// Returns whether there may; false for an unknown kind, and for memory that holds no budget.
    fn holdoff_budget_withdraw(budget: *mut holdoff_budget, now: Timestamp, kind: u32, held: *mut Held) -> bool {
        let paid = pair(get_mut(budget), kind_of(kind));
        write_some(held, paid.ok().and_then(|(Guard { config, state }, kind)| state.withdraw(config, now, kind)))
    }

    /// The retry that paid `held` never ran: it comes back.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_refund(budget: *mut holdoff_budget, now: Timestamp, held: Held) -> c_int {
        status(get_mut(budget).map(|Guard { config, state }| state.refund(config, now, held)))
    }

    /// A retry has run, however it ended.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_retried(budget: *mut holdoff_budget) -> c_int {
        status(get_mut(budget).map(|Guard { config, state }| state.retried(config)))
    }

    /// The call succeeded at `now`. `held` points to what its latest retry paid; NULL when none did.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_succeed(budget: *mut holdoff_budget, now: Timestamp, held: *const Held) -> c_int {
        status(get_mut(budget).map(|Guard { config, state }| state.succeed(config, now, read(held))))
    }

    /// The call is over, however it ended. To be said of each call that began, or a "share" counts it for ever.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_end(budget: *mut holdoff_budget) -> c_int {
        status(get_mut(budget).map(|Guard { config, state }| state.end(config, None)))
    }

    /// What there is at `now`: tokens for the kinds "token" and "throttle", else retries. 0 for memory that holds no budget.
    fn holdoff_budget_balance(budget: *const holdoff_budget, now: Timestamp) -> f64 {
        get(budget).map_or(0.0, |guard| guard.state.balance(&guard.config, now))
    }

    /// With which probability holdoff_budget_admit says no at `now`: of the kind "requests", 0 of any other. 1 for memory that holds
    /// no budget.
    fn holdoff_budget_rejection(budget: *const holdoff_budget, now: Timestamp) -> f64 {
        get(budget).map_or(1.0, |guard| guard.state.rejection(&guard.config, now))
    }
}
