//! Calls that guards let through.

use crate::{Path, loops};
use holdoff_core::{
    Breaker, BreakerConfig, Budget, BudgetConfig, Field, GuardedCall, Guards, Limiter, LimiterConfig, Options, Span,
    Ticket, Timestamp, Verdict,
};
use std::hint::black_box;

pub(crate) const PATHS: [Path; 4] = [
    Path { work: "breaker, a run", who: "breaker", run: breaker_run },
    Path { work: "breaker, 128 outcomes", who: "breaker", run: breaker_count },
    Path { work: "limiter", who: "limiter, gcra", run: limiter },
    Path { work: "guarded loop, 0 failures", who: "guarded, breaker and budget", run: guarded },
];

fn now() -> Timestamp {
    black_box(Timestamp::from_nanos(1_000_000_000))
}

/// The breaker that looks at 128 calls.
fn counting() -> BreakerConfig {
    let options = Options::NEW.with_field(Field::BreakerKind, "count");
    let options = options
        .and_then(|options| options.with_field(Field::BreakerSize, 128)?.with_field(Field::BreakerMinCalls, 128));
    options.and_then(|options| options.breaker()).ok().flatten().expect("checked numbers")
}

#[inline(always)]
fn through_breaker(config: &BreakerConfig, times: u32) {
    let mut breaker = Breaker::new(config, 7, now());
    for _ in 0..times {
        let now = now();
        if let Ok(permit) = breaker.acquire(config, now) {
            breaker.record(config, permit, now, black_box(Verdict::Success), Span::ZERO);
        }
    }
    black_box(breaker);
}

#[inline(never)]
fn breaker_run(times: u32) {
    through_breaker(&black_box(BreakerConfig::default()), times);
}

#[inline(never)]
fn breaker_count(times: u32) {
    through_breaker(&black_box(counting()), times);
}

/// Calls a second, so many that the burst is never used up.
const LIMIT: u32 = 1_000_000_000;

fn limiter_config() -> LimiterConfig {
    black_box(LimiterConfig::gcra(LIMIT, Span::from_secs(1), u32::MAX).expect("checked numbers"))
}

#[inline(never)]
fn limiter(times: u32) {
    let config = limiter_config();
    let mut limiter = Limiter::new(&config, now());
    for _ in 0..times {
        let _ = black_box(limiter.take(&config, &mut [], 1, now()));
    }
}

fn budget_config() -> BudgetConfig {
    black_box(BudgetConfig::token(500, [5, 10, 5], 1.0, 0.0).expect("checked numbers"))
}

#[inline(never)]
fn guarded(times: u32) {
    let policy = loops::policy();
    let (budget, breaker) = (budget_config(), black_box(BreakerConfig::default()));
    let mut states = (Budget::new(&budget, 7, now()), Breaker::new(&breaker, 7, now()));
    for _ in 0..times {
        let mut guards = Guards {
            budget: Some((&budget, &mut states.0)),
            breaker: Some((&breaker, &mut states.1)),
            ..Guards::none()
        };
        let (mut call, step) = GuardedCall::begin(&policy, black_box(&mut guards), black_box(7), now());
        black_box(step);
        black_box(call.succeed(black_box(&mut guards), Ticket::FIRST, now()));
    }
}
