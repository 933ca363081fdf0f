//! The budget that a loop brings to a policy that names none, for each place that is called.

use crate::decide::guards::budget::{Budget, BudgetConfig};
use crate::pace::keyed::store::Keyed;
use crate::time::{Span, Timestamp};
use alloc::string::String;

/// How many keys may be short of tokens at once. Further keys share one budget.
const MOST: usize = 1024;

/// A token budget for each key: the servers that one policy's calls go to.
///
/// # Contract
/// A call whose first attempt succeeds says [`KeyedBudget::succeed`], or nothing while [`KeyedBudget::is_full`]. After a
/// failure each of its transitions is made with [`KeyedBudget::with_budget`]. Only budgets from which something is missing are stored,
/// since a full one is as good as new; so a program in which nothing fails stores none (spec 36.3).
#[derive(Clone, Debug)]
pub struct KeyedBudget {
    config: BudgetConfig,
    short: Keyed<String, Budget>,
    /// The budget of all other keys, while it is short.
    others: Keyed<(), Budget>,
    /// The number of the latest refusal of all budgets.
    refusals: u32,
    /// The number with which a new budget begins: no budget that was dropped had refused after it.
    floor: u32,
}

impl KeyedBudget {
    /// A full budget for every key.
    pub fn new(config: BudgetConfig) -> Self {
        // A budget that is idle for longer is full again.
        let idle = config.fills_in().max(Span::from_nanos(1));
        Self { config, short: Keyed::new(MOST, idle), others: Keyed::new(1, idle), refusals: 0, floor: 0 }
    }

    /// The number of the latest refusal, which a call notes when it begins: see [`Budget::withdraw`].
    pub const fn refusals(&self) -> u32 {
        self.refusals
    }

    /// The configuration of each budget.
    pub const fn config(&self) -> &BudgetConfig {
        &self.config
    }

    /// True if no budget is short of tokens, as far as is known without a look at the time.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.short.is_empty() && self.others.is_empty()
    }

    /// A call with that key succeeded at its first attempt, at `now`.
    pub fn succeed(&mut self, key: &str, now: Timestamp) {
        let key = stored(key);
        self.drop_idle(now);
        if self.is_shared(key, now) || self.short.peek(key, now).is_some() {
            self.with_budget(key, now, |config, budget| budget.succeed(config, now, None));
        }
    }

    /// The balance of a key's budget at `now`, see [`Budget::balance`]. A look changes nothing.
    pub fn balance(&self, key: &str, now: Timestamp) -> f64 {
        let key = stored(key);
        let known = if self.is_shared(key, now) { self.others.peek(&(), now) } else { self.short.peek(key, now) };
        known.copied().unwrap_or_else(|| Budget::new(&self.config, 0, now)).balance(&self.config, now)
    }

    /// Runs a transition of the budget of a key at `now`.
    pub fn with_budget<R>(
        &mut self,
        key: &str,
        now: Timestamp,
        run: impl FnOnce(&BudgetConfig, &mut Budget) -> R,
    ) -> R {
        let key = stored(key);
        self.drop_idle(now);
        let is_shared = self.is_shared(key, now);
        let known = if is_shared { self.others.peek(&(), now) } else { self.short.peek(key, now) }.copied();
        let mut budget = known.unwrap_or_else(|| Budget::new(&self.config, 0, now).numbered(&self.config, self.floor));
        let before = budget.refusals();
        let answer = run(&self.config, &mut budget);
        if known == Some(budget) {
            return answer;
        }
        if budget.refusals() != before {
            self.refusals = self.refusals.wrapping_add(1);
            budget = budget.numbered(&self.config, self.refusals);
        }
        if budget.is_full(&self.config) {
            _ = if is_shared { self.others.remove(&()) } else { self.short.remove(key) };
            if budget.refusals().wrapping_sub(self.floor) as i32 > 0 {
                self.floor = budget.refusals();
            }
        } else if is_shared {
            *self.others.entry((), now, || budget) = budget;
        } else {
            *self.short.entry(key.into(), now, || budget) = budget;
        }
        answer
    }

    /// True if a key has no budget of its own: too many others are short, or were when their shared budget was last full (spec 36.3).
    fn is_shared(&self, key: &str, now: Timestamp) -> bool {
        (self.short.len() >= MOST || !self.others.is_empty()) && self.short.peek(key, now).is_none()
    }

    /// Drops the budgets that are full by time alone.
    fn drop_idle(&mut self, now: Timestamp) {
        if self.short.collect_idle(now).saturating_add(self.others.collect_idle(now)) > 0 {
            self.floor = self.refusals;
        }
    }
}

