//! How many retries there may be for the calls there are.

use super::{Guard, init, restored, saved};
use crate::boundary::{answer, drive, look, memory};
use crate::errors::status;
use crate::options::holdoff_options;
use crate::problem::holdoff_problem;
use core::ffi::{c_char, c_int};
use holdoff_core::{Budget, BudgetConfig, ConfigError, ErrorCode, FailureKind, GuardsBuilder, Held, Timestamp};

/// How many bytes a saved budget has.
pub const HOLDOFF_SAVED_BUDGET: usize = 144;
const _: () = assert!(HOLDOFF_SAVED_BUDGET == Budget::SAVED);

/// A budget for retries, its configuration and its state: 200 bytes. May be copied and moved. Zeroed memory is no budget, and an
/// error. The content is the library's.
///
/// All calls of a client share one. A call says holdoff_budget_begin first and holdoff_budget_end last. Each of its attempts
/// asks holdoff_budget_admit. What fails says holdoff_budget_fail and asks holdoff_budget_withdraw for the next attempt. A retry
/// that was allowed says holdoff_budget_retried when it has run, or holdoff_budget_refund if it never will. A success says
/// holdoff_budget_succeed. A holdoff_guarded does all of that.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_budget {
    magic: u64,
    state: [u64; 24],
}

memory!(holdoff_budget: Guard<BudgetConfig, Budget>, u64::from_be_bytes(*b"hoBudge1"), ErrorCode::NotAGuard);

pub(crate) fn make(
    builder: &GuardsBuilder,
    seed: u64,
    now: Timestamp,
) -> Result<Option<Guard<BudgetConfig, Budget>>, ConfigError> {
    Ok(builder.budget()?.map(|config| Guard { config, state: Budget::new(&config, seed, now) }))
}

/// Makes the budget that the options describe under "budget", of which nothing is used at `now`. Only the kind "requests" draws
/// from the seed.
///
/// Returns 0 and writes `budget`; or a HOLDOFF_ERROR_ number (HOLDOFF_ERROR_FIELD_MISSING when they describe none) and leaves it
/// as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_init(
    budget: *mut holdoff_budget,
    options: *const holdoff_options,
    seed: u64,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    unsafe { init(budget, options, problem, "budget", |builder| make(builder, seed, Timestamp::from_nanos(now))) }
}

/// A call begins at `now`.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_begin(budget: *mut holdoff_budget, now: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(budget) }.map(|Guard { config, state }| state.begin(config, Timestamp::from_nanos(now))))
}

/// Whether an attempt, the first or a later one, may start at `now`. Only the kind "requests" ever says no; false for memory
/// that holds no budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_admit(budget: *mut holdoff_budget, now: u64) -> bool {
    // SAFETY: the header's promise.
    let budget = unsafe { drive(budget) };
    budget.is_ok_and(|Guard { config, state }| state.admit(config, Timestamp::from_nanos(now)))
}

/// An attempt failed at `now`, as a kind of failure (HOLDOFF_TRANSIENT, ...).
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_NOT_A_GUARD or HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_fail(budget: *mut holdoff_budget, now: u64, kind: u32) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(budget) }.and_then(|Guard { config, state }| {
        let kind = FailureKind::from_code(kind).ok_or(ErrorCode::UnknownFailureKind)?;
        state.fail(config, Timestamp::from_nanos(now), kind);
        Ok(())
    }))
}

/// May there be a retry at `now`, after a kind of failure? It is paid for then, and what was paid is written to `held` (which may
/// be NULL), in the place of what an earlier retry of the call paid.
///
/// Returns whether there may; false for an unknown kind, and for memory that holds no budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_withdraw(
    budget: *mut holdoff_budget,
    now: u64,
    kind: u32,
    held: *mut u32,
) -> bool {
    // SAFETY: the header's promise.
    let both = unsafe { drive(budget) }.ok().zip(FailureKind::from_code(kind));
    let paid =
        both.and_then(|(Guard { config, state }, kind)| state.withdraw(config, Timestamp::from_nanos(now), kind));
    if let Some(paid) = paid {
        // SAFETY: the header's promise.
        unsafe { answer(held, paid.as_raw()) }
    }
    paid.is_some()
}

/// The retry that paid `held` never ran: it comes back.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_refund(budget: *mut holdoff_budget, now: u64, held: u32) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(budget) }.map(|Guard { config, state }| {
        state.refund(config, Timestamp::from_nanos(now), Held::from_raw(held));
    }))
}

/// A retry has run, however it ended.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_retried(budget: *mut holdoff_budget) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(budget) }.map(|Guard { config, state }| state.retried(config)))
}

/// The call succeeded at `now`. `held` points to what its latest retry paid; NULL when none did.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_succeed(budget: *mut holdoff_budget, now: u64, held: *const u32) -> c_int {
    // SAFETY: the header's promise.
    let held = (!held.is_null()).then(|| Held::from_raw(unsafe { held.read_unaligned() }));
    // SAFETY: the header's promise.
    status(unsafe { drive(budget) }.map(|Guard { config, state }| {
        state.succeed(config, Timestamp::from_nanos(now), held);
    }))
}

/// The call is over, however it ended. To be said of each call that began, or a "share" counts it for ever.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_end(budget: *mut holdoff_budget) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(budget) }.map(|Guard { config, state }| state.end(config, None)))
}

/// What there is at `now`: tokens for the kinds "token" and "throttle", else retries. 0 for memory that holds no budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_balance(budget: *const holdoff_budget, now: u64) -> f64 {
    // SAFETY: the header's promise.
    let budget = unsafe { look(budget) };
    budget.map_or(0.0, |Guard { config, state }| state.balance(config, Timestamp::from_nanos(now)))
}

/// With which probability holdoff_budget_admit says no at `now`: of the kind "requests", 0 of any other. 1 for memory that holds
/// no budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_rejection(budget: *const holdoff_budget, now: u64) -> f64 {
    // SAFETY: the header's promise.
    let budget = unsafe { look(budget) };
    budget.map_or(1.0, |Guard { config, state }| state.rejection(config, Timestamp::from_nanos(now)))
}

/// Writes the budget's state at `now` as bytes that last, HOLDOFF_SAVED_BUDGET of them, to `bytes`, which has room for `size`.
/// What calls in flight hold is not kept.
///
/// Returns how many there are; 0 when they do not fit, and for memory that holds no budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_save(
    budget: *const holdoff_budget,
    now: u64,
    bytes: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the header's promise.
    let made = unsafe { look(budget) }.map(|Guard { config, state }| state.save(config, Timestamp::from_nanos(now)));
    // SAFETY: the header's promise.
    unsafe { saved(made, bytes, size) }
}

/// Gives a budget that was made the state that holdoff_budget_save or another language made bytes of, on a clock that reads
/// `now`. Its configuration may have changed in between, but not its kind.
///
/// Returns 0; or HOLDOFF_ERROR_GUARD_CONFIG, HOLDOFF_ERROR_STATE_DAMAGED or another HOLDOFF_ERROR_ number and leaves the budget
/// as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_budget_restore(
    budget: *mut holdoff_budget,
    bytes: *const c_char,
    length: usize,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    let now = Timestamp::from_nanos(now);
    // SAFETY: the header's promise.
    unsafe {
        restored(budget, bytes, length, problem, |bytes, Guard { config, state }| {
            Budget::restore(bytes, config, now).map(|restored| *state = restored)
        })
    }
}
