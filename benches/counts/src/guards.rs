//! Calls that guards let through, and calls that are written down.

use crate::{Path, loops};
use holdoff_core::{
    Breaker, BreakerConfig, BreakerOptions, Budget, BudgetConfig, BudgetKind, FailureKind, Gcra, GcraConfig,
    GuardedCall, Guards, Limiter, LimiterConfig, LimiterKind, Recorder, Refusal, SharedGcra, Span, Ticket, Timestamp,
    Trip, Verdict,
};
use std::hint::black_box;

pub(crate) const PATHS: [Path; 11] = [
    Path { work: "breaker, a run", who: "breaker", run: breaker_run },
    Path { work: "breaker, 128 outcomes", who: "breaker", run: breaker_count },
    Path { work: "breaker, 10 s", who: "breaker", run: breaker_time },
    Path { work: "limiter", who: "gcra", run: gcra },
    Path { work: "limiter", who: "limiter, gcra", run: limiter },
    Path { work: "limiter, atomic", who: "shared gcra", run: shared_gcra },
    Path { work: "budget, a success", who: "budget", run: budget_success },
    Path { work: "budget, a retry", who: "budget", run: budget_retry },
    Path { work: "a success under guards", who: "guarded", run: guarded },
    Path { work: "a success without guards", who: "guarded", run: unguarded },
    Path { work: "a success, written down", who: "recorder", run: recorder },
];

fn now() -> Timestamp {
    black_box(Timestamp::from_nanos(1_000_000_000))
}

fn breaker_config(trip: Trip) -> BreakerConfig {
    black_box(BreakerOptions { trip, ..BreakerOptions::default() }.build().expect("checked numbers"))
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
    through_breaker(&breaker_config(Trip::Consecutive { failures: 5 }), times);
}

#[inline(never)]
fn breaker_count(times: u32) {
    let trip = Trip::Count { size: 128, min_calls: 128, failure_rate: 0.5, slow_rate: None };
    through_breaker(&breaker_config(trip), times);
}

#[inline(never)]
fn breaker_time(times: u32) {
    let window = Span::from_secs(10);
    let trip = Trip::Time { window, slots: 10, min_calls: 128, failure_rate: 0.5, slow_rate: None };
    through_breaker(&breaker_config(trip), times);
}

/// Calls a second, so many that the burst is never used up.
const LIMIT: u32 = 1_000_000_000;

fn gcra_config() -> GcraConfig {
    black_box(GcraConfig::new(LIMIT, Span::from_secs(1), u32::MAX).expect("checked numbers"))
}

fn limiter_config() -> LimiterConfig {
    let kind = LimiterKind::Gcra { limit: LIMIT, per: Span::from_secs(1), burst: u32::MAX };
    black_box(LimiterConfig::new(kind, Refusal::Stop).expect("checked numbers"))
}

#[inline(never)]
fn gcra(times: u32) {
    let (config, mut gcra) = (gcra_config(), Gcra::new());
    for _ in 0..times {
        let _ = black_box(gcra.take(&config, 1, now()));
    }
}

#[inline(never)]
fn limiter(times: u32) {
    let config = limiter_config();
    let mut limiter = Limiter::new(&config, now());
    for _ in 0..times {
        let _ = black_box(limiter.take(&config, &mut [], 1, now()));
    }
}

#[inline(never)]
fn shared_gcra(times: u32) {
    let (config, shared) = (gcra_config(), SharedGcra::default());
    for _ in 0..times {
        let _ = black_box(shared.take(&config, 1, now()));
    }
}

fn budget_config() -> BudgetConfig {
    let (capacity, reward, refill) = (500, 1.0, 0.0);
    let kind = BudgetKind::Token { capacity, cost: 5, timeout_cost: 10, throttled_cost: 5, reward, refill };
    black_box(BudgetConfig::new(kind).expect("checked numbers"))
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
        let held = black_box(budget.withdraw(&config, now, FailureKind::Transient));
        budget.retried(&config);
        budget.succeed(&config, now, held);
    }
    black_box(budget);
}

#[inline(never)]
fn guarded(times: u32) {
    let policy = loops::policy();
    let (budget, limiter) = (budget_config(), limiter_config());
    let breaker = breaker_config(Trip::Consecutive { failures: 5 });
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
