//! Configurations: from the numbers of their fields, which JavaScript has read, to the words of each guard.

use super::{ADAPTIVE, BREAKER, BUDGET, BULKHEAD, HEDGE, LIMITER, Memory, STRETCH, with};
use holdoff_core::{Adaptive, Breaker, Budget, Bulkhead, Error, Latency, Limiter, Nesting, Stretch};

/// The configurations of `builder`, where there are some. Which guards there are into slot 0; how it nests into slots 1 and
/// 2, 0 allow, 1 innermost, 2 outermost, 3 cap and its number, 4 not said. 0, or the number of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn guards_build() -> u32 {
    with(|memory| match build(memory) {
        Ok(()) => 0,
        Err(error) => memory.explain(&error),
    })
}

fn build(memory: &mut Memory) -> Result<(), Error> {
    let builder = memory.builder;
    let mut guards = 0;
    macro_rules! take {
        ($($guard:ident: $config:ident = $make:ident;)*) => {
            $(if let Some(config) = builder.$make()? {
                memory.$config = config;
                guards |= $guard;
            })*
        };
    }
    take! {
        BUDGET: budget_config = budget;
    }
    if let Some(config) = builder.breaker()? {
        memory.breaker().config = config;
        guards |= BREAKER;
    }
    take! {
        LIMITER: limiter_config = limiter;
        BULKHEAD: bulkhead_config = bulkhead;
        ADAPTIVE: adaptive_config = adaptive;
        STRETCH: stretch_config = stretch;
        HEDGE: hedge_config = hedge;
    }
    let (mode, cap) = match builder.nested()? {
        Some(Nesting::Allow) => (0, 0),
        Some(Nesting::Innermost) => (1, 0),
        Some(Nesting::Outermost) => (2, 0),
        Some(Nesting::Cap(cap)) => (3, cap),
        None => (4, 0),
    };
    memory.leave(0, guards.into());
    memory.leave(1, mode);
    memory.leave(2, cap.into());
    let room = if guards & LIMITER == 0 { 0 } else { memory.limiter_config.log_capacity() };
    memory.leave(3, room as u64);
    Ok(())
}

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
