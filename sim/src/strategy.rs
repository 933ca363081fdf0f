//! Strategies of a client: a policy and the guards of its process, from a policy document.

use anyhow::{Result, bail};
use holdoff_core::{
    Adaptive, AdaptiveConfig, Breaker, BreakerConfig, Budget, BudgetConfig, Document, DocumentError, Guards, Limiter,
    LimiterConfig, Policy, Stretch, StretchConfig, Timestamp,
};

/// A policy and the configurations of a process's guards.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// The name in the table.
    pub name: String,
    /// Shared by all clients, as is the rest.
    pub policy: Policy,
    budget: Option<BudgetConfig>,
    breaker: Option<BreakerConfig>,
    limiter: Option<LimiterConfig>,
    adaptive: Option<AdaptiveConfig>,
    stretch: Option<StretchConfig>,
}

/// The guards of all processes, each kind in a list of its own, so that a fleet has room only for the kinds that its strategy has.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    budgets: Vec<Budget>,
    breakers: Vec<Breaker>,
    limiters: Vec<(Limiter, Box<[u64]>)>,
    adaptives: Vec<Adaptive>,
    stretches: Vec<Stretch>,
}

impl Processes {
    /// Adds the guards of a process that starts at `now`.
    pub fn start(&mut self, strategy: &Strategy, seed: u64, now: Timestamp) {
        self.budgets.extend(strategy.budget.map(|config| Budget::new(&config, seed, now)));
        self.breakers.extend(strategy.breaker.map(|config| Breaker::new(&config, seed, now)));
        self.limiters.extend(strategy.limiter.map(|config| {
            let words = vec![0; config.words()].into_boxed_slice();
            (Limiter::new(&config, now), words)
        }));
        self.adaptives.extend(strategy.adaptive.map(|config| Adaptive::new(&config, now)));
        self.stretches.extend(strategy.stretch.map(|config| Stretch::new(&config, now)));
    }

    /// The guards of a process, borrowed for one transition.
    #[inline]
    pub fn lend<'a>(&'a mut self, strategy: &'a Strategy, process: u32) -> Guards<'a> {
        let process = process as usize;
        let limiter = strategy.limiter.as_ref().zip(self.limiters.get_mut(process));
        Guards {
            budget: strategy.budget.as_ref().zip(self.budgets.get_mut(process)),
            breaker: strategy.breaker.as_ref().zip(self.breakers.get_mut(process)),
            limiter: limiter.map(|(config, (limiter, words))| (config, limiter, &mut **words)),
            adaptive: strategy.adaptive.as_ref().zip(self.adaptives.get_mut(process)),
            stretch: strategy.stretch.as_ref().zip(self.stretches.get_mut(process)),
            ..Guards::none()
        }
    }
}

impl Strategy {
    /// The strategy of a policy document. If it names no budget, it has the budget of loops.
    ///
    /// # Errors
    /// The document is wrong, or has a guard that the simulator does not.
    pub fn read(name: &str, document: &str) -> Result<Self> {
        let mut input = serde_json::Deserializer::from_str(document);
        let read = Document::read(&mut input)?;
        input.end().map_err(DocumentError::not_of_format)?;
        Self::of(name, &read)
    }

    /// The strategy of a document that was read.
    ///
    /// # Errors
    /// The document has a guard that the simulator does not.
    pub fn of(name: &str, Document { policy, guards, .. }: &Document) -> Result<Self> {
        // A bulkhead needs a queue of clients, a hedge the time of each answer; a client of the simulation makes no nested calls.
        if let Some(section) = guards.sections().find(|section| ["bulkhead", "hedge"].contains(section)) {
            bail!("{section}: the simulator does not have this guard; remove it, or set it to \"none\"");
        }
        Ok(Self {
            name: name.to_owned(),
            policy: *policy,
            budget: guards.budget()?.or_else(|| guards.budget_of_loops(policy)),
            breaker: guards.breaker()?,
            limiter: guards.limiter()?,
            adaptive: guards.adaptive()?,
            stretch: guards.stretch()?,
        })
    }
}
