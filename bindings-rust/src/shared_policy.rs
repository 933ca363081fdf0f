//! A policy that many calls share, with the budget for their retries.

use crate::guarded::{CallGuards, ShareGuards, SharedCall};
use crate::in_flight::One;
use crate::operation::{Attempt, Informed, Plain, Returns};
use crate::retrying::Retrying;
use crate::sleeper::{Clock, Loop, SYSTEM, System};
use holdoff_core::{BudgetConfig, Guards, KeyedBudget, Options, Policy, Step, Timestamp};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A policy for all calls to one server, with a budget for their retries: keep one in a static or an [`Arc`](std::sync::Arc).
///
/// While a server is down, every call makes all its attempts, and retries multiply the load that it cannot carry. So the calls of
/// a shared policy share a budget. When calls begin to fail, every one may retry for a second; after that they share 20 tokens: a
/// retry costs 1, after a timeout or a 429 without `Retry-After` 10; a call that succeeds gives back what it took and earns 1; waiting
/// for a `Retry-After` is free. A call that finds too few tokens ends with [`StopReason::Budget`](holdoff_core::StopReason::Budget).
///
/// A lone call that times out has two retries, whatever its attempts are. A script that needs more names a larger budget, `"budget": 1000`
/// in a document or [`Field::BudgetKind`](holdoff_core::Field) in options, see [`SharedPolicy::of`].
///
/// ```
/// use holdoff::{Policy, SharedPolicy};
/// use std::sync::LazyLock;
///
/// static SEARCH: LazyLock<SharedPolicy> = LazyLock::new(|| SharedPolicy::new(Policy::default()));
///
/// # fn search(words: &str) -> std::io::Result<String> { Ok(words.to_owned()) }
/// let found = SEARCH.retry(|| search("rust")).classify(holdoff::classify::io_failure).call()?;
/// # assert_eq!(found, "rust");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// One policy for several servers has a budget for each of them by its [`key`](Retrying::key). A first attempt that succeeds reads
/// no clock and takes no lock while no budget is short of tokens.
#[derive(Debug)]
pub struct SharedPolicy {
    policy: Policy,
    budgets: Option<Mutex<Budgets>>,
    /// A budget is short of tokens.
    short: AtomicBool,
    /// The number of the latest refusal.
    refusals: AtomicU32,
}

/// The budgets by key, and the clock of the latest call.
#[derive(Debug)]
struct Budgets {
    keyed: KeyedBudget,
    clock: Clock,
}

impl SharedPolicy {
    /// A policy with the budget of loops, [`BudgetConfig::of_loops`](holdoff_core::BudgetConfig::of_loops). A policy that goes on for
    /// ever, or until its deadline alone, has none: a budget would end it before.
    pub fn new(policy: Policy) -> Self {
        Self::of(policy, &Options::NEW)
    }

    /// A policy with its guards, of a document for example. The loop brings no budget where the guards name one, be it "none"; give a [`SharedGuards`](crate::SharedGuards) of them to the calls of [`retry`](crate::retry).
    pub fn of(policy: Policy, guards: &Options) -> Self {
        Self::made(policy, guards.budget_of_loops(&policy))
    }

    /// A policy without a budget, for tests and for a policy whose calls share another one.
    pub fn without_budget(policy: Policy) -> Self {
        Self::made(policy, None)
    }

    fn made(policy: Policy, config: Option<BudgetConfig>) -> Self {
        let budgets = config.map(|config| Mutex::new(Budgets { keyed: KeyedBudget::new(config), clock: SYSTEM }));
        Self { policy, budgets, short: AtomicBool::new(false), refusals: AtomicU32::new(0) }
    }

    /// The policy.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Retries `operation` by the policy and under its budget: see [`retry`](crate::retry).
    #[inline]
    pub fn retry<F, R, M>(&self, operation: F) -> Retrying<&Policy, Plain<F, M>, (), System, Budgeted<'_>>
    where
        F: FnMut() -> R,
        R: Returns<M>,
    {
        Retrying::new(&self.policy, std::any::type_name::<F>(), Plain(operation, PhantomData), Budgeted::of(self))
    }

