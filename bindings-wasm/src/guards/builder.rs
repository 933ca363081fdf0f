//! Configurations: from the fields of a document, set one by one, to the words of each guard.

use super::{ADAPTIVE, BREAKER, BUDGET, BULKHEAD, HEDGE, LIMITER, Memory, STRETCH, with};
use holdoff_core::{
    Adaptive, Breaker, Budget, Bulkhead, Error, Latency, Limiter, Nesting, Options, Preset, Stretch, Value,
};

/// Nanoseconds in one unit of a plain number: JavaScript counts milliseconds.
const MILLISECOND: f64 = 1e6;

/// `builder` := no guards.
#[unsafe(no_mangle)]
extern "C" fn guards_start() {
    with(|memory| memory.builder = Options::NEW);
}

/// Sets a field of `builder`: its name, then its value, which is `kind` 0 none of the others, 1 the text, 2 the number in
/// slot 0, 3 not given, 4 an object without fields, 5 the number in slot 0 in a document, which has no unit, 6 a list
/// without items. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn guards_set(name: u32, kind: u32, value: u32) -> u32 {
    with(|memory| {
        let number = memory.real(0);
        let value = match kind {
            1 => Value::Text(memory.text.get(value)),
            2 => Value::Number { value: number, unit: MILLISECOND },
            3 => Value::Nothing,
            4 => Value::Empty,
            5 => Value::Number { value: number, unit: f64::NAN },
            6 => Value::NoItems,
            _ => Value::Other,
        };
        match memory.builder.set_field(memory.name.get(name), value) {
            Ok(()) => 0,
            Err(error) => memory.explain(&error),
        }
    })
}

/// `builder` := the same, and the guards of the preset with that name where it has none of its own.
#[unsafe(no_mangle)]
extern "C" fn guards_upon(name: u32) {
    with(|memory| {
        let preset = Preset::from_name(memory.name.get(name));
        memory.builder = preset.map_or(memory.builder, |preset| memory.builder.preset(preset).guards());
    });
}

/// The configurations of `builder`, where there are some. Which guards there are into slot 0; how it nests into slots 1 and
/// 2, 0 allow, 1 innermost, 2 outermost, 3 cap and its number, 4 not said. 0, or the length of what is wrong.
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
