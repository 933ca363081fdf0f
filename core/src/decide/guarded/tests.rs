use super::*;
use crate::decide::backoff::Backoff;
use crate::decide::call::{Call, Outcome};
use crate::decide::guards::breaker::BreakerState;
use crate::decide::jitter::Jitter;
use core::time::Duration;
use proptest::prelude::*;
use std::vec::Vec;

mod budgets;
mod lines;
mod ramp;
mod rest;

const SECOND: Duration = Duration::from_secs(1);
const NEVER: Timestamp = Timestamp::NEVER;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn span(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// One second between attempts, four attempts, ten seconds for all.
fn policy() -> Policy {
    let mut builder = *Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None);
    builder.attempts(4).deadline(SECOND * 10).build().unwrap()
}

fn ticket(number: u64) -> Ticket {
    Ticket::from_raw(number)
}

fn attempt(number: u64, abort_at: u64, wake_at: Option<u64>) -> Step {
    Step::Attempt { ticket: ticket(number), abort_at: at(abort_at), wake_at: wake_at.map_or(NEVER, at) }
}

fn sleep(until: u64, cause: Cause) -> Step {
    Step::Sleep { until: at(until), cause }
}

fn gave_up(reason: StopReason, retry_at: Option<u64>) -> Step {
    Step::Stop(Outcome::GaveUp { reason, retry_at: retry_at.map_or(NEVER, at) })
}

const SUCCEEDED_STEP: Step = Step::Stop(Outcome::Succeeded);

fn breaker(failures: u32, refusal: Refusal) -> BreakerConfig {
    let mut config = BreakerConfig { failures, refusal: refusal.code(), ..BreakerConfig::default() };
    config.open.initial = 5_000_000_000;
    config
}

#[test]
fn a_call_underway_is_one_that_the_breaker_has_let_through() {
    let (policy, config) = (policy(), breaker(1, Refusal::Stop));
    let mut state = Breaker::new(&config, 7, at(0));
    let permit = state.acquire(&config, at(1)).unwrap();
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let (begun, _) = GuardedCall::begin(&policy, guards, 9, at(1));
    assert_eq!(GuardedCall::underway(9, at(1), permit), begun);
    let (begun, _) = GuardedCall::begin(&policy, &mut Guards::none(), 9, at(1));
    assert_eq!(GuardedCall::underway(9, at(1), Permit::from_raw(0)), begun);
}

#[test]
fn it_is_its_bytes() {
    assert_eq!(size_of::<GuardedCall>(), 200);
}

#[test]
fn an_open_breaker_stops_a_call_before_its_first_attempt_and_says_when_to_come_back() {
    let (policy, config) = (policy(), breaker(1, Refusal::Stop));
    let mut state = Breaker::new(&config, 0, at(0));
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let (mut first, step) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(step, attempt(1, 10_000, None));
    assert_eq!(
        first.fail(&policy, guards, ticket(1), at(100), Failure::TRANSIENT),
        gave_up(StopReason::Breaker, Some(5100))
    );
    let (_, step) = GuardedCall::begin(&policy, guards, 0, at(200));
    assert_eq!(step, gave_up(StopReason::Breaker, Some(5100)));
    let (mut probe, step) = GuardedCall::begin(&policy, guards, 0, at(5100));
    assert_eq!(step, attempt(1, 15_100, None));
    assert_eq!(probe.succeed(guards, ticket(1), at(5200)), SUCCEEDED_STEP);
    assert_eq!(state.state(&config, at(5200)), BreakerState::Closed);
}

