//! Calls under the budget of loops.

use super::*;

/// A budget of loops of `capacity` tokens, of which a call that has ended took `taken`.
fn of_loops(capacity: u32, taken: u32) -> (BudgetConfig, Budget) {
    let config = BudgetConfig::of_loops_with(capacity).unwrap();
    let mut budget = Budget::new(&config, 0, at(0));
    (0..taken).for_each(|_| _ = budget.withdraw(&config, at(0), FailureKind::Transient, 0));
    (config, budget)
}

#[test]
fn a_success_returns_the_prices_of_all_retries_of_its_call() {
    let (policy, (config, mut budget)) = (policy(), of_loops(40, 20));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    call.fail(&policy, guards, ticket(1), at(0), Failure::TIMEOUT);
    call.tick(&policy, guards, at(1000));
    call.fail(&policy, guards, ticket(2), at(1000), Failure::TRANSIENT);
    call.tick(&policy, guards, at(2000));
    assert_eq!(call.succeed(guards, ticket(3), at(2000)), SUCCEEDED_STEP);
    assert_eq!(budget.balance(&config, at(2000)), 21.06);
}

#[test]
fn a_call_that_is_cancelled_asleep_gets_the_price_of_that_sleep_alone() {
    let (policy, (config, mut budget)) = (policy(), of_loops(40, 10));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    call.fail(&policy, guards, ticket(1), at(0), Failure::TIMEOUT);
    call.tick(&policy, guards, at(1000));
    call.fail(&policy, guards, ticket(2), at(1000), Failure::TRANSIENT);
    call.cancel(guards, at(1000));
    assert_eq!(budget.balance(&config, at(1000)), 20.03);
}

#[test]
fn a_sleep_for_a_hint_is_free_and_begins_no_spell() {
    let (policy, (config, mut budget)) = (policy(), of_loops(1, 0));
    let fresh = budget;
    let hint = |millis| Failure::THROTTLED.with_hint(Hint::after(span(millis)));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(call.fail(&policy, guards, ticket(1), at(10), hint(3000)), sleep(3010, Cause::Hint));
    assert_eq!(guards.budget.as_ref().map(|(_, budget)| **budget), Some(fresh));
    call.tick(&policy, guards, at(3010));
    // The backoff is longer than this one: the sleep is not the server's.
    assert_eq!(call.fail(&policy, guards, ticket(2), at(4000), hint(0)), sleep(5000, Cause::Backoff));
    assert_eq!(budget.balance(&config, at(4000)), 0.0);
}

#[test]
fn a_call_that_began_before_a_refusal_has_no_grace() {
    let (policy, (config, mut budget)) = (policy(), of_loops(1, 1));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let (mut early, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    let (mut refused, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    let step = refused.fail(&policy, guards, ticket(1), at(1500), Failure::TRANSIENT);
    assert_eq!(step, gave_up(StopReason::Budget, Some(2500)));
    let (mut late, _) = GuardedCall::begin(&policy, guards, 0, at(1600));
    if let Some((config, budget)) = &mut guards.budget {
        budget.succeed(config, at(1600), None);
        assert!(budget.withdraw(config, at(1600), FailureKind::Transient, budget.refusals()).is_some());
    }
    let step = late.fail(&policy, guards, ticket(1), at(1700), Failure::TIMEOUT);
    assert_eq!(step, sleep(2700, Cause::Backoff));
    let step = early.fail(&policy, guards, ticket(1), at(1700), Failure::TIMEOUT);
    assert_eq!(step, gave_up(StopReason::Budget, Some(2700)));
    // The lazy way in notes what its host did.
    let underway = |noted| GuardedCall::underway(0, at(0), Permit::from_raw(0)).noting(noted);
    let again =
        |noted, guards: &mut Guards<'_>| underway(noted).fail(&policy, guards, ticket(1), at(1700), Failure::TIMEOUT);
    assert_eq!(again(1, guards), gave_up(StopReason::Budget, Some(2700)), "it has refused again");
    assert_eq!(again(3, guards), sleep(2700, Cause::Backoff));
}

#[test]
fn a_hedge_has_no_grace_and_its_refusal_ends_none() {
    let (policy, (config, mut budget)) = (policy(), of_loops(1, 1));
    let (hedging, mut latency) = (hedge(100, 2), Latency::default());
    let guards =
        &mut Guards { budget: Some((&config, &mut budget)), hedge: Some((&hedging, &mut latency)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(call.tick(&policy, guards, at(100)), Step::Wait { until: NEVER });
    assert_eq!(call.fail(&policy, guards, ticket(1), at(200), Failure::TRANSIENT), sleep(1200, Cause::Backoff));
}
