//! Strategies of a client: a policy and the guards of its process, from a policy document.

use crate::packed::Packed;
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

/// The guards of all processes, each kind in a list of its own, so that a fleet has memory only for the kinds that its strategy has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    budgets: Packed<Budget>,
    breakers: Packed<Breaker>,
    limiters: Vec<(Limiter, Box<[u64]>)>,
    adaptives: Packed<Adaptive>,
    stretches: Packed<Stretch>,
}

impl Processes {
    /// Adds the guards of a process that starts at `now`.
    pub(crate) fn start(&mut self, strategy: &Strategy, seed: u64, now: Timestamp) {
        if let Some(config) = &strategy.budget {
            self.budgets.put(&Budget::new(config, seed, now));
        }
        if let Some(config) = &strategy.breaker {
            self.breakers.put(&Breaker::new(config, seed, now));
        }
        if let Some(config) = &strategy.limiter {
            self.limiters.push((Limiter::new(config, now), vec![0; config.words()].into_boxed_slice()));
        }
        if let Some(config) = &strategy.adaptive {
            self.adaptives.put(&Adaptive::new(config, now));
        }
        if let Some(config) = &strategy.stretch {
            self.stretches.put(&Stretch::new(config, now));
        }
    }

    /// Lends the guards of a process for one transition.
    #[inline]
    pub(crate) fn with<R>(
        &mut self,
        strategy: &Strategy,
        process: u32,
        transition: impl FnOnce(&mut Guards<'_>) -> R,
    ) -> R {
        let Self { budgets, breakers, limiters, adaptives, stretches } = self;
        let (mut budget, mut breaker) = (budgets.get(process), breakers.get(process));
        let (mut adaptive, mut stretch) = (adaptives.get(process), stretches.get(process));
        let limiter = strategy.limiter.as_ref().zip(limiters.get_mut(process as usize));
        let result = transition(&mut Guards {
            budget: strategy.budget.as_ref().zip(budget.as_mut()),
            breaker: strategy.breaker.as_ref().zip(breaker.as_mut()),
            limiter: limiter.map(|(config, (limiter, words))| (config, limiter, &mut **words)),
            adaptive: strategy.adaptive.as_ref().zip(adaptive.as_mut()),
            stretch: strategy.stretch.as_ref().zip(stretch.as_mut()),
            ..Guards::none()
        });
        budget.iter().for_each(|budget| budgets.set(process, budget));
        breaker.iter().for_each(|breaker| breakers.set(process, breaker));
        adaptive.iter().for_each(|adaptive| adaptives.set(process, adaptive));
        stretch.iter().for_each(|stretch| stretches.set(process, stretch));
        result
    }

    /// Fetches the guards of a process, which are used soon.
    pub(crate) fn touch(&self, process: u32) {
        self.budgets.touch(process);
        self.breakers.touch(process);
        self.adaptives.touch(process);
        self.stretches.touch(process);
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
