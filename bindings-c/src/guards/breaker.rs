//! Breakers, which stop calls to a server that keeps failing.

use crate::*;

/// State of a breaker: the memory holds none.
pub const HOLDOFF_BREAKER_NONE: u32 = 4294967295;

extern_c! {
    /// A circuit breaker, its configuration and its state: 384 bytes. May be copied and moved. Zeroed memory is no breaker:
    /// it lets no call through. The content is the library's.
    ///
    /// After a call with a permit call holdoff_breaker_record once, or holdoff_breaker_abandon. A holdoff_guarded_call does all
    /// of that.
    guard holdoff_breaker([u64; 47]) as breaker = Guard { config, state, .. } in BreakerConfig, b"hoBreak2";

    /// Makes the breaker that the options describe under "breaker", closed. The seed is for the jitter of its open times.
    ///
    /// Returns 0 and writes `breaker`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    make holdoff_breaker_init(options, seed, now) = section(options, seed, now)?;

    /// Asks for a permit at `now`. It is written to `permit`; after a refusal the time to ask again is written to
    /// `retry_at` (each may be NULL).
    ///
    /// Returns true for a permit. Memory without a breaker refuses, at HOLDOFF_NEVER.
    get_mut holdoff_breaker_acquire(now, permit: *mut Permit, retry_at: *mut Timestamp) -> bool =
        write_permission(permit, retry_at, state.acquire(config, now)), else refuse(retry_at);

    /// Asks a closed breaker for a permit, which takes no clock; if the answer is false ask holdoff_breaker_acquire.
    get holdoff_breaker_acquire_closed(permit: *mut Permit) -> bool = write_some(permit, state.acquire_closed()), else false;

    /// Tells whether a call at `at` would be refused, and writes until when to `retry_at` (which may be NULL). A half-open
    /// breaker does not say so beforehand. True for memory without a breaker.
    get holdoff_breaker_refuses(at: Timestamp, retry_at: *mut Timestamp) -> bool =
        write_some(retry_at, state.refuses(config, at)), else !refuse(retry_at);

    /// Returns how many calls it would let through now, without a look at the clock: 4294967295 while it is closed, the free places
    /// while it is half-open, 0 while it is open or isolated, and for memory without a breaker; the calls of its ramp that may begin when it has
    /// closed while calls wait. Calls that wait behind others at the breaker ask again when it is not 0.
    get holdoff_breaker_admits() -> u32 = state.admits(config), else 0;

    /// Records the end of the call with this permit at `now`, as a success or a failure of the server, after `took_ns`. An
    /// old permit changes nothing.
    change holdoff_breaker_record(permit: Permit, now, failed: bool, took_ns: u64) = {
        let verdict = if failed { Verdict::Failure } else { Verdict::Success };
        state.record(config, permit, now, verdict, span(took_ns));
    };

    /// Gives back the permit of a call that never ran, or whose end says nothing about the server.
    change holdoff_breaker_abandon(permit: Permit, now) = state.abandon(config, permit, now);

    /// Records that the server asked at `now` for `span_ns` without calls: a breaker that listens to hints is open until
    /// then.
    change holdoff_breaker_hint(now, span_ns: u64) = state.hint(config, now, span(span_ns));

    /// Opens the breaker by hand, until holdoff_breaker_force_close or holdoff_breaker_reset.
    change holdoff_breaker_isolate(now) = state.isolate(now);

    /// Closes the breaker by hand, as successes would.
    change holdoff_breaker_force_close(now) = state.force_close(now);

    /// Makes the breaker as new: closed, and its openings forgotten.
    change holdoff_breaker_reset(now) = state.reset(now);

    /// Returns the state at `now`, a HOLDOFF_BREAKER_ number.
    get holdoff_breaker_state(now) -> u32 = state.state(config, now) as u32, else HOLDOFF_BREAKER_NONE;

    /// Returns the time until which an open breaker stays open, and at which the permits of a half-open one expire; 0 for a
    /// closed breaker, HOLDOFF_NEVER for an isolated one and for memory without a breaker.
    get holdoff_breaker_retry_at() -> Timestamp = state.retry_at(), else Timestamp::NEVER;

    /// Writes how many calls count at `now`, how many of them failed and how many were slow (each pointer may be NULL). The
    /// first two are the failures in a row for the kind "consecutive".
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    get holdoff_breaker_rates(now, calls: *mut u32, failed: *mut u32, slow: *mut u32) = {
        let rates = state.rates(config, now);
        write(calls, rates.0);
        write(failed, rates.1);
        write(slow, rates.2);
    };

    /// Returns how often the breaker has opened, by itself or by a hint, since it was made or reset; 0 for memory without a
    /// breaker.
    get holdoff_breaker_openings() -> u32 = state.openings(), else 0;
}
