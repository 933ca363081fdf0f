//! The cost of the other guards for a call that they let through, each beside the same written by hand for the purpose.
//!
//! Time goes on by a microsecond a call where a guard has to do with it.

use crate::guards::{LIMIT, Slots};
use crate::sample::Work;
use holdoff_core::{
    Adaptive, AdaptiveConfig, Bucket, BucketConfig, Budget, BudgetConfig, Bulkhead, BulkheadConfig, Entry, FailureKind,
    Gate, GateConfig, GateOptions, HedgeConfig, Latency, Limiter, LimiterConfig, Span, Stretch, StretchConfig,
    Timestamp,
};
use std::hint::black_box;
use std::sync::Arc;
use tokio::sync::Semaphore;

pub(super) fn works() -> Vec<Work> {
    vec![bucket(), log(), budget(), bulkhead(), adaptive(), hedge(), stretch(), gate()]
}

/// A clock that goes on by a microsecond when it is asked.
fn clock() -> impl FnMut() -> Timestamp {
    let mut now = 1_000_000_000;
    move || {
        now += 1000;
        black_box(Timestamp::from_nanos(now))
    }
}

/// Tokens by hand.
struct Tokens {
    tokens: f64,
    burst: f64,
    each_nano: f64,
    latest: u64,
}

impl Tokens {
    #[inline(always)]
    fn take(&mut self, now: u64) -> bool {
        let tokens = self.tokens + now.saturating_sub(self.latest) as f64 * self.each_nano;
        let tokens = tokens.min(self.burst) - 1.0;
        if tokens < 0.0 {
            return false;
        }
        (self.tokens, self.latest) = (tokens, now);
        true
    }
}

fn bucket() -> Work {
    let burst = f64::from(u32::MAX);
    let mut floor = black_box(Tokens { tokens: burst, burst, each_nano: 0.5, latest: 0 });
    let config = black_box(BucketConfig::per_second(f64::from(LIMIT / 2), u32::MAX.into()).expect("checked numbers"));
    let mut bucket = Bucket::full(&config, Timestamp::ZERO);
    let (mut one, mut two) = (clock(), clock());
    Work::new("bucket")
        .by("floor", move || black_box(&mut floor).take(one().as_nanos()))
        .by("bucket", move || black_box(&mut bucket).reserve(black_box(&config), 1, two()))
}

/// The times of the last thousand calls: five hundred of them lie within the window.
fn log() -> Work {
    const LIMIT: usize = 1000;
    let window = black_box(500_000_u64);
    let (mut times, mut head, mut held) = (vec![0_u64; LIMIT], 0, 0);
    let config = LimiterConfig::log(LIMIT as u32, Span::from_nanos(window));
    let config = black_box(config.expect("checked numbers"));
    let (mut limiter, mut room) = (Limiter::new(&config, Timestamp::ZERO), vec![0; config.words()]);
    let (mut one, mut two) = (clock(), clock());
    Work::new("limiter, log")
        .by("floor", move || {
            let now = one().as_nanos();
            while held > 0 && times[head] + window <= now {
                head = (head + 1) % LIMIT;
                held -= 1;
            }
            if held == LIMIT {
                return false;
            }
            times[(head + held) % LIMIT] = now;
            held += 1;
            true
        })
        .by("log", move || black_box(&mut limiter).take(black_box(&config), &mut room, 1, two()))
}

/// A call that retries once and succeeds. By hand: five tokens are taken and given back.
fn budget() -> Work {
    let (mut tokens, most, cost) = (black_box(500_000_u64), black_box(500_000_u64), black_box(5000_u64));
    let second = Span::from_secs(1);
    let kinds = [
        ("token", BudgetConfig::token(500, [5, 10, 5], 1.0, 0.0)),
        ("throttle", BudgetConfig::throttle(1000, 1.0)),
        ("ratio", BudgetConfig::ratio(2.0, second, 1000.0)),
        ("share", BudgetConfig::share(0.2, 3)),
        ("requests", BudgetConfig::requests(4.0, second)),
        ("window", BudgetConfig::window(u32::MAX, second)),
    ];
    let work = Work::new("budget, a retry").by("floor", move || {
        let tokens = black_box(&mut tokens);
        *tokens = tokens.checked_sub(cost)?;
        let tokens = black_box(tokens);
        *tokens = (*tokens + cost).min(most);
        Some(*tokens)
    });
    kinds.into_iter().fold(work, |work, (name, config)| {
        let config = black_box(config.expect("checked numbers"));
        let (mut budget, mut clock) = (Budget::new(&config, black_box(7), Timestamp::ZERO), clock());
        work.by(name, move || {
            let (budget, config, now) = (black_box(&mut budget), black_box(&config), clock());
            budget.begin(config, now);
            let first = budget.admit(config, now);
            budget.fail(config, now, FailureKind::Transient);
            let held = budget.withdraw(config, now, FailureKind::Transient, budget.refusals());
            let second = budget.admit(config, now);
            budget.succeed(config, now, held);
            budget.end(config, held);
            (first, held, second)
        })
    })
}

