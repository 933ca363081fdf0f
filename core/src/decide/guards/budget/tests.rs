use super::config::thousandths;
use super::*;
use crate::decide::guards::save::tests::moved;
use crate::error::{Error, ErrorCode};
use crate::fields::Field;
use crate::time::Span;
use proptest::prelude::*;
use std::vec::Vec;

mod model;

const KIND: FailureKind = FailureKind::Transient;
const MS: u64 = 1_000_000;

const fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * MS)
}

/// A budget of that kind, made at 0, and its configuration.
fn made(config: Result<BudgetConfig, Error>) -> (BudgetConfig, Budget) {
    let config = config.unwrap();
    (config, Budget::new(&config, 1, at(0)))
}

fn aws(capacity: u32) -> Result<BudgetConfig, Error> {
    BudgetConfig::token(capacity, [5, 10, 5], 1.0, 0.0)
}

fn refilling(capacity: u32, refill: f64) -> Result<BudgetConfig, Error> {
    BudgetConfig::token(capacity, [1, 1, 1], 0.0, refill)
}

fn ratio(ratio: f64, seconds: u64, min_per_second: f64) -> Result<BudgetConfig, Error> {
    BudgetConfig::ratio(ratio, Span::from_secs(seconds), min_per_second)
}

/// How many retries there are at once until one is refused, at most `most`.
fn retries(config: &BudgetConfig, budget: &mut Budget, now: Timestamp, most: usize) -> usize {
    (0..most).take_while(|_| budget.withdraw(config, now, KIND, budget.refusals()).is_some()).count()
}

#[test]
fn the_machine_is_its_bytes() {
    assert_eq!((size_of::<Budget>(), size_of::<BudgetConfig>(), size_of::<Withdrawal>()), (128, 64, 4));
}

#[test]
fn a_tenth_allows_a_retry_for_ten_calls_and_one_in_any_case() {
    let (config, mut budget) = made(ratio(0.1, 10, 0.1));
    (0..100).for_each(|_| budget.begin(&config, at(0)));
    assert_eq!(budget.balance(&config, at(0)), 11.0);
    assert_eq!(retries(&config, &mut budget, at(0), 100), 11);
}

/// The budget of loops, from which a first retry was taken at 0.
fn failing() -> (BudgetConfig, Budget) {
    let (config, mut budget) = made(Ok(BudgetConfig::of_loops()));
    assert_eq!(budget.withdraw(&config, at(0), KIND, 0), Some(Withdrawal(1000)));
    (config, budget)
}

#[test]
fn the_budget_of_loops_is_its_document() {
    let token = BudgetConfig::token(20, [1, 10, 10], 1.0, 0.03).unwrap();
    let token = token.with_grace(Span::from_secs(1)).with_all_returned().with_hinted_cost(0);
    assert_eq!(token, Ok(BudgetConfig::of_loops()));
    assert_eq!(token, Ok(BudgetConfig::default()));
    assert_eq!(token.map(|token| BudgetConfig { capacity: 1_000_000, ..token }), BudgetConfig::of_loops_with(1000));
}

#[test]
fn after_the_grace_the_budget_of_loops_gives_ten_failing_calls_two_retries_each_and_one_that_times_out() {
    for (kind, retries) in [(KIND, 19), (FailureKind::Throttled, 1), (FailureKind::Timeout, 1)] {
        let (config, mut budget) = failing();
        let allowed = (0..).take_while(|_| budget.withdraw(&config, at(1000), kind, 0).is_some()).count();
        assert_eq!(allowed, retries, "{kind:?}");
    }
}

#[test]
fn in_the_grace_a_retry_takes_what_is_left_and_none_is_refused() {
    let (config, mut budget) = failing();
    let grace_ends = |less: u64| Timestamp::from_nanos(1_000_000_000 - less);
    assert_eq!(budget.withdraw(&config, at(1), FailureKind::Timeout, 0), Some(Withdrawal(10_000)));
    // 9 are left, a price of 10.
    assert_eq!(budget.withdraw(&config, at(1), FailureKind::Timeout, 0), Some(Withdrawal(9000)));
    for _ in 0..1000 {
        let allowed = budget.withdraw(&config, grace_ends(1), KIND, 0).unwrap();
        assert!(allowed.as_raw() <= 29, "what comes back by itself: {allowed:?}");
    }
    assert_eq!(budget.refusals(), 0);
    assert_eq!(budget.withdraw(&config, grace_ends(0), KIND, 0), None);
    assert_eq!(budget.refusals(), 1);
}

