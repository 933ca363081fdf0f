//! Calls that guards let through, and calls that are written down.

use crate::{Path, loops};
use holdoff_core::{
    Breaker, BreakerConfig, Budget, BudgetConfig, FailureKind, Field, GuardedCall, Guards, Limiter, LimiterConfig,
    Options, Recorder, Span, Ticket, Timestamp, Verdict,
};
use std::hint::black_box;

pub(crate) const PATHS: [Path; 11] = [
    Path { work: "breaker, a run", who: "breaker", run: breaker_run },
    Path { work: "breaker, 128 outcomes", who: "breaker", run: breaker_count },
    Path { work: "breaker, 10 s", who: "breaker", run: breaker_time },
    Path { work: "limiter", who: "limiter, gcra", run: limiter },
    Path { work: "budget, a success", who: "budget", run: budget_success },
    Path { work: "budget, a retry", who: "budget", run: budget_retry },
    Path { work: "a success under guards", who: "guarded", run: guarded },
    Path { work: "a success without guards", who: "guarded", run: unguarded },
    Path { work: "a success, written down", who: "recorder", run: recorder },
];

fn now() -> Timestamp {
    black_box(Timestamp::from_nanos(1_000_000_000))
}

/// The breaker of that kind that looks at 128 calls at least, where it looks at more than those in a row.
fn breaker_config(kind: &str) -> BreakerConfig {
    let options = Options::NEW.with_field(Field::BreakerKind, kind).and_then(|options| match kind {
        "count" => options.with_field(Field::BreakerSize, 128)?.with_field(Field::BreakerMinCalls, 128),
        _ => options.with_field(Field::BreakerWindow, "10s")?.with_field(Field::BreakerMinCalls, 128),
    });
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
    through_breaker(&black_box(breaker_config("count")), times);
}

#[inline(never)]
fn breaker_time(times: u32) {
    through_breaker(&black_box(breaker_config("time")), times);
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
fn budget_success(times: u32) {
    let config = budget_config();
    let mut budget = Budget::new(&config, 7, now());
    for _ in 0..times {
        let now = now();
        budget.begin(&config, now);
        if black_box(budget.admit(&config, now)) {
            budget.succeed(&config, now, None);
        }
        budget.end(&config, None);
    }
    black_box(budget);
}

#[inline(never)]
fn budget_retry(times: u32) {
    let config = budget_config();
    let mut budget = Budget::new(&config, 7, now());
    for _ in 0..times {
        let now = now();
        budget.fail(&config, now, FailureKind::Transient);
        let held = black_box(budget.withdraw(&config, now, FailureKind::Transient, budget.refusals()));
        budget.retried(&config);
        budget.succeed(&config, now, held);
    }
    black_box(budget);
}

#[inline(never)]
fn guarded(times: u32) {
    let policy = loops::policy();
    let (budget, limiter) = (budget_config(), limiter_config());
    let breaker = black_box(BreakerConfig::default());
    let mut states = (Budget::new(&budget, 7, now()), Breaker::new(&breaker, 7, now()), Limiter::new(&limiter, now()));
    for _ in 0..times {
        let mut guards = Guards {
            budget: Some((&budget, &mut states.0)),
            breaker: Some((&breaker, &mut states.1)),
            limiter: Some((&limiter, &mut states.2, &mut [])),
            ..Guards::none()
        };
        let (mut call, step) = GuardedCall::begin(&policy, black_box(&mut guards), black_box(7), now());
        black_box(step);
        black_box(call.succeed(black_box(&mut guards), Ticket::FIRST, now()));
    }
}

#[inline(never)]
fn unguarded(times: u32) {
    let policy = loops::policy();
    for _ in 0..times {
        let mut guards = black_box(Guards::none());
        let (mut call, step) = GuardedCall::begin(&policy, &mut guards, black_box(7), now());
        black_box(step);
        black_box(call.succeed(&mut guards, Ticket::FIRST, now()));
    }
}

#[inline(never)]
fn recorder(times: u32) {
    let policy = loops::policy();
    for _ in 0..times {
        let mut guards = black_box(Guards::none());
        let (mut recorder, begun) = Recorder::begin(&policy, &mut guards, black_box(7), now());
        black_box(begun);
        black_box(recorder.succeed(&mut guards, Ticket::FIRST, now()));
    }
}
