//! The state of a guard as bytes that last.

use crate::*;
use core::ffi::c_void;

numbers! {
    /// The number of bytes of a saved adaptive rate.
    HOLDOFF_SAVED_ADAPTIVE: usize = 84 is AdaptiveConfig::SAVED;
    /// The number of bytes of a saved breaker.
    HOLDOFF_SAVED_BREAKER: usize = 216 is BreakerConfig::SAVED;
    /// The number of bytes of a saved budget.
    HOLDOFF_SAVED_BUDGET: usize = 144 is BudgetConfig::SAVED;
    /// The number of bytes of the saved latency of a hedge.
    HOLDOFF_SAVED_HEDGE: usize = 32 is HedgeConfig::SAVED;
    /// The number of bytes of a saved stretch.
    HOLDOFF_SAVED_STRETCH: usize = 160 is StretchConfig::SAVED;
}

/// Writes the state of the guard; 0 for a guard that is not saved.
unsafe fn save<C: StoredGuard, M: Memory<Inner = Guard<C>>>(guard: *mut M, now: Timestamp, out: &mut [u8]) -> usize {
    // SAFETY: passed on.
    let Ok((config, state, words)) = (unsafe { get_mut(guard) }).map(Guard::parts) else { return 0 };
    let length = config.saved();
    out.get_mut(..length).map_or(0, |out| {
        config.save(state, words, now, out);
        length
    })
}

/// Replaces the state of the guard.
unsafe fn restore<C: StoredGuard, M: Memory<Inner = Guard<C>>>(
    guard: *mut M,
    now: Timestamp,
    bytes: Result<&[u8], ErrorCode>,
) -> Result<(), holdoff_problem> {
    // SAFETY: passed on.
    let (config, state, words) = unsafe { get_mut(guard) }?.parts();
    if config.saved() == 0 {
        return Err(ErrorCode::NotAGuard.into());
    }
    *state = config.restore(bytes?, words, now)?;
    Ok(())
}

extern_c! {
    /// Writes the state of a guard at `now` to `bytes`, which has room for `size`: the same bytes as in every language.
    /// `guard` points to a holdoff_budget, holdoff_breaker, holdoff_adaptive, holdoff_stretch or holdoff_hedge, which has
    /// as many as its HOLDOFF_SAVED_ number, or to a holdoff_limiter, which has as many as holdoff_limiter_saved says. A
    /// state holds nothing of the calls in flight.
    ///
    /// Returns how many bytes there are; 0 when they do not fit, and for memory without one of these guards.
    fn holdoff_guard_save(guard: *const c_void, now, bytes: *mut c_char, size) -> usize = {
        macro_rules! save {
            ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
                match read(guard.cast::<u64>()) {
                    $($memory::MAGIC => save(guard.cast_mut().cast::<$memory>(), now, buffer(bytes, size)),)*
                    _ => 0,
                }
            };
        }
        each_guard!(save)
    };

    /// Replaces the state of a guard by a saved one, on a clock that reads `now`. The configuration of the guard may differ
    /// from that of the saved one, but not its kind, nor the limit of a limiter of the kind "log".
    ///
    /// Returns 0; or HOLDOFF_ERROR_GUARD_CONFIG, HOLDOFF_ERROR_STATE_DAMAGED or another HOLDOFF_ERROR_ number and leaves
    /// the guard as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    report holdoff_guard_restore(guard: *mut c_void, bytes: *const c_char, length, now) = {
        let bytes = slice(bytes, length);
        macro_rules! restore {
            ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
                match read(guard.cast::<u64>()) {
                    $($memory::MAGIC => restore(guard.cast::<$memory>(), now, bytes)?,)*
                    _ => return Err(guard.as_ref().map_or(ErrorCode::NullPointer, |_| ErrorCode::NotAGuard).into()),
                }
            };
        }
        each_guard!(restore)
    };
}