#[test]
fn a_time_before_the_budget_was_full_has_no_grace() {
    let (config, _) = failing();
    let mut budget = Budget::new(&config, 0, at(5000));
    (0..20).for_each(|_| assert!(budget.withdraw(&config, at(5000), KIND, 0).is_some()));
    assert_eq!(budget.withdraw(&config, at(4999), KIND, 0), None);
    assert_eq!(budget.withdraw(&config, at(5999), KIND, 0), None, "a refusal ended it");
    assert!(budget.withdraw(&config, at(5999), KIND, budget.refusals()).is_some());
}

#[test]
fn a_call_from_before_a_refusal_has_no_grace() {
    let (config, mut budget) = failing();
    (0..19).for_each(|_| assert!(budget.withdraw(&config, at(1500), KIND, 0).is_some()));
    assert_eq!(budget.withdraw(&config, at(1500), KIND, 0), None);
    budget.succeed(&config, at(2000), Some(Withdrawal(20_000)));
    // Full again, and a new spell: the calls that began before the refusal have the tokens alone.
    assert!((0..20).all(|_| budget.withdraw(&config, at(2001), KIND, 0).is_some()));
    assert_eq!(budget.withdraw(&config, at(2002), KIND, 0), None);
    assert!(budget.withdraw(&config, at(2002), KIND, budget.refusals()).is_some());
}

#[test]
fn a_budget_that_is_full_again_by_successes_has_a_new_grace() {
    let (config, mut budget) = failing();
    budget.succeed(&config, at(7000), None);
    assert!(budget.is_full(&config));
    assert!((0..100).all(|_| budget.withdraw(&config, at(9000), FailureKind::Timeout, 0).is_some()));
    assert_eq!(budget.withdraw(&config, at(10_000), KIND, 0), None);
}

#[test]
fn a_success_returns_all_that_its_call_took_and_the_reward() {
    let (config, mut budget) = failing();
    let first = budget.withdraw(&config, at(0), FailureKind::Timeout, 0).unwrap();
    let second = budget.withdraw(&config, at(0), KIND, 0).unwrap();
    let balance = |budget: &Budget| budget.balance(&config, at(0));
    assert_eq!(balance(&budget), 8.0);
    let mut refunded = budget;
    refunded.refund(&config, at(0), second);
    assert_eq!(balance(&refunded), 9.0);
    budget.succeed(&config, at(0), Some(first.plus(second)));
    assert_eq!(balance(&budget), 20.0);
    (0..5).for_each(|_| _ = budget.withdraw(&config, at(0), KIND, 0));
    budget.succeed(&config, at(0), Some(Withdrawal(2000)));
    assert_eq!(balance(&budget), 18.0);
    budget.succeed(&config, at(0), None);
    assert_eq!(balance(&budget), 19.0);
}

#[test]
fn a_purse_without_room_has_no_grace() {
    let (config, mut budget) = made(BudgetConfig::of_loops_with(0));
    assert_eq!(budget.withdraw(&config, at(0), KIND, 0), None);
}

#[test]
fn a_hint_costs_what_its_failure_costs_unless_it_has_a_price() {
    let token = BudgetConfig::token(20, [1, 10, 10], 1.0, 0.0).unwrap();
    for (config, price, free) in [(token, 10_000, false), (token.with_hinted_cost(3).unwrap(), 3000, false)] {
        let mut budget = Budget::new(&config, 0, at(0));
        let withdrawal = budget.withdraw_hinted(&config, at(0), FailureKind::Throttled, 0);
        assert_eq!((withdrawal, config.is_free_for_hints()), (Some(Withdrawal(price)), free));
    }
    assert!(token.with_hinted_cost(0).unwrap().is_free_for_hints());
    assert!(!BudgetConfig::share(0.2, 3).unwrap().is_free_for_hints());
}

#[test]
fn a_restored_budget_goes_on_in_its_grace() {
    let (config, mut budget) = failing();
    (0..19).for_each(|_| assert!(budget.withdraw(&config, at(0), KIND, 0).is_some()));
    let restored = |then, now| moved(&config, &budget, at(then), at(now)).unwrap();
    assert!(restored(999, 8000).withdraw(&config, at(8000), FailureKind::Timeout, 0).is_some());
    assert_eq!(restored(999, 8000).withdraw(&config, at(8001), FailureKind::Timeout, 0), None);
    assert_eq!(restored(999, 8000).refusals(), 0);
}