/// In and out again.
fn bulkhead() -> Work {
    let (mut running, limit) = (0_u32, black_box(10_u32));
    let config = black_box(BulkheadConfig::new(10, 16, Span::from_secs(1)).expect("checked numbers"));
    let (mut bulkhead, semaphore) = (Bulkhead::new(), Arc::new(Semaphore::new(10)));
    Work::new("bulkhead")
        .by("floor", move || {
            let running = black_box(&mut running);
            if *running >= limit {
                return false;
            }
            *running += 1;
            *black_box(running) -= 1;
            true
        })
        .by("bulkhead", move || {
            let bulkhead = black_box(&mut bulkhead);
            let entry = bulkhead.enter(black_box(&config), &mut []);
            if entry == Entry::Entered {
                black_box(bulkhead).leave();
            }
            entry
        })
        .by("tokio semaphore", move || black_box(semaphore.try_acquire()).is_ok())
}

/// A token for the attempt, and the rate moved by its answer. By hand: additive increase.
fn adaptive() -> Work {
    let mut floor = black_box(Tokens { tokens: 1000.0, burst: 1000.0, each_nano: 1e-6, latest: 0 });
    let (mut rate, most, increase) = (10.0, black_box(1e9), black_box(1.0));
    let mut one = clock();
    let work = Work::new("adaptive").by("floor", move || {
        let now = one().as_nanos();
        let taken = black_box(&mut floor).take(now);
        rate = f64::min(rate + increase, most);
        (floor.burst, floor.each_nano) = (rate, rate * 1e-9);
        taken
    });
    let aimd = AdaptiveConfig::aimd(0.5, 1.0, 0.5, 1e9, 1e9);
    [("aimd", aimd), ("cubic", Ok(AdaptiveConfig::default()))].into_iter().fold(work, |work, (name, config)| {
        let config = black_box(config.expect("checked numbers"));
        let (mut adaptive, mut clock) = (Adaptive::new(&config, Timestamp::ZERO), clock());
        work.by(name, move || {
            let (adaptive, config, now) = (black_box(&mut adaptive), black_box(&config), clock());
            let taken = adaptive.take(config, 1.0, now);
            adaptive.update(config, now, false);
            taken
        })
    })
}

/// The time of an attempt recorded, and when the next one would start beside another.
fn hedge() -> Work {
    let (mut estimate, share, step) = (1e6, black_box(0.95), black_box(0.05));
    let config = black_box(HedgeConfig::new(Span::from_millis(100), Some(0.95), 2).expect("checked numbers"));
    let (mut latency, mut one, mut two) = (Latency::new(), times(), times());
    Work::new("hedge")
        .by("floor", move || {
            let (took, estimate) = (one() as f64, black_box(&mut estimate));
            *estimate += *estimate * step * if took > *estimate { share } else { share - 1.0 };
            *estimate as u64
        })
        .by("latency", move || {
            let (latency, config) = (black_box(&mut latency), black_box(&config));
            latency.record(Span::from_nanos(two()), 0.95);
            config.delay(latency)
        })
}

/// Times of attempts around a millisecond.
fn times() -> impl FnMut() -> u64 {
    let mut delays = crate::timers::Delays::default();
    move || 500_000 + (black_box(delays.bits()) >> 44)
}

/// One attempt of two fails.
fn stretch() -> Work {
    let (slot, factor) = (black_box(100_000_000_u64), black_box(3.0));
    let mut slots = Slots::new();
    let config = black_box(StretchConfig::new(3.0, Span::from_secs(1), 20).expect("checked numbers"));
    let mut stretch = Stretch::new(&config, Timestamp::ZERO);
    let (mut one, mut two) = (clock(), clock());
    let delay = black_box(100_000_000_u64);
    Work::new("stretch")
        .by("floor", move || {
            let (slots, now) = (black_box(&mut slots), one().as_nanos());
            slots.record(now, slot, (now / 1000).is_multiple_of(2));
            let share = slots.share();
            (delay as f64 * (1.0 + (factor - 1.0) * share)) as u64
        })
        .by("stretch", move || {
            let (stretch, config, now) = (black_box(&mut stretch), black_box(&config), two());
            stretch.record(config, now, (now.as_nanos() / 1000).is_multiple_of(2));
            stretch.stretch(config, now, Span::from_nanos(delay))
        })
}

/// A failure, a look, and a success.
fn gate() -> Work {
    #[derive(Clone, Copy)]
    struct Closed {
        failures: u32,
        until: u64,
    }
    let (initial, most) = (black_box(1_000_000_000_u64), black_box(300_000_000_000_u64));
    let mut floor = Closed { failures: 0, until: 0 };
    let kubernetes = GateConfig::item_exponential(Span::from_millis(5), Span::from_secs(1000));
    let (mut one, mut work) = (clock(), Work::new("gate"));
    work = work.by("floor", move || {
        let (floor, now) = (black_box(&mut floor), one().as_nanos());
        let delay = (initial << floor.failures.min(20)).min(most);
        *floor = Closed { failures: floor.failures + 1, until: floor.until.max(now + delay) };
        let open = now >= black_box(&mut *floor).until;
        floor.failures -= 1;
        open
    });
    let ours = [("gate", GateOptions::default().build().expect("checked numbers")), ("gate, kubernetes", kubernetes)];
    ours.into_iter().fold(work, |work, (name, config)| {
        let (config, mut gate, mut clock) = (black_box(config), Gate::new(), clock());
        work.by(name, move || {
            let (gate, config, now) = (black_box(&mut gate), black_box(&config), clock());
            let delay = gate.failure(config, now, 0.0);
            let open = black_box(&mut *gate).is_open(now);
            gate.success(config, now);
            (delay, open)
        })
    })
}
