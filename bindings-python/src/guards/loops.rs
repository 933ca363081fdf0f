//! The budget that a loop brings to a policy that names none.

use crate::clock;
use holdoff_core::{BudgetConfig, Guards, KeyedBudget, Timestamp};
use pyo3::prelude::*;
use std::mem::take;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Budgets are off, for tests.
static OFF: AtomicBool = AtomicBool::new(false);

/// A token budget for each key of one policy.
///
/// A first attempt that succeeds reads `refusals` and `short` without a lock.
pub(crate) struct LoopBudgets {
    budgets: Mutex<KeyedBudget>,
    short: AtomicBool,
    /// The number of the latest refusal.
    refusals: AtomicU32,
}

impl LoopBudgets {
    pub(crate) fn new(config: BudgetConfig) -> Arc<Self> {
        let budgets = Mutex::new(KeyedBudget::new(config));
        let (short, refusals) = (AtomicBool::new(false), AtomicU32::new(0));
        Arc::new(Self { budgets, short, refusals })
    }

    /// The budgets of the calls of this process that are made with options alone and have this configuration.
    pub(crate) fn of_calls(config: BudgetConfig) -> Arc<Self> {
        static OF_CALLS: Mutex<Vec<(BudgetConfig, Arc<LoopBudgets>)>> = Mutex::new(Vec::new());
        let mut known = OF_CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, budgets)) = known.iter().find(|known| known.0 == config) {
            return budgets.clone();
        }
        let budgets = Self::new(config);
        known.push((config, budgets.clone()));
        budgets
    }

    /// The number of the latest refusal, which an operation notes when it begins.
    #[inline]
    pub(crate) fn refusals(&self) -> u32 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// True if a budget is short of tokens.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.short.load(Ordering::Relaxed)
    }

    /// A first attempt succeeded.
    #[cold]
    pub(crate) fn succeed(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        let now = clock::now(py)?;
        let mut budgets = self.lock();
        budgets.succeed(key, now);
        self.show(&budgets);
        Ok(())
    }

    /// Runs a transition with the budget of a key beside the guards, unless they have one.
    pub(crate) fn with_budget<T>(
        &self,
        key: &str,
        now: Timestamp,
        guards: &mut Guards<'_>,
        transition: impl FnOnce(&mut Guards<'_>) -> T,
    ) -> T {
        if OFF.load(Ordering::Relaxed) {
            return transition(guards);
        }
        let others = take(guards);
        let mut budgets = self.lock();
        let answer = budgets.with_budget(key, now, |config, budget| {
            transition(&mut Guards { budget: Some((config, budget)), ..others })
        });
        self.show(&budgets);
        answer
    }

    fn lock(&self) -> MutexGuard<'_, KeyedBudget> {
        self.budgets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the state of the budgets. It runs under the lock, so that two calls cannot leave that of the first one.
    fn show(&self, budgets: &KeyedBudget) {
        self.short.store(!budgets.is_full(), Ordering::Relaxed);
        self.refusals.store(budgets.refusals(), Ordering::Relaxed);
    }
}

functions! { py;
    /// Turns the budgets of all loops off or on, for `holdoff.testing`. Returns True if they were off.
    fn override_budgets[off: bool]() -> bool = OFF.swap(off, Ordering::Relaxed);
}