#[test]
fn a_success_gives_back_what_the_latest_retry_cost() {
    let (config, mut budget) = made(aws(500));
    budget.withdraw(&config, at(0), FailureKind::Timeout, budget.refusals()).unwrap();
    let withdrawal = budget.withdraw(&config, at(0), FailureKind::Throttled, budget.refusals());
    assert_eq!(budget.balance(&config, at(0)), 485.0);
    budget.succeed(&config, at(0), withdrawal);
    assert_eq!(budget.balance(&config, at(0)), 490.0);
    budget.succeed(&config, at(0), None);
    assert_eq!(budget.balance(&config, at(0)), 491.0);
}

#[test]
fn a_retry_that_costs_more_than_there_is_costs_nothing() {
    let (config, mut budget) = made(aws(9));
    assert_eq!(budget.withdraw(&config, at(0), FailureKind::Timeout, budget.refusals()), None);
    assert_eq!(budget.balance(&config, at(0)), 9.0);
}

#[test]
fn a_retry_that_never_ran_is_paid_back() {
    for kind in [aws(5), ratio(0.1, 10, 0.1), BudgetConfig::share(0.0, 1), windows(1)] {
        let (config, mut budget) = made(kind);
        let withdrawal = budget.withdraw(&config, at(0), KIND, budget.refusals()).unwrap();
        assert_eq!(budget.withdraw(&config, at(0), KIND, budget.refusals()), None, "{kind:?}");
        budget.refund(&config, at(0), withdrawal);
        assert!(budget.withdraw(&config, at(0), KIND, budget.refusals()).is_some(), "{kind:?}");
    }
}

#[test]
fn a_full_purse_saves_up_no_time() {
    let (config, mut budget) = made(refilling(2, 1.0));
    assert_eq!(retries(&config, &mut budget, at(10_000), 9), 2);
    assert_eq!(budget.balance(&config, at(10_999)), 0.999);
    assert_eq!(retries(&config, &mut budget, at(11_000), 9), 1);
}

#[test]
fn tokens_come_back_as_fast_however_often_one_looks() {
    let (config, mut seldom) = made(refilling(1000, 0.3));
    retries(&config, &mut seldom, at(0), 1000);
    let mut often = seldom;
    for now in 0..100_000 {
        often.refund(&config, at(now), Withdrawal(0));
    }
    assert_eq!(often.balance(&config, at(99_999)), 29.999);
    assert_eq!(seldom.balance(&config, at(99_999)), 29.999);
}

#[test]
fn a_clock_that_runs_backwards_brings_no_token_twice() {
    let (config, mut budget) = made(refilling(10, 1.0));
    retries(&config, &mut budget, at(0), 10);
    for now in [3000, 1000, 3000, 0, 3000] {
        budget.refund(&config, at(now), Withdrawal(0));
        assert_eq!(budget.balance(&config, at(now)), 3.0);
    }
}

#[test]
fn rewards_are_cut_after_three_digits_and_add_up_exactly() {
    // A product of 1.001 by a thousand is a hair below 1001.
    for (given, kept) in [(0.5466, 546), (0.4, 400), (1.001, 1001), (0.29, 290), (1.6, 1600), (0.0009, 0), (2.0, 2000)]
    {
        assert_eq!(thousandths(given), kept, "{given}");
    }
    for digits in 0..100_000 {
        assert_eq!(thousandths(format(digits)), digits);
    }
}

/// The number of that many thousandths as a document would have it.
fn format(digits: u64) -> f64 {
    std::format!("{}.{:03}", digits / 1000, digits % 1000).parse().unwrap()
}

#[test]
fn a_throttle_allows_retries_above_half() {
    let (config, mut budget) = made(BudgetConfig::throttle(3, 0.5));
    let after = |budget: &mut Budget| {
        budget.fail(&config, at(0), KIND);
        (budget.balance(&config, at(0)), budget.withdraw(&config, at(0), KIND, budget.refusals()).is_some())
    };
    assert_eq!(after(&mut budget), (2.0, true));
    assert_eq!(after(&mut budget), (1.0, false));
    budget.succeed(&config, at(0), None);
    assert_eq!(budget.withdraw(&config, at(0), KIND, budget.refusals()), None, "half is not more than half");
    budget.succeed(&config, at(0), None);
    assert!(budget.withdraw(&config, at(0), KIND, budget.refusals()).is_some());
    budget.fail(&config, at(0), FailureKind::Permanent);
    assert_eq!(budget.balance(&config, at(0)), 2.0);
}

