//! Strategies of a client: a policy and the guards of its process.

use anyhow::Result;
use holdoff_core::{
    Adaptive, AdaptiveConfig, Breaker, BreakerConfig, Budget, BudgetConfig, Guards, Jitter, Options, Policy, Refusal,
    Span, Stretch, StretchConfig, Timestamp,
};
use std::time::Duration;

/// How long a client waits for the answer to one attempt.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// How long it waits for a call.
const DEADLINE: Duration = Duration::from_secs(10);

/// A policy and the configurations of a process's guards.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// The name in the table.
    pub name: &'static str,
    /// Shared by all clients, as is the rest.
    pub policy: Policy,
    budget: Option<BudgetConfig>,
    breaker: Option<BreakerConfig>,
    adaptive: Option<AdaptiveConfig>,
    stretch: Option<StretchConfig>,
}

/// The guards of all processes, each kind in a list of its own, so that a fleet has room only for the kinds that its strategy has.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    budgets: Vec<Budget>,
    breakers: Vec<Breaker>,
    adaptives: Vec<Adaptive>,
    stretches: Vec<Stretch>,
}

impl Processes {
    /// Adds the guards of a process that starts at `now`.
    pub fn start(&mut self, strategy: &Strategy, seed: u64, now: Timestamp) {
        self.budgets.extend(strategy.budget.map(|config| Budget::new(&config, seed, now)));
        self.breakers.extend(strategy.breaker.map(|config| Breaker::new(&config, seed, now)));
        self.adaptives.extend(strategy.adaptive.map(|config| Adaptive::new(&config, now)));
        self.stretches.extend(strategy.stretch.map(|config| Stretch::new(&config, now)));
    }

    /// The guards of a process, borrowed for one transition.
    #[inline]
    pub fn lend<'a>(&'a mut self, strategy: &'a Strategy, process: u32) -> Guards<'a> {
        let process = process as usize;
        Guards {
            budget: strategy.budget.as_ref().zip(self.budgets.get_mut(process)),
            breaker: strategy.breaker.as_ref().zip(self.breakers.get_mut(process)),
            adaptive: strategy.adaptive.as_ref().zip(self.adaptives.get_mut(process)),
            stretch: strategy.stretch.as_ref().zip(self.stretches.get_mut(process)),
            ..Guards::none()
        }
    }
}

impl Strategy {
    fn new(name: &'static str, policy: Options) -> Result<Self> {
        let policy = policy.attempt_timeout(PATIENCE).deadline(DEADLINE).build()?;
        Ok(Self { name, policy, budget: None, breaker: None, adaptive: None, stretch: None })
    }

    /// The default policy with a deadline under another name, to be given guards.
    fn guarded(name: &'static str) -> Result<Self> {
        Self::new(name, Policy::options().attempts(3))
    }

    fn budget(self, config: BudgetConfig) -> Self {
        Self { budget: Some(config), ..self }
    }

    fn breaker(self) -> Self {
        Self { breaker: Some(BreakerConfig::default()), ..self }
    }
}

/// Every call has one attempt.
///
/// # Errors
/// None of these strategies is invalid; the core checks them all the same.
pub fn single() -> Result<Strategy> {
    Strategy::new("no retry", Policy::options().attempts(1))
}

/// The default policy and no guard.
///
/// # Errors
/// As [`single`].
pub fn retries_only() -> Result<Strategy> {
    Strategy::guarded("retry, full jitter")
}

/// The default policy as a loop runs it: under the budget of loops.
///
/// # Errors
/// As [`single`].
pub fn by_default() -> Result<Strategy> {
    Ok(Strategy::guarded("holdoff by default")?.budget(BudgetConfig::of_loops()))
}

/// The default policy under the default configuration of a budget.
///
/// # Errors
/// As [`single`].
pub fn budgeted() -> Result<Strategy> {
    Ok(Strategy::guarded("+ budget")?.budget(BudgetConfig::default()))
}

/// Both, and the default breaker.
///
/// # Errors
/// As [`single`].
pub fn budgeted_breaker() -> Result<Strategy> {
    Ok(Strategy::guarded("+ budget, breaker")?.budget(BudgetConfig::default()).breaker())
}

/// A budget of one retry, which ten calls without one earn back.
///
/// # Errors
/// As [`single`].
pub fn purse() -> Result<Strategy> {
    let cost = 10;
    Ok(Strategy::guarded("+ purse of one")?.budget(BudgetConfig::token(cost, [cost; 3], 1.0, 0.0)?))
}

/// The rows of the table.
///
/// # Errors
/// As [`single`].
pub fn all() -> Result<Vec<Strategy>> {
    let mut adaptive = Strategy::guarded("+ adaptive (AWS)")?;
    adaptive.adaptive = Some(AdaptiveConfig::default().with_refusal(Refusal::Wait));
    let mut stretch = Strategy::guarded("+ stretch by 10")?;
    stretch.stretch = Some(StretchConfig::new(10.0, Span::from_secs(10), 5)?);
    // The numbers of the AWS SDKs' standard mode, gRPC's proposal A6, Envoy's retry budget, and chapter 21 of the SRE book.
    let quota = BudgetConfig::token(500, [5, 10, 5], 1.0, 0.0)?;
    let throttle = BudgetConfig::throttle(10, 0.1)?;
    let share = BudgetConfig::share(0.2, 3)?;
    let requests = BudgetConfig::requests(2.0, Span::from_secs(120))?;
    Ok(vec![
        single()?,
        Strategy::new("retry, no jitter", Policy::options().attempts(3).jitter(Jitter::None))?,
        retries_only()?,
        by_default()?,
        budgeted()?,
        Strategy::guarded("+ breaker")?.breaker(),
        budgeted_breaker()?,
        purse()?,
        Strategy::guarded("+ quota (AWS)")?.budget(quota),
        Strategy::guarded("+ throttle (gRPC)")?.budget(throttle),
        Strategy::guarded("+ share (Envoy)")?.budget(share),
        Strategy::guarded("+ requests (SRE)")?.budget(requests),
        adaptive,
        stretch,
    ])
}
