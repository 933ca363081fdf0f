//! The budget that a loop brings to a policy that names none.

use crate::clock;
use holdoff_core::{BudgetConfig, Guards, KeyedBudget, Timestamp};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use std::mem::take;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Budgets are off, for tests.
static OFF: AtomicBool = AtomicBool::new(false);

/// A token budget for each key of one policy.
///
/// A first attempt that succeeds reads two numbers: without Python `refusals` and `short`, and in an awaiting loop, where a call into
/// this module would be most of the cost, a list of both.
pub(crate) struct LoopBudgets {
    budgets: Mutex<KeyedBudget>,
    short: AtomicBool,
    /// The number of the latest refusal.
    refusals: AtomicU32,
    shown: PyOnceLock<Py<PyList>>,
}

impl LoopBudgets {
    pub(crate) fn new(config: BudgetConfig) -> Arc<Self> {
        let budgets = Mutex::new(KeyedBudget::new(config));
        let (short, refusals) = (AtomicBool::new(false), AtomicU32::new(0));
        Arc::new(Self { budgets, short, refusals, shown: PyOnceLock::new() })
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

    /// A list: True if a budget is short of tokens, and the number of the latest refusal.
    pub(crate) fn shown<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyList>> {
        let list = || PyResult::Ok(PyList::new(py, [u32::from(self.is_short()), self.refusals()])?.unbind());
        self.shown.get_or_try_init(py, list).map(|list| list.bind(py))
    }

    /// A first attempt succeeded.
    #[cold]
    pub(crate) fn succeed(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        let now = clock::now(py)?;
        let mut budgets = self.lock();
        budgets.succeed(key, now);
        self.show(py, &budgets)
    }

    /// Runs a transition with the budget of a key beside the guards, unless they have one.
    pub(crate) fn lend<T>(
        &self,
        py: Python<'_>,
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
        let answer = budgets
            .lend(key, now, |config, budget| transition(&mut Guards { budget: Some((config, budget)), ..others }));
        // It cannot fail but for memory, and a budget that looks full only misses rewards.
        let _shown = self.show(py, &budgets);
        answer
    }

    fn lock(&self) -> MutexGuard<'_, KeyedBudget> {
        self.budgets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the state of the budgets. It runs under the lock, so that two calls cannot leave that of the first one; a list of numbers
    /// runs no Python.
    fn show(&self, py: Python<'_>, budgets: &KeyedBudget) -> PyResult<()> {
        let (short, refusals) = (!budgets.is_full(), budgets.refusals());
        let same = self.short.swap(short, Ordering::Relaxed) == short;
        if self.refusals.swap(refusals, Ordering::Relaxed) == refusals && same {
            return Ok(());
        }
        let shown = self.shown(py)?;
        shown.set_item(0, u32::from(short))?;
        shown.set_item(1, refusals)
    }
}

functions! { py;
    /// Turns the budgets of all loops off or on, for `holdoff.testing`. Returns True if they were off.
    fn override_budgets[off: bool]() -> bool = OFF.swap(off, Ordering::Relaxed);
}