#[test]
fn deposits_and_withdrawals_expire_with_their_slot() {
    let (config, mut budget) = made(ratio(1.0, 10, 0.0));
    budget.begin(&config, at(999));
    assert_eq!(budget.balance(&config, at(9_999)), 1.0);
    assert_eq!(budget.balance(&config, at(10_000)), 0.0);
    let mut spent = budget;
    spent.withdraw(&config, at(5_000), KIND, 0).unwrap();
    assert_eq!(spent.balance(&config, at(10_000)), 0.0);
    spent.begin(&config, at(10_000));
    assert_eq!(spent.balance(&config, at(14_999)), 0.0, "the withdrawal outlives the deposit");
    assert_eq!(spent.balance(&config, at(15_000)), 1.0);
}

#[test]
fn a_refund_after_its_slot_has_expired_adds_nothing() {
    let (config, mut budget) = made(ratio(1.0, 10, 0.1));
    let withdrawal = budget.withdraw(&config, at(0), KIND, budget.refusals()).unwrap();
    let mut late = budget;
    budget.refund(&config, at(9_999), withdrawal);
    assert_eq!(budget.balance(&config, at(9_999)), 1.0);
    late.refund(&config, at(10_000), withdrawal);
    assert_eq!(late.balance(&config, at(10_000)), 1.0);
}

#[test]
fn without_a_ratio_there_is_the_least_and_without_both_nothing() {
    let (config, mut budget) = made(ratio(0.0, 2, 5.0));
    (0..100).for_each(|_| budget.begin(&config, at(0)));
    assert_eq!(retries(&config, &mut budget, at(0), 100), 10);
    assert_eq!(retries(&config, &mut budget, at(2_000), 100), 10);
    let (config, mut budget) = made(ratio(0.0, 2, 0.0));
    budget.begin(&config, at(0));
    assert_eq!(retries(&config, &mut budget, at(0), 100), 0);
}

#[test]
fn a_share_counts_retries_at_once() {
    let (config, mut budget) = made(BudgetConfig::share(0.2, 3));
    assert_eq!(retries(&config, &mut budget, at(0), 100), 3);
    (0..25).for_each(|_| budget.begin(&config, at(0)));
    assert_eq!(retries(&config, &mut budget, at(0), 100), 2);
    budget.retried(&config);
    budget.end(&config, None);
    assert_eq!(retries(&config, &mut budget, at(0), 100), 0, "24 calls have four");
    budget.retried(&config);
    assert_eq!(retries(&config, &mut budget, at(0), 100), 1);
}

#[test]
fn requests_are_refused_as_often_as_they_were_not_answered() {
    let (config, mut budget) = made(BudgetConfig::requests(2.0, Span::from_secs(10)));
    let admitted = (0..10_000).filter(|_| budget.admit(&config, at(0))).count();
    // Nothing succeeds: attempt n from 0 on passes with the probability 1 / (n + 1), which sums to 9.8.
    assert!((1..30).contains(&admitted), "{admitted}");
    (0..2_500).for_each(|_| budget.succeed(&config, at(0), None));
    let rejection = budget.rejection(&config, at(0));
    assert_eq!(rejection, 5_000.0 / 10_001.0);
    let is_refused = |seed: u64| {
        let mut one = budget;
        one.seed = seed;
        !one.admit(&config, at(0))
    };
    let refused = (0..10_000).filter(|seed| is_refused(*seed)).count();
    assert!((4_800..5_200).contains(&refused), "{refused}");
    assert_eq!(budget.rejection(&config, at(10_000)), 0.0, "all that is past");
}

#[test]
fn a_permanent_failure_is_an_answer() {
    let (config, mut budget) = made(BudgetConfig::requests(1.0, Span::from_secs(10)));
    budget.admit(&config, at(0));
    assert_eq!(budget.rejection(&config, at(0)), 0.5);
    budget.fail(&config, at(0), FailureKind::Permanent);
    assert_eq!(budget.rejection(&config, at(0)), 0.0);
}

