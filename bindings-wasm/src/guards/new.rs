//! New states of guards.

use super::{ADAPTIVE, BREAKER, BUDGET, BULKHEAD, HEDGE, LIMITER, STRETCH, with};
use holdoff_core::{Adaptive, Breaker, Budget, Bulkhead, Latency, Limiter, Stretch};

/// New states of those guards at the time in slot 0, with the seed in slot 1.
#[unsafe(no_mangle)]
extern "C" fn guards_new(guards: u32) {
    with(|memory| {
        let (now, seed) = (memory.time(0), memory.arg(1));
        let is = |guard: u32| guards & guard != 0;
        if is(BUDGET) {
            memory.budget = Budget::new(&memory.budget_config, seed, now);
        }
        if is(BREAKER) {
            let slot = memory.breaker();
            slot.breaker = Breaker::new(&slot.config, seed, now);
        }
        if is(LIMITER) {
            memory.limiter = Limiter::new(&memory.limiter_config, now);
        }
        if is(BULKHEAD) {
            memory.bulkhead = Bulkhead::new();
        }
        if is(ADAPTIVE) {
            memory.adaptive = Adaptive::new(&memory.adaptive_config, now);
        }
        if is(STRETCH) {
            memory.stretch = Stretch::new(&memory.stretch_config, now);
        }
        if is(HEDGE) {
            memory.hedge = Latency::new();
        }
    });
}
