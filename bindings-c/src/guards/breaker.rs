//! Whether the other side is well enough to be called.

use crate::*;
use holdoff_core::{Breaker, BreakerConfig, GuardsBuilder, Permit, Verdict};

/// How many bytes a saved breaker has.
pub const HOLDOFF_SAVED_BREAKER: usize = 216;
const _: () = assert!(HOLDOFF_SAVED_BREAKER == Breaker::SAVED);

/// State of a breaker: the memory holds none.
pub const HOLDOFF_BREAKER_NONE: u32 = 4294967295;

memory! {
    /// A circuit breaker, its configuration and its state: 328 bytes. May be copied and moved. Zeroed memory is no breaker: it lets
    /// nobody through. The content is the library's.
    ///
    /// Who was let through says holdoff_breaker_record once, or holdoff_breaker_abandon. A holdoff_guarded does all of that.
    holdoff_breaker([u64; 40]) holds Guard<BreakerConfig, Breaker>, b"hoBreak1", NotAGuard
}

pub(crate) fn make(builder: &GuardsBuilder, seed: u64, now: Timestamp) -> Made<BreakerConfig, Breaker> {
    Ok(builder.breaker()?.map(|config| Guard { config, state: Breaker::new(&config, seed, now) }))
}

extern_c! {
    /// Makes the breaker that the options describe under "breaker", closed. The seed is for the jitter of its open times.
    ///
    /// Returns 0 and writes `breaker`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    fn holdoff_breaker_init(breaker: *mut holdoff_breaker, options: *const holdoff_options, seed: u64, now: Timestamp,
        problem: *mut holdoff_problem) -> c_int {
        init(breaker, options, problem, "breaker", |builder| make(builder, seed, now))
    }

    /// May a call run at `now`? If so its permit is written to `permit`; if not, when to ask again to `retry_at` (each may be NULL).
    ///
    /// Returns whether it may. For memory that holds no breaker it may not, at HOLDOFF_NEVER.
    fn holdoff_breaker_acquire(breaker: *mut holdoff_breaker, now: Timestamp, permit: *mut Permit,
        retry_at: *mut Timestamp) -> bool {
        let asked = get_mut(breaker).map(|Guard { config, state }| state.acquire(config, now));
        write_permission(permit, retry_at, asked)
    }

    /// The same for a breaker that is closed, which takes no clock: if the answer is false ask holdoff_breaker_acquire.
    fn holdoff_breaker_acquire_closed(breaker: *const holdoff_breaker, permit: *mut Permit) -> bool {
        write_some(permit, get(breaker).ok().and_then(|guard| guard.state.acquire_closed()))
    }

    /// Whether a call at `at` would be refused, as things stand, and then until when, which is written to `retry_at` (which may be
    /// NULL). A half-open breaker does not say so beforehand. True for memory that holds no breaker.
    fn holdoff_breaker_refuses(breaker: *const holdoff_breaker, at: Timestamp, retry_at: *mut Timestamp) -> bool {
        let refused = |guard: &Guard<_, Breaker>| guard.state.refuses(&guard.config, at);
        write_some(retry_at, get(breaker).map_or(Some(Timestamp::NEVER), refused))
    }

    /// The call with this permit ended at `now`, well or as a failure of the other side, after it took `took_ns`. An old permit
    /// changes nothing.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_breaker_record(breaker: *mut holdoff_breaker, permit: Permit, now: Timestamp, failed: bool,
        took_ns: u64) -> c_int {
        let verdict = if failed { Verdict::Failure } else { Verdict::Success };
        let took = Span::from_nanos(took_ns);
        status(get_mut(breaker).map(|Guard { config, state }| state.record(config, permit, now, verdict, took)))
    }

    /// The call with this permit ended, or never ran, and nothing is known of it: its place comes back.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_breaker_abandon(breaker: *mut holdoff_breaker, permit: Permit, now: Timestamp) -> c_int {
        status(get_mut(breaker).map(|Guard { config, state }| state.abandon(config, permit, now)))
    }

    /// The server said at `now` not to come before `span_ns` are over: a breaker that listens to hints is open until then.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_breaker_hint(breaker: *mut holdoff_breaker, now: Timestamp, span_ns: u64) -> c_int {
        status(get_mut(breaker).map(|Guard { config, state }| state.hint(config, now, Span::from_nanos(span_ns))))
    }

    /// Opens it by hand, until holdoff_breaker_force_close or holdoff_breaker_reset.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_breaker_isolate(breaker: *mut holdoff_breaker, now: Timestamp) -> c_int {
        status(get_mut(breaker).map(|guard| guard.state.isolate(now)))
    }

    /// Closes it by hand, as successes would have.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_breaker_force_close(breaker: *mut holdoff_breaker, now: Timestamp) -> c_int {
        status(get_mut(breaker).map(|guard| guard.state.force_close(now)))
    }

    /// Makes it as new: closed, and its openings forgotten.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_breaker_reset(breaker: *mut holdoff_breaker, now: Timestamp) -> c_int {
        status(get_mut(breaker).map(|guard| guard.state.reset(now)))
    }

    /// How it stands at `now`: a HOLDOFF_BREAKER_ number.
    fn holdoff_breaker_state(breaker: *const holdoff_breaker, now: Timestamp) -> u32 {
        get(breaker).map_or(HOLDOFF_BREAKER_NONE, |guard| guard.state.state(&guard.config, now) as u32)
    }

    /// Until when it is open; of a half-open one when the permits that are out expire, of an isolated one and for memory that holds
    /// no breaker HOLDOFF_NEVER, of a closed one 0.
    fn holdoff_breaker_retry_at(breaker: *const holdoff_breaker) -> Timestamp {
        get(breaker).map_or(Timestamp::NEVER, |guard| guard.state.retry_at())
    }

    /// Writes how many calls count at `now`, how many of them failed and how many were slow (each pointer may be NULL). Of a
    /// consecutive breaker the first two are the failures in a row.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_breaker_rates(breaker: *const holdoff_breaker, now: Timestamp, calls: *mut u32, failed: *mut u32,
        slow: *mut u32) -> c_int {
        let rates = get(breaker).map(|guard| guard.state.rates(&guard.config, now));
        status(rates.map(|counts| {
            write(calls, counts.0);
            write(failed, counts.1);
            write(slow, counts.2);
        }))
    }

    /// How often it has opened, by itself or by a hint, since it was made or reset; 0 for memory that holds no breaker.
    fn holdoff_breaker_openings(breaker: *const holdoff_breaker) -> u32 {
        get(breaker).map_or(0, |guard| guard.state.openings())
    }
}
