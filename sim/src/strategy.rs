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

/// The guards of one process.
#[derive(Clone, Debug)]
pub struct Process {
    budget: Option<Budget>,
    breaker: Option<Breaker>,
    adaptive: Option<Adaptive>,
    stretch: Option<Stretch>,
}

impl Strategy {
    /// The guards of a process that starts at `now`.
    #[must_use]
    pub fn process(&self, seed: u64, now: Timestamp) -> Process {
        Process {
            budget: self.budget.map(|config| Budget::new(&config, seed, now)),
            breaker: self.breaker.map(|config| Breaker::new(&config, seed, now)),
            adaptive: self.adaptive.map(|config| Adaptive::new(&config, now)),
            stretch: self.stretch.map(|config| Stretch::new(&config, now)),
        }
    }

    /// A process's guards, borrowed for one transition.
    pub fn lend<'a>(&'a self, process: &'a mut Process) -> Guards<'a> {
        Guards {
            budget: self.budget.as_ref().zip(process.budget.as_mut()),
            breaker: self.breaker.as_ref().zip(process.breaker.as_mut()),
            adaptive: self.adaptive.as_ref().zip(process.adaptive.as_mut()),
            stretch: self.stretch.as_ref().zip(process.stretch.as_mut()),
            ..Guards::none()
        }
    }

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