#[test]
fn a_call_that_may_wait_for_a_breaker_does_so_when_the_wait_fits() {
    let (policy, config) = (policy(), breaker(1, Refusal::Wait));
    let mut state = Breaker::new(&config, 0, at(0));
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let (mut first, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    let step = first.fail(&policy, guards, ticket(1), at(0), Failure::TRANSIENT);
    assert_eq!(step, sleep(5000, Cause::Breaker));
    assert_eq!(first.tick(&policy, guards, at(5000)), attempt(2, 10_000, None));
    // Opened again until 11 s, when this call's deadline has passed.
    let step = first.fail(&policy, guards, ticket(2), at(6000), Failure::TRANSIENT);
    assert_eq!(step, gave_up(StopReason::Breaker, Some(11_000)));
}

#[test]
fn who_finds_all_probes_out_waits_or_stops_and_holds_nothing() {
    let policy = policy();
    for refusal in [Refusal::Stop, Refusal::Wait] {
        let config = breaker(1, refusal);
        let bulkhead_config = BulkheadConfig::new(9, 0, span(0)).unwrap();
        let (mut state, mut bulkhead) = (Breaker::new(&config, 0, at(0)), Bulkhead::new());
        let guards = &mut Guards {
            breaker: Some((&config, &mut state)),
            bulkhead: Some((&bulkhead_config, &mut bulkhead, &mut [])),
            ..Guards::none()
        };
        let (mut first, _) = GuardedCall::begin(&policy, guards, 0, at(0));
        first.fail(&policy, guards, ticket(1), at(0), Failure::TRANSIENT);
        first.cancel(guards, at(0));
        let (mut probe, _) = GuardedCall::begin(&policy, guards, 0, at(5000));
        // The probe is lost for good five seconds later, and would not wait for longer than its deadline.
        let (mut second, step) = GuardedCall::begin(&policy, guards, 0, at(5000));
        match refusal {
            Refusal::Stop => assert_eq!(step, gave_up(StopReason::Breaker, Some(10_000))),
            Refusal::Wait => {
                assert_eq!(step, sleep(10_000, Cause::Breaker));
                probe.succeed(guards, ticket(1), at(6000));
                assert_eq!(second.tick(&policy, guards, at(10_000)), attempt(1, 15_000, None));
                second.cancel(guards, at(10_000));
            }
        }
        probe.cancel(guards, at(11_000));
        assert_eq!(bulkhead.running(), 0);
    }
}

#[test]
fn a_permanent_failure_is_an_answer_and_a_fault_of_ones_own_is_none() {
    let (policy, config) = (policy(), breaker(1, Refusal::Stop));
    let mut state = Breaker::new(&config, 0, at(0));
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    let step = call.fail(&policy, guards, ticket(1), at(0), Failure::PERMANENT);
    assert_eq!(step, gave_up(StopReason::Permanent, None));
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(call.abandon(guards, ticket(1), at(0)), gave_up(StopReason::Permanent, None));
    assert_eq!(state.state(&config, at(0)), BreakerState::Closed);
    assert_eq!(state.rates(&config, at(0)).0, 0);
}

fn token(capacity: u32) -> BudgetConfig {
    BudgetConfig::token(capacity, [5, 10, 5], 1.0, 0.0).unwrap()
}

#[test]
fn a_retry_is_paid_for_and_a_success_gives_back_what_the_last_one_paid() {
    let (policy, config) = (policy(), token(500));
    let mut budget = Budget::new(&config, 0, at(0));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    call.fail(&policy, guards, ticket(1), at(0), Failure::TIMEOUT);
    call.tick(&policy, guards, at(1000));
    call.fail(&policy, guards, ticket(2), at(1000), Failure::TRANSIENT);
    call.tick(&policy, guards, at(2000));
    assert_eq!(call.succeed(guards, ticket(3), at(2000)), SUCCEEDED_STEP);
    assert_eq!(budget.balance(&config, at(2000)), 490.0);
}

#[test]
fn a_spent_budget_ends_the_retries_and_says_when_the_next_one_would_have_run() {
    let (policy, config) = (policy(), token(5));
    let mut budget = Budget::new(&config, 0, at(0));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(call.fail(&policy, guards, ticket(1), at(0), Failure::TRANSIENT), sleep(1000, Cause::Backoff));
    call.tick(&policy, guards, at(1000));
    let step = call.fail(&policy, guards, ticket(2), at(1000), Failure::TRANSIENT);
    assert_eq!(step, gave_up(StopReason::Budget, Some(2000)));
}

#[test]
fn a_retry_that_is_cancelled_asleep_gets_its_price_back() {
    let (policy, config) = (policy(), token(500));
    let mut budget = Budget::new(&config, 0, at(0));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    call.fail(&policy, guards, ticket(1), at(0), Failure::TRANSIENT);
    assert_eq!(call.cancel(guards, at(10)), Step::Stop(Outcome::Cancelled));
    assert_eq!(budget.balance(&config, at(10)), 500.0);
}

#[test]
fn retries_in_flight_are_held_against_the_calls_there_are() {
    let (policy, config) = (policy(), BudgetConfig::share(0.5, 1).unwrap());
    let mut budget = Budget::new(&config, 0, at(0));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let mut calls = [0; 2].map(|seed| GuardedCall::begin(&policy, guards, seed, at(0)).0);
    let [first, second] = &mut calls;
    assert_eq!(first.fail(&policy, guards, ticket(1), at(0), Failure::TRANSIENT), sleep(1000, Cause::Backoff));
    let step = second.fail(&policy, guards, ticket(1), at(0), Failure::TRANSIENT);
    assert_eq!(step, gave_up(StopReason::Budget, Some(1000)));
    first.tick(&policy, guards, at(1000));
    // Its own place comes free before it asks for the next one.
    assert_eq!(first.fail(&policy, guards, ticket(2), at(1000), Failure::TRANSIENT), sleep(2000, Cause::Backoff));
    first.cancel(guards, at(1000));
    let (mut third, _) = GuardedCall::begin(&policy, guards, 3, at(1000));
    assert_eq!(third.fail(&policy, guards, ticket(1), at(1000), Failure::TRANSIENT), sleep(2000, Cause::Backoff));
}

#[test]
fn a_limit_is_waited_for_or_refused() {
    let policy = policy();
    for (refusal, expected) in
        [(Refusal::Wait, sleep(1000, Cause::Limiter)), (Refusal::Stop, gave_up(StopReason::Limiter, Some(1000)))]
    {
        let config = LimiterConfig::gcra(1, span(1000), 1).unwrap().with_refusal(refusal);
        let mut limiter = Limiter::new(&config, at(0));
        let guards = &mut Guards { limiter: Some((&config, &mut limiter, &mut [])), ..Guards::none() };
        let (_, step) = GuardedCall::begin(&policy, guards, 0, at(0));
        assert_eq!(step, attempt(1, 10_000, None));
        let (mut second, step) = GuardedCall::begin(&policy, guards, 0, at(0));
        assert_eq!(step, expected);
        if refusal == Refusal::Wait {
            assert_eq!(second.tick(&policy, guards, at(1000)), attempt(1, 10_000, None));
        }
    }
}

#[test]
fn calls_queue_for_a_place_in_order_and_not_for_ever() {
    let (policy, config) = (policy(), BulkheadConfig::new(1, 2, span(3000)).unwrap());
    let mut bulkhead = Bulkhead::default();
    let guards = &mut Guards { bulkhead: Some((&config, &mut bulkhead, &mut [])), ..Guards::none() };
    let (mut first, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    let (mut second, step) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(step, sleep(3000, Cause::Bulkhead));
    let (mut third, _) = GuardedCall::begin(&policy, guards, 0, at(1000));
    let (_, step) = GuardedCall::begin(&policy, guards, 0, at(1000));
    assert_eq!(step, gave_up(StopReason::Bulkhead, None));
    assert_eq!(third.tick(&policy, guards, at(1500)), sleep(4000, Cause::Bulkhead));
    first.succeed(guards, ticket(1), at(2000));
    assert_eq!(third.tick(&policy, guards, at(2000)), sleep(4000, Cause::Bulkhead));
    assert_eq!(second.tick(&policy, guards, at(2000)), attempt(1, 10_000, None));
    assert_eq!(third.tick(&policy, guards, at(4000)), gave_up(StopReason::Bulkhead, None));
    second.succeed(guards, ticket(1), at(4500));
    assert!(matches!(GuardedCall::begin(&policy, guards, 0, at(5000)).1, Step::Attempt { .. }));
}

#[test]
fn what_a_limit_took_comes_back_when_there_is_no_place() {
    let policy = policy();
    let limiter_config = LimiterConfig::gcra(1, span(1000), 2).unwrap();
    let config = BulkheadConfig::new(1, 0, span(0)).unwrap();
    let (mut limiter, mut bulkhead) = (Limiter::new(&limiter_config, at(0)), Bulkhead::default());
    let guards = &mut Guards {
        limiter: Some((&limiter_config, &mut limiter, &mut [])),
        bulkhead: Some((&config, &mut bulkhead, &mut [])),
        ..Guards::none()
    };
    let (mut first, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(GuardedCall::begin(&policy, guards, 0, at(0)).1, gave_up(StopReason::Bulkhead, None));
    first.succeed(guards, ticket(1), at(0));
    assert!(matches!(GuardedCall::begin(&policy, guards, 0, at(0)).1, Step::Attempt { .. }));
}

fn hedge(delay: u64, attempts: u32) -> HedgeConfig {
    HedgeConfig::new(span(delay), None, attempts).unwrap()
}

#[test]
fn a_slow_attempt_gets_another_beside_it_and_the_first_success_wins() {
    let (policy, config) = (policy(), hedge(100, 3));
    let mut latency = Latency::default();
    let guards = &mut Guards { hedge: Some((&config, &mut latency)), ..Guards::none() };
    let (mut call, step) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(step, attempt(1, 10_000, Some(100)));
    assert_eq!(call.tick(&policy, guards, at(99)), Step::Wait { until: at(100) });
    assert_eq!(call.tick(&policy, guards, at(100)), attempt(2, 10_000, Some(200)));
    assert_eq!(call.tick(&policy, guards, at(200)), attempt(3, 10_000, None));
    assert_eq!(call.tick(&policy, guards, at(900)), Step::Wait { until: NEVER });
    assert_eq!(call.succeed(guards, ticket(2), at(900)), SUCCEEDED_STEP);
    assert_eq!(call.succeed(guards, ticket(1), at(901)), SUCCEEDED_STEP);
}

#[test]
fn a_failure_starts_the_next_hedge_at_once_and_a_pushback_puts_it_off() {
    let (policy, config) = (policy(), hedge(100, 3));
    let mut latency = Latency::default();
    let guards = &mut Guards { hedge: Some((&config, &mut latency)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(call.fail(&policy, guards, ticket(1), at(50), Failure::TRANSIENT), attempt(2, 10_000, Some(150)));
    assert_eq!(call.tick(&policy, guards, at(150)), attempt(3, 10_000, None));
    let pushback = Failure::TRANSIENT.with_hint(Hint::after(span(3000)));
    assert_eq!(call.fail(&policy, guards, ticket(2), at(160), pushback), Step::Wait { until: NEVER });
    // The round is over: one step of the backoff, after the largest hint.
    let step = call.fail(&policy, guards, ticket(3), at(170), Failure::TRANSIENT);
    assert_eq!(step, sleep(3170, Cause::Hint));
    assert_eq!(call.tick(&policy, guards, at(3170)), attempt(4, 10_000, None));
    let step = call.fail(&policy, guards, ticket(4), at(3200), Failure::TRANSIENT);
    assert_eq!(step, gave_up(StopReason::Attempts, None));
}

#[test]
fn a_pushback_of_never_ends_the_hedging_and_leaves_the_others_their_chance() {
    let (policy, config) = (policy(), hedge(100, 3));
    for succeeds in [true, false] {
        let mut latency = Latency::default();
        let guards = &mut Guards { hedge: Some((&config, &mut latency)), ..Guards::none() };
        let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
        call.tick(&policy, guards, at(100));
        let never = Failure::TRANSIENT.with_hint(Hint::NEVER);
        assert_eq!(call.fail(&policy, guards, ticket(1), at(110), never), Step::Wait { until: NEVER });
        assert_eq!(call.tick(&policy, guards, at(500)), Step::Wait { until: NEVER });
        if succeeds {
            assert_eq!(call.succeed(guards, ticket(2), at(600)), SUCCEEDED_STEP);
        } else {
            let step = call.fail(&policy, guards, ticket(2), at(600), Failure::TRANSIENT);
            assert_eq!(step, gave_up(StopReason::Permanent, None));
        }
    }
}

#[test]
fn a_permanent_failure_ends_a_hedged_call_at_once() {
    let (policy, config) = (policy(), hedge(0, 3));
    let mut latency = Latency::default();
    let bulkhead_config = BulkheadConfig::new(9, 0, span(0)).unwrap();
    let mut bulkhead = Bulkhead::default();
    let guards = &mut Guards {
        hedge: Some((&config, &mut latency)),
        bulkhead: Some((&bulkhead_config, &mut bulkhead, &mut [])),
        ..Guards::none()
    };
    let (mut call, step) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(step, attempt(1, 10_000, Some(0)));
    call.tick(&policy, guards, at(0));
    assert_eq!(call.flying(), 2);
    let step = call.fail(&policy, guards, ticket(1), at(10), Failure::PERMANENT);
    assert_eq!((step, call.flying()), (gave_up(StopReason::Permanent, None), 0));
    assert_eq!(bulkhead.running(), 0);
}

#[test]
fn a_hedge_is_never_waited_for() {
    let (policy, config) = (policy(), hedge(100, 3));
    let mut latency = Latency::default();
    let bulkhead_config = BulkheadConfig::new(1, 5, span(1000)).unwrap();
    let mut bulkhead = Bulkhead::default();
    let guards = &mut Guards {
        hedge: Some((&config, &mut latency)),
        bulkhead: Some((&bulkhead_config, &mut bulkhead, &mut [])),
        ..Guards::none()
    };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(call.tick(&policy, guards, at(100)), Step::Wait { until: NEVER });
    // Its own place is free now.
    assert_eq!(call.fail(&policy, guards, ticket(1), at(200), Failure::TRANSIENT), attempt(2, 10_000, Some(300)));
}

#[test]
fn an_adaptive_rate_learns_from_throttling() {
    let policy = policy();
    let config = AdaptiveConfig::default().with_refusal(Refusal::Wait);
    let mut adaptive = Adaptive::new(&config, at(0));
    let guards = &mut Guards { adaptive: Some((&config, &mut adaptive)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    call.fail(&policy, guards, ticket(1), at(0), Failure::THROTTLED);
    assert!(matches!(call.tick(&policy, guards, at(1000)), Step::Sleep { cause: Cause::Limiter, .. }));
}

#[test]
#[cfg(feature = "record")]
fn a_call_under_guards_is_saved_as_a_call_and_goes_on_under_other_guards() {
    let (policy, config) = (policy(), token(500));
    let mut there = Budget::new(&config, 0, at(0));
    let guards = &mut Guards { budget: Some((&config, &mut there)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 7, at(0));
    call.fail(&policy, guards, ticket(1), at(100), Failure::TRANSIENT);
    let bytes = call.call().save(&policy, at(600));

    let mut here = Budget::new(&config, 0, at(0));
    let guards = &mut Guards { budget: Some((&config, &mut here)), ..Guards::none() };
    let resumed = Call::resume(&bytes, &policy, at(50_000)).unwrap();
    let mut call = GuardedCall::resume(&policy, guards, &resumed, at(50_000));
    assert_eq!(call.tick(&policy, guards, at(50_400)), sleep(50_500, Cause::Backoff));
    assert_eq!(call.tick(&policy, guards, at(50_500)), attempt(2, 59_400, None));
    assert_eq!(call.fail(&policy, guards, ticket(2), at(50_500), Failure::TRANSIENT), sleep(51_500, Cause::Backoff));
    call.cancel(guards, at(50_500));
    assert_eq!(here.balance(&config, at(50_500)), 500.0);
}

#[test]
fn the_retry_of_a_resumed_call_is_one_of_those_at_once() {
    let config = BudgetConfig::share(0.0, 3).unwrap();
    let policy = policy();
    let mut budget = Budget::new(&config, 0, at(0));
    let guards = &mut Guards { budget: Some((&config, &mut budget)), ..Guards::none() };
    let left = |guards: &Guards<'_>| guards.budget.as_ref().map(|(config, budget)| budget.balance(config, at(0)));
    let (mut other, _) = GuardedCall::begin(&policy, guards, 7, at(0));
    let step = other.fail(&policy, guards, ticket(1), at(0), Failure::TRANSIENT);
    assert_eq!((step, left(guards)), (sleep(1000, Cause::Backoff), Some(2.0)));
    let saved = other.call();
    let mut ran = GuardedCall::resume(&policy, guards, &saved, at(0));
    let mut cancelled = GuardedCall::resume(&policy, guards, &saved, at(0));
    assert_eq!(left(guards), Some(0.0));
    cancelled.cancel(guards, at(0));
    assert_eq!(left(guards), Some(1.0));
    assert!(matches!(ran.tick(&policy, guards, at(1000)), Step::Attempt { .. }));
    ran.succeed(guards, ticket(2), at(1000));
    assert_eq!(left(guards), Some(2.0));
}

#[test]
fn a_resumed_call_asks_the_guards_again_that_it_waited_for() {
    let (policy, config) = (policy(), breaker(1, Refusal::Wait));
    let mut state = Breaker::new(&config, 0, at(0));
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let (mut call, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(call.fail(&policy, guards, ticket(1), at(0), Failure::TRANSIENT), sleep(5000, Cause::Breaker));
    let mut resumed = GuardedCall::resume(&policy, &mut Guards::none(), &call.call(), at(10));
    assert_eq!(resumed.tick(&policy, &mut Guards::none(), at(10)), attempt(2, 10_000, None));
    let mut flying = GuardedCall::resume(&policy, &mut Guards::none(), &resumed.call(), at(20));
    assert_eq!(flying.tick(&policy, &mut Guards::none(), at(20)), sleep(1020, Cause::Backoff));
}

/// Everything a host may do to a call.
#[derive(Clone, Debug)]
enum Input {
    Succeed(u64),
    Fail(u64, Failure),
    Abandon(u64),
    Tick,
    Cancel,
}

fn inputs() -> impl Strategy<Value = Vec<(Input, u64)>> {
    let failure = (1u32..5, prop_oneof![4 => Just(u64::MAX), 1 => any::<u64>(), 2 => 0..9_000_000_000u64]);
    let failure = failure
        .prop_map(|(kind, hint)| Failure::new(FailureKind::from_code(kind).unwrap()).with_hint(Hint::from_raw(hint)));
    let number = || prop_oneof![9 => 0..12u64, 1 => any::<u64>()];
    let input = prop_oneof![
        1 => number().prop_map(Input::Succeed),
        8 => (number(), failure).prop_map(|(number, failure)| Input::Fail(number, failure)),
        1 => number().prop_map(Input::Abandon),
        8 => Just(Input::Tick),
        1 => Just(Input::Cancel),
    ];
    let now = prop_oneof![9 => 0..20_000_000_000u64, 1 => any::<u64>()];
    prop::collection::vec((input, now), 1..30)
}

fn put(call: &mut GuardedCall, policy: &Policy, guards: &mut Guards<'_>, input: &Input, now: Timestamp) -> Step {
    match *input {
        Input::Succeed(number) => call.succeed(guards, ticket(number), now),
        Input::Fail(number, failure) => call.fail(policy, guards, ticket(number), now, failure),
        Input::Abandon(number) => call.abandon(guards, ticket(number), now),
        Input::Tick => call.tick(policy, guards, now),
        Input::Cancel => call.cancel(guards, now),
    }
}

proptest! {
    #[test]
    fn without_guards_it_is_a_call(inputs in inputs(), seed: u64, start in 0..5_000_000_000u64) {
        let (policy, guards) = (policy(), &mut Guards::none());
        let start = Timestamp::from_nanos(start);
        let (mut plain, first) = Call::begin(&policy, seed, start);
        let (mut guarded, step) = GuardedCall::begin(&policy, guards, seed, start);
        prop_assert_eq!(first, step);
        for (input, now) in inputs {
            let now = Timestamp::from_nanos(now);
            let expected = match input {
                Input::Succeed(number) => plain.succeed(ticket(number), now),
                Input::Fail(number, failure) => plain.fail(&policy, ticket(number), now, failure),
                Input::Abandon(_) => continue,
                Input::Tick => plain.tick(&policy, now),
                Input::Cancel => plain.cancel(now),
            };
            prop_assert_eq!(put(&mut guarded, &policy, guards, &input, now), expected);
        }
    }

    #[test]
    fn whatever_happens_the_guards_get_everything_back(
        inputs in prop::collection::vec(inputs(), 1..5), seed: u64, queue in 0u32..3, hedges in 1u32..4
    ) {
        let policy = policy();
        let breaker_config = breaker(3, if seed % 2 == 0 { Refusal::Stop } else { Refusal::Wait });
        let share = BudgetConfig::share(0.5, 2).unwrap();
        let bulkhead_config = BulkheadConfig::new(3, queue, span(700)).unwrap();
        let hedge_config = hedge(300, hedges);
        let limiter_config = LimiterConfig::gcra(3, span(1000), 3).unwrap().with_refusal(Refusal::Wait);
        let mut breaker = Breaker::new(&breaker_config, seed, at(0));
        let mut budget = Budget::new(&share, seed, at(0));
        let mut limiter = Limiter::new(&limiter_config, at(0));
        let (mut bulkhead, mut latency) = (Bulkhead::default(), Latency::default());
        let fresh = budget;
        let guards = &mut Guards {
            budget: Some((&share, &mut budget)),
            breaker: Some((&breaker_config, &mut breaker)),
            limiter: Some((&limiter_config, &mut limiter, &mut [])),
            bulkhead: Some((&bulkhead_config, &mut bulkhead, &mut [])),
            hedge: Some((&hedge_config, &mut latency)),
            ..Guards::none()
        };
        let mut calls: Vec<_> = inputs.iter().map(|_| GuardedCall::begin(&policy, guards, seed, at(0)).0).collect();
        let longest = inputs.iter().map(Vec::len).max().unwrap_or(0);
        for turn in 0..longest {
            for (call, inputs) in calls.iter_mut().zip(&inputs) {
                if let Some((input, now)) = inputs.get(turn) {
                    put(call, &policy, guards, input, Timestamp::from_nanos(*now));
                }
            }
            let flying: u32 = calls.iter().map(GuardedCall::flying).sum();
            let running = guards.bulkhead.as_ref().map(|(_, bulkhead, _)| bulkhead.running());
            prop_assert_eq!(running, Some(flying));
            prop_assert!(flying <= 3);
        }
        for call in &mut calls {
            call.cancel(guards, Timestamp::LAST);
        }
        prop_assert_eq!((bulkhead.running(), bulkhead.waiting(), limiter.waiting()), (0, 0, 0));
        prop_assert_eq!(budget.balance(&share, Timestamp::LAST), fresh.balance(&share, Timestamp::LAST));
    }

    #[test]
    fn no_state_panics(words: [u64; 14], rest: [u8; 8], inputs in inputs()) {
        let policy = policy();
        let config = hedge(10, 8);
        let mut latency = Latency::default();
        let guards = &mut Guards { hedge: Some((&config, &mut latency)), ..Guards::none() };
        let [seed, started, at, hint, attempt, permits, ..] = words;
        let (mut call, _) = GuardedCall::begin(&policy, guards, seed, Timestamp::from_nanos(started));
        call.at = Timestamp::from_nanos(at);
        call.flight.hint = Hint::from_raw(hint);
        call.attempt = attempt as u32;
        call.flight.permits = [permits as u32; FLYING];
        [call.flight.round, call.flight.flying, call.phase, call.flight.flags, call.cause, call.reason, ..] = rest;
        for (input, now) in inputs {
            put(&mut call, &policy, guards, &input, Timestamp::from_nanos(now));
        }
    }
}

#[test]
fn calls_behind_a_probe_go_on_as_soon_as_it_has_come_back() {
    let (policy, config) = (policy(), breaker(1, Refusal::Wait));
    let mut state = Breaker::new(&config, 0, at(0));
    let guards = &mut Guards { breaker: Some((&config, &mut state)), ..Guards::none() };
    let (mut first, _) = GuardedCall::begin(&policy, guards, 0, at(0));
    assert_eq!(first.fail(&policy, guards, ticket(1), at(100), Failure::TRANSIENT), sleep(5100, Cause::Breaker));
    let (mut probe, step) = GuardedCall::begin(&policy, guards, 0, at(5100));
    assert_eq!(step, attempt(1, 15_100, None));
    // The first call is behind the probe, which expires at 10.1 s; its own deadline is at 10 s.
    assert_eq!(first.tick(&policy, guards, at(5100)), sleep(10_000, Cause::Breaker));
    assert_eq!(first.tick(&policy, guards, at(5200)), sleep(10_000, Cause::Breaker));
    probe.succeed(guards, ticket(1), at(5300));
    assert_eq!(first.tick(&policy, guards, at(5300)), attempt(2, 10_000, None));
}