    /// Retries `operation`, which is told its [`Attempt`], by the policy and under its budget: see
    /// [`retry_with`](crate::retry_with).
    #[inline]
    pub fn retry_with<F, R, M>(&self, operation: F) -> Retrying<&Policy, Informed<F, M>, (), System, Budgeted<'_>>
    where
        F: FnMut(Attempt) -> R,
        R: Returns<M>,
    {
        Retrying::new(&self.policy, std::any::type_name::<F>(), Informed(operation, PhantomData), Budgeted::of(self))
    }

    /// The tokens of a key's budget now, by the clock of the calls; of a sleeper's own clock as of the latest call. `None` without a
    /// budget. The key is empty unless a call has one.
    pub fn balance(&self, key: &str) -> Option<f64> {
        let budgets = self.budgets()?;
        let now = budgets.clock.map_or(Timestamp::ZERO, |clock| clock());
        Some(budgets.keyed.balance(key, now))
    }

    /// The configuration of each key's budget.
    #[cfg(feature = "tower")]
    pub(crate) fn budget_config(&self) -> Option<BudgetConfig> {
        self.budgets().map(|budgets| *budgets.keyed.config())
    }

    fn budgets(&self) -> Option<MutexGuard<'_, Budgets>> {
        let budgets = self.budgets.as_ref().filter(|_| !crate::switches::has_no_budgets())?;
        Some(budgets.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[cold]
    fn reward(&self, key: &str, now: Timestamp) {
        if let Some(mut budgets) = self.budgets() {
            budgets.keyed.succeed(key, now);
            self.show(&budgets.keyed);
        }
    }

    /// Shows the state of the budgets to calls that do not take the lock.
    fn show(&self, budgets: &KeyedBudget) {
        self.short.store(!budgets.is_full(), Ordering::Relaxed);
        self.refusals.store(budgets.refusals(), Ordering::Relaxed);
    }
}

/// The budget of a [`SharedPolicy`].
#[derive(Clone, Copy, Debug)]
pub struct Budgeted<'a> {
    shared: &'a SharedPolicy,
    key: &'a str,
    /// The number of the latest refusal when the operation began.
    noted: u32,
}

impl<'a> Budgeted<'a> {
    #[inline]
    const fn of(shared: &'a SharedPolicy) -> Self {
        Self { shared, key: "", noted: 0 }
    }
}

impl<'a, P, O, H, S> Retrying<P, O, H, S, Budgeted<'a>> {
    /// Names the server that is called, `scheme://host:port`, if calls of the policy go to more than one: each key has a budget of its own.
    #[inline]
    pub fn key(mut self, key: &'a str) -> Self {
        self.guards.key = key;
        self
    }
}

impl<'a> CallGuards for Budgeted<'a> {
    type Call = SharedCall<Self>;

    const LAZY: bool = true;

    #[inline(always)]
    fn note(&mut self) {
        self.noted = self.shared.refusals.load(Ordering::Relaxed);
    }

    #[inline(always)]
    fn key(&self) -> &str {
        self.key
    }

    #[inline(always)]
    fn succeeded_at_once(&self, clock: impl FnOnce() -> Timestamp) {
        if self.shared.short.load(Ordering::Relaxed) {
            self.shared.reward(self.key, clock());
        }
    }

    fn begin(&mut self, policy: &Policy, host: Loop, seed: u64, now: Timestamp) -> (Self::Call, Step) {
        let (call, step) = SharedCall::begin(Some(*self), policy, host, seed, now);
        (call.noting(self.noted), step)
    }
}

impl ShareGuards for Budgeted<'_> {
    type InFlight<F: Future, Z: Future> = One<F, Z>;

    fn with_guards<R>(&self, host: Loop, now: Timestamp, run: impl FnOnce(&mut Guards<'_>) -> R) -> R {
        let Some(mut budgets) = self.shared.budgets() else { return run(&mut Guards::none()) };
        budgets.clock = host.clock;
        let answer = budgets.keyed.with_budget(self.key, now, |config, budget| {
            run(&mut Guards { budget: Some((config, budget)), ..Guards::none() })
        });
        self.shared.show(&budgets.keyed);
        answer
    }
}
