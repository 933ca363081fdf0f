//! The whole loop under guards that let everything through.
//!
//! By hand it is a breaker that counts a run and an even limiter, as in the two guards of `guarded`.

use super::seed::seed;
use crate::floor::{Floor, Numbers};
use crate::guards::{self, Even, Run};
use crate::loops::{self, NoTime, operation};
use crate::peers::{backon, failsafe};
use crate::sample::Work;
use holdoff::SharedGuards;
use holdoff_core::{
    Adaptive, AdaptiveConfig, Breaker, BreakerConfig, Budget, BudgetConfig, Bulkhead, BulkheadConfig, Failure,
    GuardedCall, Guards, HedgeConfig, Latency, Limiter, LimiterConfig, Policy, Span, Step, Stretch, StretchConfig,
    Timestamp,
};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    [0, 1, 3].map(work).into()
}

/// Every guard, with numbers that refuse nobody.
struct All {
    budget: (BudgetConfig, Budget),
    breaker: (BreakerConfig, Breaker),
    limiter: (LimiterConfig, Limiter),
    adaptive: (AdaptiveConfig, Adaptive),
    bulkhead: (BulkheadConfig, Bulkhead),
    stretch: (StretchConfig, Stretch),
    hedge: (HedgeConfig, Latency),
}

fn budget() -> BudgetConfig {
    BudgetConfig::share(1.0, 10).expect("checked numbers")
}

fn breaker() -> BreakerConfig {
    guards::consecutive()
}

fn limiter() -> LimiterConfig {
    LimiterConfig::gcra(guards::LIMIT, Span::from_secs(1), u32::MAX).expect("checked numbers")
}

impl All {
    fn new() -> Self {
        let now = Timestamp::ZERO;
        let (budget, breaker, limiter) = (budget(), breaker(), limiter());
        let adaptive = AdaptiveConfig::default();
        let bulkhead = BulkheadConfig::new(10, 0, Span::ZERO).expect("checked numbers");
        let stretch = StretchConfig::new(3.0, Span::from_secs(10), 20).expect("checked numbers");
        let hedge = HedgeConfig::new(Span::from_secs(60), Some(0.99), 2).expect("checked numbers");
        black_box(Self {
            budget: (budget, Budget::new(&budget, 7, now)),
            breaker: (breaker, Breaker::new(&breaker, 7, now)),
            limiter: (limiter, Limiter::new(&limiter, now)),
            adaptive: (adaptive, Adaptive::new(&adaptive, now)),
            bulkhead: (bulkhead, Bulkhead::new()),
            stretch: (stretch, Stretch::new(&stretch, now)),
            hedge: (hedge, Latency::new()),
        })
    }

    /// The breaker and the limiter.
    #[inline(always)]
    fn two(&mut self) -> Guards<'_> {
        Guards {
            breaker: Some((&self.breaker.0, &mut self.breaker.1)),
            limiter: Some((&self.limiter.0, &mut self.limiter.1, &mut [])),
            ..Guards::none()
        }
    }

    /// The breaker and the budget.
    #[inline(always)]
    fn breaker_and_budget(&mut self) -> Guards<'_> {
        Guards {
            budget: Some((&self.budget.0, &mut self.budget.1)),
            breaker: Some((&self.breaker.0, &mut self.breaker.1)),
            ..Guards::none()
        }
    }

    #[inline(always)]
    fn all(&mut self) -> Guards<'_> {
        Guards {
            budget: Some((&self.budget.0, &mut self.budget.1)),
            breaker: Some((&self.breaker.0, &mut self.breaker.1)),
            limiter: Some((&self.limiter.0, &mut self.limiter.1, &mut [])),
            adaptive: Some((&self.adaptive.0, &mut self.adaptive.1)),
            bulkhead: Some((&self.bulkhead.0, &mut self.bulkhead.1, &mut [])),
            stretch: Some((&self.stretch.0, &mut self.stretch.1)),
            hedge: Some((&self.hedge.0, &mut self.hedge.1)),
            ..Guards::none()
        }
    }
}

