//! Guards: whatever is set, saved, restored and done to calls under them ends, and what calls hold comes back.

#![no_main]

use holdoff_core::{
    Adaptive, Breaker, Budget, Bulkhead, Error, Failure, FailureKind, Field, GuardConfig, GuardedCall, Guards, Options, Hint,
    Latency, Limiter, Policy, Span, Step, Stretch, Ticket, Timestamp, Value,
};
use libfuzzer_sys::fuzz_target;

/// Numbers from the input, zeroes when it is used up.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// Mostly small, sometimes any.
    fn number(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=199 => u64::from(small),
            200..=239 => u64::from(self.byte()) * 50_000_000,
            _ => self.word(),
        }
    }
}

fn configured(source: &mut Source<'_>) -> Options {
    let mut builder = Options::NEW;
    for _ in 0..source.byte() % 32 {
        let names = || Field::names().filter(|known| known.1.is_guards());
        let (name, field) = names().nth(usize::from(source.byte()) % names().count()).unwrap();
        let mut words = field.words();
        let value = match source.byte() % 8 {
            0 => Value::Nanos(source.word()),
            1 => Value::Number { value: f64::from_bits(source.word()), unit: 1.0 },
            2 => Value::Number { value: source.number() as f64 / 8.0, unit: 1e9 },
            3 => Value::Nothing,
            4 => Value::Nanos(source.number().saturating_mul(10_000_000)),
            _ => match words.nth(usize::from(source.byte() % 6)) {
                Some(word) => Value::Text(word),
                None => Value::Number { value: source.number() as f64, unit: 1e6 },
            },
        };
        if let Err(error) = builder.set(name, value) {
            assert!(!error.to_string().is_empty());
        }
    }
    builder
}

/// The state through bytes to another clock, which reads `now`.
fn moved<C: GuardConfig>(config: &C, state: &C::State, then: Timestamp, now: Timestamp) -> Result<C::State, Error> {
    let mut bytes = vec![0; config.saved()];
    config.save(state, &[], then, &mut bytes);
    config.restore(&bytes, &mut [], now)
}

fuzz_target!(|input: &[u8]| {
    let source = &mut Source(input);
    let builder = configured(source);
    if let Err(error) = builder.check_guards() {
        assert!(!error.to_string().is_empty());
    }
    let mut now = source.number();
    let at = Timestamp::from_nanos;
    let budget_config = builder.budget().ok().flatten();
    let breaker_config = builder.breaker().ok().flatten();
    let limiter_config = builder.limiter().ok().flatten().filter(|config| config.words() < 10_000);
    let adaptive_config = builder.adaptive().ok().flatten();
    let bulkhead_config = builder.bulkhead().ok().flatten();
    let stretch_config = builder.stretch().ok().flatten();
    let hedge_config = builder.hedge().ok().flatten();
    let mut budget = budget_config.map(|config| Budget::new(&config, 7, at(now)));
    let mut breaker = breaker_config.map(|config| Breaker::new(&config, 7, at(now)));
    let mut room = vec![0; limiter_config.map_or(0, |config| config.words())];
    let mut limiter = limiter_config.map(|config| Limiter::new(&config, at(now)));
    let mut adaptive = adaptive_config.map(|config| Adaptive::new(&config, at(now)));
    let mut bulkhead = Bulkhead::new();
    let mut places = vec![source.word(); bulkhead_config.map_or(0, |config| config.words())];
    let mut stretch = stretch_config.map(|config| Stretch::new(&config, at(now)));
    let mut latency = Latency::new();
    let policy = Policy::options().attempts(u32::from(source.byte() % 9) + 1).build().unwrap();
    let mut calls: [Option<GuardedCall>; 4] = [None; 4];
    for _ in 0..64 {
        let (what, which) = (source.byte(), usize::from(source.byte()) % 4);
        now = if what & 0x80 == 0 {
            now.saturating_add(source.number().saturating_mul(1_000_000))
        } else {
            source.word()
        };
        if what & 0x7f == 0x7f {
            // Everything through bytes, which some other bytes may have got into.
            let to = source.word();
            if let (Some(config), Some(state)) = (&budget_config, &mut budget) {
                *state = moved(config, state, at(now), at(to)).unwrap();
                let _ = config.restore(source.0, &mut [], at(to));
            }
            if let (Some(config), Some(state)) = (&breaker_config, &mut breaker) {
                *state = moved(config, state, at(now), at(to)).unwrap();
                let _ = config.restore(source.0, &mut [], at(to));
            }
            if let (Some(config), Some(state)) = (&limiter_config, &mut limiter) {
                let mut bytes = vec![0; config.saved()];
                config.save(state, &room, at(now), &mut bytes);
                *state = config.restore(&bytes, &mut room, at(to)).unwrap();
            }
            if let (Some(config), Some(state)) = (&adaptive_config, &mut adaptive) {
                *state = moved(config, state, at(now), at(to)).unwrap();
            }
            if let (Some(config), Some(state)) = (&stretch_config, &mut stretch) {
                *state = moved(config, state, at(now), at(to)).unwrap();
            }
            if let Some(config) = &hedge_config {
                latency = moved(config, &latency, at(now), at(to)).unwrap();
            }
            (bulkhead, calls, now) = (Bulkhead::new(), [None; 4], to);
            continue;
        }
        let guards = &mut Guards {
            budget: budget_config.as_ref().zip(budget.as_mut()),
            breaker: breaker_config.as_ref().zip(breaker.as_mut()),
            limiter: limiter_config
                .as_ref()
                .zip(limiter.as_mut())
                .map(|(config, state)| (config, state, &mut room[..])),
            adaptive: adaptive_config.as_ref().zip(adaptive.as_mut()),
            bulkhead: bulkhead_config.as_ref().map(|config| (config, &mut bulkhead, &mut places[..])),
            stretch: stretch_config.as_ref().zip(stretch.as_mut()),
            hedge: hedge_config.as_ref().map(|config| (config, &mut latency)),
            ..Guards::none()
        };
        let Some(call) = &mut calls[which] else {
            calls[which] = Some(GuardedCall::begin(&policy, guards, source.word(), at(now)).0);
            continue;
        };
        let ticket = Ticket::from_raw(match source.byte() {
            0x80.. => source.word(),
            back => u64::from(call.attempt().saturating_sub(u32::from(back % 8))),
        });
        let step = match what % 6 {
            0 => call.succeed(guards, ticket, at(now)),
            1 | 2 => {
                let kind = FailureKind::from_code(u32::from(source.byte() % 4) + 1).unwrap();
                let hint = if source.byte() % 3 == 0 { Hint::from_raw(source.word()) } else { Hint::NONE };
                call.fail(&policy, guards, ticket, at(now), Failure::new(kind).with_hint(hint))
            }
            3 => call.abandon(guards, ticket, at(now)),
            4 => call.cancel(guards, at(now)),
            _ => call.tick(&policy, guards, at(now)),
        };
        assert!(call.remaining(at(now)) <= Span::MAX);
        if let Step::Stop(_) = step {
            calls[which] = None;
        }
        if bulkhead_config.is_some() {
            let flying: u32 = calls.iter().flatten().map(GuardedCall::flying).sum();
            assert_eq!(bulkhead.running(), flying);
        }
    }
});
