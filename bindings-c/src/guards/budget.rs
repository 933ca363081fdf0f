//! How many retries there may be for the calls there are.

use crate::*;

extern_c! {
    /// A budget for retries, its configuration and its state: 200 bytes. May be copied and moved. Zeroed memory is no
    /// budget, and an error. The content is the library's.
    ///
    /// All calls of a client share one budget. Begin each call with holdoff_budget_begin and end it with
    /// holdoff_budget_end. Ask holdoff_budget_admit before each attempt. After a failure call holdoff_budget_fail, and ask
    /// holdoff_budget_withdraw before the next attempt. After a retry call holdoff_budget_retried, or holdoff_budget_refund
    /// if it never ran. After a success call holdoff_budget_succeed. A holdoff_guarded_call does all of that.
    guard holdoff_budget([u64; 24]) as budget = Guard { config, state, .. } in BudgetConfig, b"hoBudge1";

    /// Makes the budget that the options describe under "budget", unused at `now`. Only the kind "requests" draws
    /// from the seed.
    ///
    /// Returns 0 and writes `budget`; or a HOLDOFF_ERROR_ number (HOLDOFF_ERROR_FIELD_MISSING when they describe none) and
    /// leaves it as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    make holdoff_budget_init(options, seed, now) = section(options, seed, now)?;

    /// Begins a call at `now`.
    change holdoff_budget_begin(now) = state.begin(config, now);

    /// Tells whether an attempt, the first or a later one, may start at `now`. Only the kind "requests" ever refuses; false
    /// for memory without a budget.
    get_mut holdoff_budget_admit(now) -> bool = state.admit(config, now), else false;

    /// Records an attempt that failed at `now`, with a kind of failure (HOLDOFF_TRANSIENT, ...).
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_NOT_A_GUARD or HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND.
    get_mut holdoff_budget_fail(now, kind: u32) = state.fail(config, now, kind_of(kind)?);

    /// Returns the number of the latest refusal of a budget of tokens; 0 for memory without a budget. A call notes it when it begins:
    /// a call from before a refusal has no grace.
    get holdoff_budget_refusals() -> u32 = state.refusals(), else 0;

    /// Asks for a retry at `now`, after a kind of failure, for a call that began just now. If it may run it is paid for, and what it paid
    /// is written to `withdrawal` (which may be NULL), in the place of what an earlier retry of the call paid; where "budget.returns" is
    /// "all", a call adds the two.
    ///
    /// Returns true if it may run; false for an unknown kind, and for memory without a budget.
    get_mut holdoff_budget_withdraw(now, kind: u32, withdrawal: *mut Withdrawal) -> bool =
        write_some(withdrawal, state.withdraw(config, now, kind_of(kind)?, state.refusals())), else false;

    /// Gives back what a retry paid that never ran.
    change holdoff_budget_refund(now, withdrawal: Withdrawal) = state.refund(config, now, withdrawal);

    /// Records a retry that has run, with any result.
    change holdoff_budget_retried() = state.retried(config);

    /// Records the success of a call at `now`. `withdrawal` points to what its latest retry paid; NULL for a call without a
    /// retry.
    change holdoff_budget_succeed(now, withdrawal: *const Withdrawal) = state.succeed(config, now, read(withdrawal));

    /// Ends a call, with any result. Without it the kind "share" counts the call for ever.
    change holdoff_budget_end() = state.end(config, None);

    /// Returns the balance at `now`: tokens for the kinds "token" and "throttle", else retries; 0 for memory without a
    /// budget.
    get holdoff_budget_balance(now) -> f64 = state.balance(config, now), else 0.0;

    /// Returns the probability that holdoff_budget_admit refuses at `now`: 0 for all kinds but "requests", 1 for memory
    /// without a budget.
    get holdoff_budget_rejection(now) -> f64 = state.rejection(config, now), else 1.0;

    /// Tells whether a budget of tokens lacks none: a success changes nothing then. True for memory without a budget, false for the
    /// other kinds.
    get holdoff_budget_is_full() -> bool = state.is_full(config), else true;

    /// Writes why a budget of tokens refuses a retry at `now` after a kind of failure into `text`, at most `size` bytes with the
    /// zero at its end: `19.9 of 20 tokens; a retry costs 1, there are enough again in 30s; a larger budget allows more`.
    ///
    /// Returns the length of the whole text without the zero, as snprintf does; 0 if it does not refuse, and for the other kinds.
    get holdoff_budget_shortage(now, kind: u32, text: *mut c_char, size) -> c_int =
        print(text, size, state.shortage(config, now, kind_of(kind)?)), else 0;
}
