//! The state of a guard as bytes that last.

use crate::*;
use core::ffi::c_void;

numbers! {
    /// The number of bytes of a saved adaptive rate.
    HOLDOFF_SAVED_ADAPTIVE: usize = 84 is Adaptive::SAVED;
    /// The number of bytes of a saved breaker.
    HOLDOFF_SAVED_BREAKER: usize = 216 is Breaker::SAVED;
    /// The number of bytes of a saved budget.
    HOLDOFF_SAVED_BUDGET: usize = 144 is Budget::SAVED;
    /// The number of bytes of the saved latency of a hedge.
    HOLDOFF_SAVED_HEDGE: usize = 32 is Latency::SAVED;
    /// The number of bytes of a saved stretch.
    HOLDOFF_SAVED_STRETCH: usize = 160 is Stretch::SAVED;
}

/// Does with a guard what its magic word asks for: with a hedge, with a limiter, with any other guard, whose type is then
/// `State`, and with memory that holds none.
macro_rules! by_guard {
    ($guard:ident; Other => $other:expr, Hedge => $hedge:expr, Limiter => $limiter:expr, None => $none:expr) => {
        match read($guard.cast::<u64>()) {
            holdoff_budget::MAGIC => by_guard!($guard: holdoff_budget; Budget => $other),
            holdoff_breaker::MAGIC => by_guard!($guard: holdoff_breaker; Breaker => $other),
            holdoff_adaptive::MAGIC => by_guard!($guard: holdoff_adaptive; Adaptive => $other),
            holdoff_stretch::MAGIC => by_guard!($guard: holdoff_stretch; Stretch => $other),
            holdoff_hedge::MAGIC => by_guard!($guard: holdoff_hedge; Latency => $hedge),
            holdoff_limiter::MAGIC => by_guard!($guard: holdoff_limiter; Limiter => $limiter),
            _ => $none,
        }
    };
    ($guard:ident: $memory:ident; $state:ident => $then:expr) => {{
        #[allow(dead_code, reason = "a state is named only where it is made")]
        type State = $state;
        let $guard = $guard.cast::<$memory>();
        $then
    }};
}

extern_c! {
    /// Writes the state of a guard at `now` to `bytes`, which has room for `size`: the same bytes as in every language.
    /// `guard` points to a holdoff_budget, holdoff_breaker, holdoff_adaptive, holdoff_stretch or holdoff_hedge, which has
    /// as many as its HOLDOFF_SAVED_ number, or to a holdoff_limiter, which has as many as holdoff_limiter_saved says. A
    /// state holds nothing of the calls in flight.
    ///
    /// Returns how many bytes there are; 0 when they do not fit, and for memory without one of these guards.
    fn holdoff_guard_save(guard: *const c_void, now, bytes: *mut c_char, size) -> usize =
        by_guard!(guard;
            Other => get(guard).map_or(0, |Guard { config, state, .. }| write_bytes(bytes, size, &state.save(config, now))),
            Hedge => get(guard).map_or(0, |hedge| write_bytes(bytes, size, &hedge.state.save())),
            Limiter => get_mut(guard.cast_mut()).map(Guard::parts).ok()
                .and_then(|(config, state, log)| state.save(config, log, now, buffer(bytes, size))).unwrap_or(0),
            None => 0);

    /// Replaces the state of a guard by a saved one, on a clock that reads `now`. The configuration of the guard may differ
    /// from that of the saved one, but not its kind, nor the limit of a limiter of the kind "log".
    ///
    /// Returns 0; or HOLDOFF_ERROR_GUARD_CONFIG, HOLDOFF_ERROR_STATE_DAMAGED or another HOLDOFF_ERROR_ number and leaves
    /// the guard as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    report holdoff_guard_restore(guard: *mut c_void, bytes: *const c_char, length, now) = {
        let bytes = slice(bytes, length);
        by_guard!(guard;
            Other => {
                let (config, state) = get_mut(guard)?.pair();
                *state = State::restore(bytes?, config, now)?;
            },
            Hedge => get_mut(guard)?.state = Latency::restore(bytes?)?,
            Limiter => {
                let (config, state, log) = get_mut(guard)?.parts();
                *state = Limiter::restore(bytes?, config, log, now)?;
            },
            None => return Err(guard.as_ref().map_or(ErrorCode::NullPointer, |_| ErrorCode::NotAGuard).into()));
    };
}
