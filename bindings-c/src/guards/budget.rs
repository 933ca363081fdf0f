//! How many retries there may be for the calls there are.

use crate::*;

memory! {
    /// A budget for retries, its configuration and its state: 200 bytes. May be copied and moved. Zeroed memory is no
    /// budget, and an error. The content is the library's.
    ///
    /// All calls of a client share one budget. Begin each call with holdoff_budget_begin and end it with
    /// holdoff_budget_end. Ask holdoff_budget_admit before each attempt. After a failure call holdoff_budget_fail, and ask
    /// holdoff_budget_withdraw before the next attempt. After a retry call holdoff_budget_retried, or holdoff_budget_refund
    /// if it never ran. After a success call holdoff_budget_succeed. A holdoff_guarded_call does all of that.
    holdoff_budget([u64; 24]) holds Guard<BudgetConfig, Budget>, b"hoBudge1", NotAGuard
}

described!(holdoff_budget in budget: BudgetConfig, |config, seed, now| Budget::new(config, seed, now));

extern_c! {
    /// Makes the budget that the options describe under "budget", unused at `now`. Only the kind "requests" draws
    /// from the seed.
    ///
    /// Returns 0 and writes `budget`; or a HOLDOFF_ERROR_ number (HOLDOFF_ERROR_FIELD_MISSING when they describe none) and
    /// leaves it as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    fn holdoff_budget_init(budget: *mut holdoff_budget, options: *const holdoff_options, seed: u64, now: Timestamp,
        problem: *mut holdoff_problem) -> c_int =
        init(budget, options, seed, now, problem);

    /// Begins a call at `now`.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_begin(budget: *mut holdoff_budget, now: Timestamp) -> c_int =
        tell(budget, |config, state| state.begin(config, now));

    /// Tells whether an attempt, the first or a later one, may start at `now`. Only the kind "requests" ever refuses; false
    /// for memory without a budget.
    fn holdoff_budget_admit(budget: *mut holdoff_budget, now: Timestamp) -> bool =
        get_mut(budget).is_ok_and(|Guard { config, state }| state.admit(config, now));

    /// Records an attempt that failed at `now`, with a kind of failure (HOLDOFF_TRANSIENT, ...).
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_NOT_A_GUARD or HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND.
    fn holdoff_budget_fail(budget: *mut holdoff_budget, now: Timestamp, kind: u32) -> c_int = {
        let budget = pair(get_mut(budget), kind_of(kind));
        status(budget.map(|(Guard { config, state }, kind)| state.fail(config, now, kind)))
    };

    /// Asks for a retry at `now`, after a kind of failure. If it may run it is paid for, and what it paid is written to
    /// `withdrawal` (which may be NULL), in the place of what an earlier retry of the call paid.
    ///
    /// Returns true if it may run; false for an unknown kind, and for memory without a budget.
    fn holdoff_budget_withdraw(budget: *mut holdoff_budget, now: Timestamp, kind: u32, withdrawal: *mut Withdrawal) -> bool = {
        let paid = pair(get_mut(budget), kind_of(kind));
        write_some(withdrawal, paid.ok().and_then(|(Guard { config, state }, kind)| state.withdraw(config, now, kind)))
    };

    /// Gives back what a retry paid that never ran.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_refund(budget: *mut holdoff_budget, now: Timestamp, withdrawal: Withdrawal) -> c_int =
        tell(budget, |config, state| state.refund(config, now, withdrawal));

    /// Records a retry that has run, with any result.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_retried(budget: *mut holdoff_budget) -> c_int =
        tell(budget, |config, state| state.retried(config));

    /// Records the success of a call at `now`. `withdrawal` points to what its latest retry paid; NULL for a call without a
    /// retry.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_succeed(budget: *mut holdoff_budget, now: Timestamp, withdrawal: *const Withdrawal) -> c_int =
        tell(budget, |config, state| state.succeed(config, now, read(withdrawal)));

    /// Ends a call, with any result. Without it the kind "share" counts the call for ever.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_budget_end(budget: *mut holdoff_budget) -> c_int =
        tell(budget, |config, state| state.end(config, None));

    /// Returns the balance at `now`: tokens for the kinds "token" and "throttle", else retries; 0 for memory without a
    /// budget.
    fn holdoff_budget_balance(budget: *const holdoff_budget, now: Timestamp) -> f64 =
        get(budget).map_or(0.0, |guard| guard.state.balance(&guard.config, now));

    /// Returns the probability that holdoff_budget_admit refuses at `now`: 0 for all kinds but "requests", 1 for memory
    /// without a budget.
    fn holdoff_budget_rejection(budget: *const holdoff_budget, now: Timestamp) -> f64 =
        get(budget).map_or(1.0, |guard| guard.state.rejection(&guard.config, now));
}
