//! The state of a guard as bytes that last.

use crate::*;
use core::ffi::c_void;
use holdoff_core::{Adaptive, Breaker, Budget, Error, Latency, Limiter, Stretch};

extern_c! {
    /// Writes the state of a guard at `now` to `bytes`, which has room for `size`: the same bytes as in every language.
    /// `guard` points to a holdoff_budget, holdoff_breaker, holdoff_adaptive, holdoff_stretch or holdoff_hedge, which has
    /// as many as its HOLDOFF_SAVED_ number, or to a holdoff_limiter, which has as many as holdoff_limiter_saved says. A
    /// state holds nothing of the calls in flight.
    ///
    /// Returns how many bytes there are; 0 when they do not fit, and for memory without one of these guards.
    fn holdoff_guard_save(guard: *const c_void, now: Timestamp, bytes: *mut c_char, size: usize) -> usize = {
        let to = (bytes, size);
        match read(guard.cast::<u64>()) {
            Some(holdoff_budget::MAGIC) =>
                save(guard.cast::<holdoff_budget>(), to, |state, config| state.save(config, now)),
            Some(holdoff_breaker::MAGIC) =>
                save(guard.cast::<holdoff_breaker>(), to, |state, config| state.save(config, now)),
            Some(holdoff_adaptive::MAGIC) =>
                save(guard.cast::<holdoff_adaptive>(), to, |state, config| state.save(config, now)),
            Some(holdoff_stretch::MAGIC) =>
                save(guard.cast::<holdoff_stretch>(), to, |state, config| state.save(config, now)),
            Some(holdoff_hedge::MAGIC) =>
                save(guard.cast::<holdoff_hedge>(), to, |state, _| state.save()),
            Some(holdoff_limiter::MAGIC) => {
                let parts = limiter::parts(guard.cast::<holdoff_limiter>().cast_mut()).ok();
                parts.and_then(|(config, state, log)| state.save(config, log, now, buffer(bytes, size))).unwrap_or(0)
            }
            _ => 0,
        }
    };

    /// Replaces the state of a guard by a saved one, on a clock that reads `now`. The configuration of the guard may differ
    /// from that of the saved one, but not its kind, nor the limit of a limiter of the kind "log".
    ///
    /// Returns 0; or HOLDOFF_ERROR_GUARD_CONFIG, HOLDOFF_ERROR_STATE_DAMAGED or another HOLDOFF_ERROR_ number and leaves
    /// the guard as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    fn holdoff_guard_restore(guard: *mut c_void, bytes: *const c_char, length: usize, now: Timestamp,
        problem: *mut holdoff_problem) -> c_int = {
        let bytes = slice(bytes, length);
        let restored = match read(guard.cast::<u64>()) {
            Some(holdoff_budget::MAGIC) => {
                restore(guard.cast::<holdoff_budget>(), bytes, |bytes, config| Budget::restore(bytes, config, now))
            }
            Some(holdoff_breaker::MAGIC) => {
                restore(guard.cast::<holdoff_breaker>(), bytes, |bytes, config| Breaker::restore(bytes, config, now))
            }
            Some(holdoff_adaptive::MAGIC) => {
                restore(guard.cast::<holdoff_adaptive>(), bytes, |bytes, config| Adaptive::restore(bytes, config, now))
            }
            Some(holdoff_stretch::MAGIC) => {
                restore(guard.cast::<holdoff_stretch>(), bytes, |bytes, config| Stretch::restore(bytes, config, now))
            }
            Some(holdoff_hedge::MAGIC) => {
                restore(guard.cast::<holdoff_hedge>(), bytes, |bytes, _| Latency::restore(bytes))
            }
            Some(holdoff_limiter::MAGIC) => {
                let parts = pair(limiter::parts(guard.cast()), bytes).map_err(From::from);
                parts.and_then(|((config, state, log), bytes)| {
                    *state = Limiter::restore(bytes, config, log, now)?;
                    Ok(())
                })
            }
            Some(_) => Err(ErrorCode::NotAGuard.into()),
            None => Err(ErrorCode::NullPointer.into()),
        };
        report(problem, restored)
    };
}

/// Writes the state of a guard in the caller's memory.
///
/// # Safety
/// As for [`get`] and [`write_bytes`].
unsafe fn save<M: Memory<Inner = Guard<C, S>>, C: Copy + 'static, S: Copy + 'static, B: AsRef<[u8]>>(
    memory: *const M,
    (bytes, size): (*mut c_char, usize),
    save: impl FnOnce(&S, &C) -> B,
) -> usize {
    // SAFETY: passed on.
    unsafe { write_bytes(bytes, size, get(memory).map(|guard| save(&guard.state, &guard.config))) }
}

/// Restores the state of a guard in the caller's memory.
///
/// # Safety
/// As for [`get_mut`].
unsafe fn restore<M: Memory<Inner = Guard<C, S>>, C: Copy + 'static, S: Copy + 'static>(
    memory: *mut M,
    bytes: Result<&[u8], ErrorCode>,
    restore: impl FnOnce(&[u8], &C) -> Result<S, Error>,
) -> Result<(), holdoff_problem> {
    // SAFETY: passed on.
    let (guard, bytes) = pair(unsafe { get_mut(memory) }, bytes)?;
    guard.state = restore(bytes, &guard.config)?;
    Ok(())
}