#[test]
fn nothing_is_drawn_where_nothing_is_refused() {
    let (config, mut budget) = made(BudgetConfig::requests(2.0, Span::from_secs(10)));
    let seed = budget.seed;
    budget.admit(&config, at(0));
    assert_eq!(budget.seed, seed);
    budget.admit(&config, at(0));
    assert_ne!(budget.seed, seed);
}

fn windows(limit: u32) -> Result<BudgetConfig, Error> {
    BudgetConfig::window(limit, Span::from_secs(10))
}

#[test]
fn each_window_has_its_retries() {
    let (config, mut budget) = made(windows(2));
    for now in [0, 10_000, 19_999, 25_000, 1_000_000] {
        let there = if now == 19_999 { 0 } else { 2 };
        assert_eq!(retries(&config, &mut budget, at(now), 9), there, "{now}");
    }
    let withdrawal = budget.withdraw(&config, at(1_010_000), KIND, budget.refusals()).unwrap();
    budget.refund(&config, at(1_020_000), withdrawal);
    assert_eq!(budget.balance(&config, at(1_020_000)), 2.0, "a refund into the next window adds nothing");
}

#[test]
fn what_is_out_of_its_range_is_refused() {
    use ErrorCode::{CountRange, RateRange, ZeroLimit};
    let token = |capacity, cost, reward, refill| BudgetConfig::token(capacity, [cost, 0, 0], reward, refill);
    for (config, code, field) in [
        (token(1_000_000 + 1, 0, 0.0, 0.0), CountRange, Field::BudgetCapacity),
        (token(0, 1_000_000 + 1, 0.0, 0.0), CountRange, Field::BudgetCost),
        (token(0, 0, -0.1, 0.0), RateRange, Field::BudgetReward),
        (token(0, 0, 0.0, f64::INFINITY), RateRange, Field::BudgetRefill),
        (BudgetConfig::throttle(0, 0.0), CountRange, Field::BudgetCapacity),
        (ratio(f64::NAN, 1, 0.0), RateRange, Field::BudgetRatio),
        (ratio(1.0, 0, 0.0), ZeroLimit, Field::BudgetWindow),
        (ratio(1.0, 1, -1.0), RateRange, Field::BudgetMinPerSecond),
        (BudgetConfig::share(-1.0, 0), RateRange, Field::BudgetRatio),
        (BudgetConfig::requests(-1.0, Span::MAX), RateRange, Field::BudgetK),
        (BudgetConfig::requests(2.0, Span::ZERO), ZeroLimit, Field::BudgetWindow),
        (BudgetConfig::window(1, Span::ZERO), ZeroLimit, Field::BudgetWindow),
    ] {
        let error = config.unwrap_err();
        assert_eq!((error.code, error.field), (code, Some(field)));
    }
}

/// Everything that can be done to a budget.
fn everything(config: &BudgetConfig, budget: &mut Budget, now: Timestamp, withdrawal: Withdrawal) -> [f64; 2] {
    budget.begin(config, now);
    budget.admit(config, now);
    for kind in FailureKind::ALL {
        budget.fail(config, now, kind);
        budget.withdraw(config, now, kind, budget.refusals());
    }
    budget.refund(config, now, withdrawal);
    budget.succeed(config, now, Some(withdrawal));
    budget.succeed(config, now, None);
    budget.retried(config);
    budget.end(config, Some(withdrawal));
    [budget.balance(config, now), budget.rejection(config, now)]
}

