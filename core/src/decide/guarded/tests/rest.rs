//! What a store of guards by key may drop.

use super::*;
use crate::decide::guards::{adaptive::AdaptiveConfig, limiter::LimiterConfig, stretch::StretchConfig};

/// Checks that the guards are at rest when new, not after `used` at second 100, and again at second 1000, after `done`.
fn check(guards: &mut Guards<'_>, used: impl FnOnce(&mut Guards<'_>), done: impl FnOnce(&mut Guards<'_>)) {
    assert!(guards.is_at_rest(at(100_000)), "new: {guards:?}");
    used(guards);
    assert!(!guards.is_at_rest(at(100_000)), "in use: {guards:?}");
    // Also by a clock that was set back.
    assert!(!guards.is_at_rest(at(0)), "in use: {guards:?}");
    done(guards);
    assert!(guards.is_at_rest(at(1_000_000)), "at rest: {guards:?}");
}

#[test]
fn guards_are_at_rest_when_nothing_is_lost_with_them() {
    let now = at(100_000);
    assert!(Guards::none().is_at_rest(now));

    let minute = Span::from_secs(60);
    let budgets = [
        BudgetConfig::of_loops(),
        BudgetConfig::throttle(10, 0.1).unwrap(),
        BudgetConfig::ratio(0.5, minute, 0.1).unwrap(),
        BudgetConfig::share(0.5, 3).unwrap(),
        BudgetConfig::window(3, minute).unwrap(),
        BudgetConfig::requests(1.0, minute).unwrap(),
    ];
    for config in budgets {
        let mut budget = Budget::new(&config, 1, at(0));
        let paid = core::cell::RefCell::new(Vec::new());
        let used = |guards: &mut Guards<'_>| {
            let (config, budget) = guards.budget.as_mut().unwrap();
            for _ in 0..9 {
                budget.begin(config, now);
                budget.admit(config, now);
                budget.fail(config, now, FailureKind::Transient);
            }
            paid.borrow_mut().extend((0..12).filter_map(|_| budget.withdraw(config, now, FailureKind::Transient, 0)));
        };
        let done = |guards: &mut Guards<'_>| {
            let (config, budget) = guards.budget.as_mut().unwrap();
            (0..200).for_each(|_| budget.succeed(config, now, None));
            (0..9).for_each(|_| budget.end(config, paid.borrow_mut().pop()));
        };
        check(&mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() }, used, done);
    }

    let config = BreakerConfig::consecutive(2, minute).unwrap();
    let mut breaker = Breaker::new(&config, 0, at(0));
    check(
        &mut Guards { breaker: Some((&config, &mut breaker)), ..Guards::none() },
        |guards| {
            let (config, breaker) = guards.breaker.as_mut().unwrap();
            let permit = breaker.acquire(config, now).unwrap();
            breaker.record(config, permit, now, Verdict::Failure, Span::ZERO);
        },
        |guards| guards.breaker.as_mut().unwrap().1.reset(now),
    );
    check(
        &mut Guards { breaker: Some((&config, &mut breaker)), ..Guards::none() },
        |guards| guards.breaker.as_mut().unwrap().1.isolate(now),
        |guards| guards.breaker.as_mut().unwrap().1.force_close(now),
    );

    for config in [
        LimiterConfig::gcra(5, minute, 5).unwrap(),
        LimiterConfig::bucket(5.0, minute, 5).unwrap(),
        LimiterConfig::window(5, minute).unwrap(),
        LimiterConfig::log(5, minute).unwrap(),
    ] {
        let (mut limiter, mut times) = (Limiter::new(&config, at(0)), [0; 5]);
        check(
            &mut Guards { limiter: Some((&config, &mut limiter, &mut times)), ..Guards::none() },
            |guards| {
                let (config, limiter, times) = guards.limiter.as_mut().unwrap();
                limiter.take(config, times, 1, now).unwrap();
            },
            |_| (),
        );
    }

    let config = BulkheadConfig::new(1, 1, minute).unwrap();
    let mut bulkhead = Bulkhead::new();
    check(
        &mut Guards { bulkhead: Some((&config, &mut bulkhead, &mut [])), ..Guards::none() },
        |guards| _ = guards.bulkhead.as_mut().unwrap().1.enter(&config, &mut []),
        |guards| guards.bulkhead.as_mut().unwrap().1.leave(),
    );

    for config in [AdaptiveConfig::default(), AdaptiveConfig::aimd(0.5, 1.0, 1.0, 100.0, 10.0).unwrap()] {
        let mut adaptive = Adaptive::new(&config, at(0));
        check(
            &mut Guards { adaptive: Some((&config, &mut adaptive)), ..Guards::none() },
            |guards| guards.adaptive.as_mut().unwrap().1.update(&config, now, true),
            |guards| (0..20).for_each(|_| guards.adaptive.as_mut().unwrap().1.update(&config, now, false)),
        );
    }

    let config = StretchConfig::new(2.0, minute, 1).unwrap();
    let mut stretch = Stretch::new(&config, at(0));
    check(
        &mut Guards { stretch: Some((&config, &mut stretch)), ..Guards::none() },
        |guards| guards.stretch.as_mut().unwrap().1.record(&config, now, true),
        |_| (),
    );
}
