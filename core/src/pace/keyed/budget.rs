//! The budget that a loop brings to a policy that names none, for each place that is called.

use crate::decide::guards::budget::{Budget, BudgetConfig};
use crate::pace::keyed::store::Keyed;
use crate::time::{Span, Timestamp};
use alloc::string::String;

/// How many keys may be short of tokens at once. Beyond them the key used longest ago gets a full budget.
const MOST: usize = 1024;

/// A token budget for each key: the servers that one policy's calls go to.
///
/// # Contract
/// A call whose first attempt succeeds says [`KeyedBudget::succeed`], or nothing while [`KeyedBudget::is_full`]. After a
/// failure each of its transitions is made with [`KeyedBudget::lend`]. Only budgets from which something is missing are stored,
/// since a full one is as good as new; so a program in which nothing fails stores none (spec 36.3).
#[derive(Clone, Debug)]
pub struct KeyedBudget {
    config: BudgetConfig,
    short: Keyed<String, Budget>,
}

impl KeyedBudget {
    /// A full budget for every key.
    pub fn new(config: BudgetConfig) -> Self {
        // A budget that is idle for longer is full again.
        let idle = config.fills_in().max(Span::from_nanos(1));
        Self { config, short: Keyed::new(MOST, idle) }
    }

    /// The configuration of each budget.
    pub const fn config(&self) -> &BudgetConfig {
        &self.config
    }

    /// True if no budget is short of tokens, as far as is known without a look at the time.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.short.is_empty()
    }

    /// A call with that key succeeded at its first attempt, at `now`.
    pub fn succeed(&mut self, key: &str, now: Timestamp) {
        self.short.collect_idle(now);
        if self.short.peek(key, now).is_some() {
            self.lend(key, now, |config, budget| budget.succeed(config, now, None));
        }
    }

    /// The balance of a key's budget at `now`, see [`Budget::balance`]. A look changes nothing.
    pub fn balance(&self, key: &str, now: Timestamp) -> f64 {
        let known = self.short.peek(key, now).copied();
        known.unwrap_or_else(|| Budget::new(&self.config, 0, now)).balance(&self.config, now)
    }

    /// Lends the budget of a key for one transition at `now`.
    pub fn lend<R>(&mut self, key: &str, now: Timestamp, run: impl FnOnce(&BudgetConfig, &mut Budget) -> R) -> R {
        self.short.collect_idle(now);
        let known = self.short.peek(key, now).copied();
        let mut budget = known.unwrap_or_else(|| Budget::new(&self.config, 0, now));
        let answer = run(&self.config, &mut budget);
        if budget.is_full(&self.config) {
            self.short.remove(key);
        } else {
            *self.short.entry(key.into(), now, || budget) = budget;
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::failure::FailureKind;
    use proptest::prelude::*;
    use std::format;

    const SECOND: u64 = 1_000_000_000;

    fn withdraw(budgets: &mut KeyedBudget, key: &str, second: u64, kind: FailureKind) -> bool {
        let now = Timestamp::from_nanos(second * SECOND);
        budgets.lend(key, now, |config, budget| budget.withdraw(config, now, kind).is_some())
    }

    #[test]
    fn each_key_has_tokens_of_its_own() {
        let mut budgets = KeyedBudget::new(BudgetConfig::of_loops());
        assert!((0..60).all(|_| withdraw(&mut budgets, "a", 0, FailureKind::Transient)));
        assert!(!withdraw(&mut budgets, "a", 0, FailureKind::Transient));
        assert!(withdraw(&mut budgets, "b", 0, FailureKind::Transient));
    }

    #[test]
    fn a_full_budget_is_not_stored() {
        let mut budgets = KeyedBudget::new(BudgetConfig::of_loops());
        budgets.succeed("a", Timestamp::ZERO);
        assert!(budgets.is_full());
        assert!(withdraw(&mut budgets, "a", 0, FailureKind::Transient));
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
        budgets.succeed("b", Timestamp::from_nanos(600 * SECOND));
        assert!(!budgets.is_full());
        budgets.succeed("b", Timestamp::from_nanos(602 * SECOND));
        assert!(budgets.is_full());
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
        fn a_keyed_budget_decides_as_a_budget(steps in prop::collection::vec((0_u8..3, 0_u64..700, 0_usize..4), 1..300)) {
            let config = BudgetConfig::of_loops();
            let (mut budgets, mut alone) = (KeyedBudget::new(config), Budget::new(&config, 0, Timestamp::ZERO));
            let mut second = 0;
            for (step, gap, kind) in steps {
                // Rare long gaps among many short ones.
                second += if gap < 600 { gap / 100 } else { gap };
                let (now, kind) = (Timestamp::from_nanos(second * SECOND), FailureKind::ALL[kind]);
                if step == 0 {
                    budgets.succeed("a", Timestamp::ZERO);
                    alone.succeed(&config, now, None);
                } else {
                    prop_assert_eq!(withdraw(&mut budgets, "a", second, kind), alone.withdraw(&config, now, kind).is_some());
                }
            }
        }
    }
}