/// The text that a budget is stored by. An empty text has no bytes at its address: a comparison that loads masked bytes from
/// there takes a hundred nanoseconds.
const fn stored(key: &str) -> &str {
    if key.is_empty() { "\0" } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::failure::FailureKind;
    use crate::decide::guards::budget::Withdrawal;
    use proptest::prelude::*;
    use std::format;

    const SECOND: u64 = 1_000_000_000;

    fn withdraw(budgets: &mut KeyedBudget, key: &str, second: u64, kind: FailureKind) -> bool {
        let noted = budgets.refusals();
        withdraw_noted(budgets, key, second, kind, noted)
    }

    fn withdraw_noted(budgets: &mut KeyedBudget, key: &str, second: u64, kind: FailureKind, noted: u32) -> bool {
        let now = Timestamp::from_nanos(second * SECOND);
        budgets.with_budget(key, now, |config, budget| budget.withdraw(config, now, kind, noted).is_some())
    }

    #[test]
    fn each_key_has_tokens_and_a_grace_of_its_own() {
        let mut budgets = KeyedBudget::new(BudgetConfig::of_loops());
        assert!((0..60).all(|_| withdraw(&mut budgets, "a", 0, FailureKind::Transient)));
        assert!(!withdraw(&mut budgets, "a", 1, FailureKind::Transient));
        assert!((0..60).all(|_| withdraw(&mut budgets, "b", 1, FailureKind::Transient)));
    }

    #[test]
    fn a_refusal_ends_the_grace_of_earlier_calls_with_its_key_alone() {
        let mut budgets = KeyedBudget::new(BudgetConfig::of_loops());
        assert!((0..30).all(|_| withdraw(&mut budgets, "b", 0, FailureKind::Transient)));
        assert!((0..20).all(|_| withdraw(&mut budgets, "a", 0, FailureKind::Transient)));
        let noted = budgets.refusals();
        assert!(!withdraw(&mut budgets, "a", 1, FailureKind::Transient));
        assert_eq!(budgets.refusals(), 1);
        let all = Some(Withdrawal::from_raw(20_000));
        let now = Timestamp::from_nanos(2 * SECOND);
        budgets.with_budget("a", now, |config, budget| budget.succeed(config, now, all));
        // A full budget is dropped, and its refusal is not forgotten.
        assert!((0..20).all(|_| withdraw_noted(&mut budgets, "a", 2, FailureKind::Transient, noted)));
        assert!(!withdraw_noted(&mut budgets, "a", 2, FailureKind::Transient, noted));
        assert!(withdraw(&mut budgets, "a", 2, FailureKind::Transient));
        assert_eq!(budgets.refusals(), 2);
    }

    #[test]
    fn a_full_budget_is_not_stored() {
        let mut budgets = KeyedBudget::new(BudgetConfig::of_loops());
        budgets.succeed("a", Timestamp::ZERO);
        assert!(budgets.is_full());
        assert!(withdraw(&mut budgets, "a", 0, FailureKind::Timeout));
        for _ in 0..9 {
            budgets.succeed("a", Timestamp::ZERO);
            budgets.succeed("b", Timestamp::ZERO);
            assert!(!budgets.is_full());
        }
        budgets.succeed("a", Timestamp::ZERO);
        assert!(budgets.is_full());
    }

    #[test]
    fn a_budget_that_is_full_again_by_itself_is_forgotten_with_the_success_of_another_key() {
        let mut budgets = KeyedBudget::new(BudgetConfig::of_loops());
        assert!(withdraw(&mut budgets, "a", 0, FailureKind::Transient));
        budgets.succeed("b", Timestamp::from_nanos(666 * SECOND));
        assert!(!budgets.is_full());
        budgets.succeed("b", Timestamp::from_nanos(668 * SECOND));
        assert!(budgets.is_full());
    }

    #[test]
    fn no_number_of_other_keys_refills_a_budget() {
        let mut budgets = KeyedBudget::new(BudgetConfig::of_loops());
        while withdraw(&mut budgets, "mine", 2, FailureKind::Transient)
            && budgets.balance("mine", Timestamp::from_nanos(2 * SECOND)) > 0.0
        {}
        assert!(!withdraw(&mut budgets, "mine", 4, FailureKind::Transient));
        for key in 0..4 * MOST {
            withdraw(&mut budgets, &format!("{key}"), 4, FailureKind::Timeout);
        }
        assert!(!withdraw(&mut budgets, "mine", 5, FailureKind::Transient));
        // Keys without room share a budget, until it is full again.
        assert!(budgets.balance("new", Timestamp::from_nanos(5 * SECOND)) < 1.0);
        assert!(budgets.balance("new", Timestamp::from_nanos(2000 * SECOND)) > 19.0);
    }

    #[test]
    fn no_more_keys_are_stored_than_there_may_be() {
        let mut budgets = KeyedBudget::new(BudgetConfig::of_loops());
        for key in 0..2 * MOST {
            assert!(withdraw(&mut budgets, &format!("{key}"), 0, FailureKind::Timeout));
        }
        assert_eq!(budgets.short.len(), MOST);
    }

    proptest! {
        /// Storing only what is not full, and forgetting what is idle, changes no decision.
        #[test]
        fn a_keyed_budget_decides_as_a_budget(
            steps in prop::collection::vec((0_u8..3, 0_u64..700, 0_usize..4, 0_usize..3), 1..300)
        ) {
            let config = BudgetConfig::of_loops();
            let (mut budgets, mut alone) = (KeyedBudget::new(config), Budget::new(&config, 0, Timestamp::ZERO));
            let mut second = 0;
            // The notes of some calls, in both.
            let mut noted = [(0, 0); 3];
            for (step, gap, kind, call) in steps {
                // Rare long gaps among many short ones.
                second += if gap < 600 { gap / 200 } else { gap };
                let (now, kind) = (Timestamp::from_nanos(second * SECOND), FailureKind::ALL[kind]);
                if step == 0 {
                    budgets.succeed("a", now);
                    alone.succeed(&config, now, None);
                    noted[call] = (budgets.refusals(), alone.refusals());
                } else {
                    let (here, there) = noted[call];
                    let allowed = alone.withdraw(&config, now, kind, there).is_some();
                    prop_assert_eq!(withdraw_noted(&mut budgets, "a", second, kind, here), allowed);
                }
            }
        }
    }
}