#[test]
fn a_shortage_says_what_is_spent_and_when_there_is_enough() {
    let (config, mut budget) = made(BudgetConfig::token(60, [1, 5, 1], 0.1, 0.1));
    assert!(budget.is_full(&config));
    assert_eq!(budget.shortage(&config, at(0), FailureKind::Timeout), None);
    for _ in 0..12 {
        assert!(budget.withdraw(&config, at(0), FailureKind::Timeout, budget.refusals()).is_some());
    }
    assert!(!budget.is_full(&config));
    let shortage = |budget: &Budget, kind| budget.shortage(&config, at(4000), kind).unwrap();
    let text = |budget: &Budget, kind| std::format!("{}", shortage(budget, kind));
    let timeout = "59.6 of 60 tokens; a retry costs 5, there are enough again in 46s; a larger `budget` allows more";
    assert_eq!(text(&budget, FailureKind::Timeout), timeout);
    let transient = "59.6 of 60 tokens; a retry costs 1, there are enough again in 6s; a larger `budget` allows more";
    assert_eq!(text(&budget, FailureKind::Transient), transient);
    let [spent, capacity, cost, nanos] = shortage(&budget, FailureKind::Timeout).as_raw();
    assert_eq!(([spent, capacity, cost], nanos), ([59_600, 60_000, 5000], 46_000_000_001));
    let enough = at(4000).after(shortage(&budget, FailureKind::Transient).enough_in());
    assert!(budget.withdraw(&config, enough, FailureKind::Transient, budget.refusals()).is_some());
    let (config, mut budget) = made(BudgetConfig::token(1, [1, 5, 1], 0.1, 0.0));
    budget.withdraw(&config, at(0), FailureKind::Transient, budget.refusals());
    let shortage = budget.shortage(&config, at(9), FailureKind::Transient).unwrap();
    let text = "1 of 1 tokens for \"https://a:443\"; a retry costs 1, only successes bring more; a larger `budget` allows more";
    assert_eq!(std::format!("{}", shortage.of_key("https://a:443")), text);
    assert_eq!(std::format!("{shortage}"), text.replace(" for \"https://a:443\"", ""));
    let (config, budget) = made(ratio(0.1, 10, 0.1));
    assert_eq!(budget.shortage(&config, at(0), FailureKind::Timeout), None);
}

#[test]
fn a_ratio_above_one_pays_no_more_than_it_says() {
    for (share, calls, most) in [(999.0, 1000, 999_000), (1.9, 10, 19), (2.5, 2, 5), (0.9, 1000, 900), (0.3, 1000, 300)]
    {
        let (config, mut budget) = made(ratio(share, 10, 0.0));
        (0..calls).for_each(|_| budget.begin(&config, at(0)));
        assert_eq!(retries(&config, &mut budget, at(0), 2_000_000), most, "{share}");
    }
}

proptest! {
    #[test]
    fn no_numbers_panic(
        kind in 0_u32..9, words: [u64; 12], slots: [u64; 10], halves: [u32; 6], times: [u64; 3]
    ) {
        let [capacity, reward, price, reserve, rate, slot, tokens, since, refilled, seed, number, _] = words;
        let [cost, timeout_cost, throttled_cost, active, retries, withdrawal] = halves;
        let rate = f64::from_bits(rate);
        let config =
            BudgetConfig { kind, cost, timeout_cost, throttled_cost, capacity, reward, withdrawal: price, reserve, rate, slot };
        let mut budget = Budget { tokens, since, refilled, seed, number, active, retries, slots };
        for now in times {
            let answers = everything(&config, &mut budget, Timestamp::from_nanos(now), Withdrawal(withdrawal));
            prop_assert!(answers.iter().all(|answer| *answer >= 0.0));
        }
    }

    #[test]
    fn tokens_stay_between_none_and_all(ops in prop::collection::vec((0_u8..4, 0_u64..100, 0_usize..4), 1..200), throttle: bool) {
        let kind = if throttle { BudgetConfig::throttle(20, 0.7) } else { aws(20) };
        let (config, mut budget) = made(kind);
        let mut withdrawal = Vec::new();
        for (op, now, kind) in ops {
            let kind = FailureKind::ALL[kind];
            match op {
                0 => withdrawal.extend(budget.withdraw(&config, at(now), kind, budget.refusals())),
                1 => budget.succeed(&config, at(now), withdrawal.pop()),
                2 => if let Some(withdrawal) = withdrawal.pop() { budget.refund(&config, at(now), withdrawal) },
                _ => budget.fail(&config, at(now), kind),
            }
            prop_assert!((0.0..=20.0).contains(&budget.balance(&config, at(now))));
        }
    }

    #[test]
    fn a_ratio_never_allows_more_than_its_share_and_the_least(
        calls in prop::collection::vec((0_u64..400, 0_usize..4), 1..300), tenths in 1_u32..20, least in 0_u32..3
    ) {
        let share = f64::from(tenths) / 10.0;
        let (config, mut budget) = made(ratio(share, 3600, f64::from(least) / 3600.0));
        let (mut now, mut begun, mut allowed) = (0, 0.0, 0.0);
        for (gap, wanted) in calls {
            now += gap;
            budget.begin(&config, at(now));
            begun += 1.0;
            allowed += retries(&config, &mut budget, at(now), wanted) as f64;
            // A product of doubles may be a hair too low.
            prop_assert!(allowed <= begun * share + f64::from(least) + 1e-9);
        }
    }
}