fn work(failures: u32) -> Work {
    let (policy, numbers, fails) =
        (black_box(loops::policy()), black_box(loops::numbers()), move || black_box(failures));
    let (mut run, mut even) = (black_box(Run::new(5)), black_box(Even::new()));
    let (mut two, mut both, mut all) = (All::new(), All::new(), All::new());
    let (peer, settings) = (failsafe::consecutive(), backon::settings());
    let budgeted = SharedGuards::new().with(breaker()).with(budget());
    let set = SharedGuards::new().with(breaker()).with(limiter());
    Work::new(format!("guarded loop, {failures} failures"))
        .by("floor", move || by_hand(black_box(&numbers), black_box(&mut run), black_box(&mut even), fails(), seed()))
        .by("bare", move || loops::bare(fails()))
        .by("guarded, none", move || by_guarded(black_box(&policy), &mut Guards::none(), fails(), seed()))
        .by("guarded", move || by_guarded(black_box(&policy), &mut black_box(&mut two).two(), fails(), seed()))
        .by("guarded, breaker and budget", move || {
            by_guarded(black_box(&policy), &mut black_box(&mut both).breaker_and_budget(), fails(), seed())
        })
        .by("guarded, all", move || by_guarded(black_box(&policy), &mut black_box(&mut all).all(), fails(), seed()))
        .by("failsafe, backon", move || failsafe::call_by_backon(&peer, black_box(&settings), fails(), seed()))
        .by("holdoff", move || by_holdoff(black_box(&policy), black_box(&set), fails(), seed()))
        .by("holdoff, breaker and budget", move || {
            by_holdoff(black_box(&policy), black_box(&budgeted), fails(), seed())
        })
}

#[inline(always)]
fn by_hand(
    numbers: &Numbers,
    run: &mut Run,
    even: &mut Even,
    mut failures: u32,
    seed: u64,
) -> Option<Result<u32, u32>> {
    let (mut floor, mut now) = (Floor::<true>::new(numbers, seed), black_box(0));
    loop {
        if !run.is_closed(now) || !even.take(now) {
            return None;
        }
        let result = operation(&mut failures);
        run.record(result.is_ok(), now);
        if result.is_ok() {
            return Some(result);
        }
        match floor.delay() {
            Some(delay) => now += black_box(delay),
            None => return Some(result),
        }
    }
}

#[inline(always)]
fn by_guarded(policy: &Policy, guards: &mut Guards<'_>, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let mut now = black_box(Timestamp::ZERO);
    let (mut call, mut step) = GuardedCall::begin(policy, guards, seed, now);
    let mut last = 0;
    loop {
        step = match step {
            Step::Attempt { ticket, .. } => match operation(&mut failures) {
                Ok(value) => {
                    black_box(call.succeed(guards, ticket, now));
                    return Ok(value);
                }
                Err(error) => {
                    last = error;
                    call.fail(policy, guards, ticket, now, Failure::TRANSIENT)
                }
            },
            Step::Sleep { until, .. } => {
                now = black_box(until);
                call.tick(policy, guards, now)
            }
            Step::Wait { .. } | Step::Stop(_) => return Err(last),
        };
    }
}

/// The crate's own loop, its guards shared with other threads.
#[inline(always)]
fn by_holdoff(policy: &Policy, set: &SharedGuards, mut failures: u32, seed: u64) -> Result<u32, u32> {
    let retrying = holdoff::retry(policy, || operation(&mut failures)).seed(seed).sleeper(NoTime);
    retrying.guards(set).call().map_err(|stopped| stopped.into_error().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guards_let_everything_through() {
        let (policy, mut all) = (loops::policy(), All::new());
        let set = SharedGuards::new().with(breaker()).with(limiter());
        let (mut run, mut even) = (Run::new(5), Even::new());
        for _ in 0..10_000 {
            assert_eq!(by_guarded(&policy, &mut all.all(), 3, 7), Ok(0));
            assert_eq!(by_holdoff(&policy, &set, 3, 7), Ok(0));
            assert_eq!(by_hand(&loops::numbers(), &mut run, &mut even, 3, 7), Some(Ok(0)));
        }
    }
}
