//! The budget that a loop brings to a policy that names none.

use crate::clock;
use holdoff_core::{BudgetConfig, Guards, Keyed, KeyedBudget, Span, Timestamp};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Budgets are off, for tests.
static OFF: AtomicBool = AtomicBool::new(false);

/// How many policies are remembered by their fields.
const REMEMBERED: usize = 256;

/// A token budget for each key of one policy.
///
/// A first attempt that succeeds reads one flag: without Python `short`, and in an awaiting loop, where a call into this module
/// would be most of the cost, a list that is empty while no budget is short.
pub(crate) struct LoopBudgets {
    budgets: Mutex<KeyedBudget>,
    short: AtomicBool,
    shown: PyOnceLock<Py<PyList>>,
}

impl LoopBudgets {
    pub(crate) fn new(config: BudgetConfig) -> Arc<Self> {
        let budgets = Mutex::new(KeyedBudget::new(config));
        Arc::new(Self { budgets, short: AtomicBool::new(false), shown: PyOnceLock::new() })
    }

    /// The budgets of the fields with this fingerprint: a policy that is written out at each call is one policy.
    pub(crate) fn remembered(fingerprint: u64, config: BudgetConfig) -> Arc<Self> {
        static BY_FIELDS: Mutex<Option<Keyed<u64, Arc<LoopBudgets>>>> = Mutex::new(None);
        let mut known = BY_FIELDS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| Keyed::new(REMEMBERED, Span::MAX));
        known.entry(fingerprint, Timestamp::ZERO, || Self::new(config)).clone()
    }

    /// True if a budget is short of tokens.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.short.load(Ordering::Relaxed)
    }

    /// A list that is empty while no budget is short of tokens.
    pub(crate) fn shown<'py>(&self, py: Python<'py>) -> &Bound<'py, PyList> {
        self.shown.get_or_init(py, || PyList::empty(py).unbind()).bind(py)
    }

    /// A first attempt succeeded.
    #[cold]
    pub(crate) fn succeed(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        let now = clock::now(py)?;
        let mut budgets = self.lock();
        budgets.succeed(key, now);
        self.show(py, !budgets.is_full())
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
        let _shown = self.show(py, !budgets.is_full());
        answer
    }

    fn lock(&self) -> MutexGuard<'_, KeyedBudget> {
        self.budgets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says if a budget is short of tokens. It runs under the lock, so that two calls cannot leave the flag of the first one; a list
    /// of True runs no Python.
    fn show(&self, py: Python<'_>, short: bool) -> PyResult<()> {
        if self.short.swap(short, Ordering::Relaxed) == short {
            return Ok(());
        }
        let shown = self.shown(py);
        if short { shown.append(true) } else { shown.del_slice(0, shown.len()) }
    }
}

functions! { py;
    /// Turns the budgets of all loops off or on, for `holdoff.testing`. Returns True if they were off.
    fn override_budgets[off: bool]() -> bool = OFF.swap(off, Ordering::Relaxed);
}
