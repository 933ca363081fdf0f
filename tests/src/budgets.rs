//! What a budget allows.

use crate::format::{Document, N};
use crate::options;
use holdoff_core::{Budget, BudgetConfig, FailureKind, Timestamp, Withdrawal};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A budget, what happens to it, and what it says to that.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct BudgetCase {
    /// The `budget` of a policy document.
    pub budget: Document,
    /// Where the case comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The seed.
    #[serde(default = "zero", skip_serializing_if = "is_zero")]
    pub seed: N,
    /// By how much a probability may differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// What happens.
    pub events: Vec<BudgetEvent>,
    /// What the budget says to each.
    pub answers: Vec<BudgetAnswer>,
}

const fn zero() -> N {
    N(0)
}

const fn is_zero(n: &N) -> bool {
    n.0 == 0
}

/// What happens to a budget: one thing, or several of them over and over.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct BudgetEvent {
    /// What.
    pub op: BudgetOp,
    /// The time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<N>,
    /// Which of several calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// Of a failure, transient unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// What is repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<BudgetEvent>,
}

/// The inputs of a budget.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum BudgetOp {
    /// Nothing but time has passed.
    Look,
    /// A call begins.
    Begin,
    /// An attempt asks whether it may start.
    Admit,
    /// An attempt failed.
    Fail,
    /// May there be a retry?
    Withdraw,
    /// A retry that was allowed never ran.
    Refund,
    /// A retry has run.
    Retried,
    /// The call succeeded.
    Succeed,
    /// The call is over.
    End,
    /// The events inside, so many times.
    Repeat,
}

/// What a budget says. What is not there is not looked at.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct BudgetAnswer {
    /// Whether it allows an attempt or a retry, or how many of the repeated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Allowed>,
    /// The balance after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<f64>,
    /// The probability after it that an attempt is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<f64>,
}

/// Yes, no, or how many.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(untagged)]
pub enum Allowed {
    /// Of one event.
    One(bool),
    /// Of a repeat.
    Count(u32),
}

/// A budget at work.
struct Machine {
    config: BudgetConfig,
    budget: Budget,
    /// What each call holds.
    held: HashMap<u32, Withdrawal>,
    now: Timestamp,
}

impl Machine {
    /// How many yeses an event gets.
    fn hand(&mut self, event: &BudgetEvent) -> Result<u32, String> {
        if event.op == BudgetOp::Repeat {
            let mut allowed = 0_u32;
            for _ in 0..event.times.unwrap_or_default() {
                for event in &event.events {
                    allowed += self.hand(event)?;
                }
            }
            return Ok(allowed);
        }
        self.now = Timestamp::from_nanos(event.at.ok_or("an event without a time")?.0);
        let word = event.kind.as_deref().unwrap_or("transient");
        let kind = FailureKind::ALL.into_iter().find(|kind| kind.name() == word).ok_or("no such kind of failure")?;
        let call = event.call.unwrap_or_default();
        let Self { config, budget, held, now } = self;
        let allowed = match event.op {
            BudgetOp::Admit => budget.admit(config, *now),
            BudgetOp::Withdraw => {
                let got = budget.withdraw(config, *now, kind, budget.refusals());
                held.extend(got.map(|got| (call, got)));
                got.is_some()
            }
            BudgetOp::Begin => {
                held.remove(&call);
                budget.begin(config, *now);
                false
            }
            BudgetOp::Fail => {
                budget.fail(config, *now, kind);
                false
            }
            BudgetOp::Refund => {
                budget.refund(config, *now, held.remove(&call).ok_or("a refund of nothing")?);
                false
            }
            BudgetOp::Retried => {
                budget.retried(config);
                false
            }
            BudgetOp::Succeed => {
                budget.succeed(config, *now, held.get(&call).copied());
                false
            }
            BudgetOp::End => {
                budget.end(config, None);
                false
            }
            BudgetOp::Look | BudgetOp::Repeat => false,
        };
        Ok(u32::from(allowed))
    }
}

/// Drives a budget through a case.
pub fn run(case: &BudgetCase) -> Result<(), String> {
    let document = Document::from_iter([("budget".to_owned(), case.budget.clone().into())]);
    let (_, guards) = options::guarded(&document).map_err(|error| format!("the budget is refused: {error:?}"))?;
    let config = guards.budget().map_err(|error| error.to_string())?.ok_or("no budget")?;
    if case.events.len() != case.answers.len() {
        return Err(format!("{} answers for {} events", case.answers.len(), case.events.len()));
    }
    let now = Timestamp::ZERO;
    let mut machine = Machine { config, budget: Budget::new(&config, case.seed.0, now), held: HashMap::new(), now };
    for (at, (event, expected)) in case.events.iter().zip(&case.answers).enumerate() {
        let allowed = machine.hand(event)?;
        let got = BudgetAnswer {
            allowed: expected.allowed.as_ref().map(|expected| match expected {
                Allowed::One(_) => Allowed::One(allowed > 0),
                Allowed::Count(_) => Allowed::Count(allowed),
            }),
            balance: expected.balance.map(|_| machine.budget.balance(&config, machine.now)),
            rejection: expected.rejection.map(|expected| {
                let got = machine.budget.rejection(&config, machine.now);
                if (got - expected).abs() <= case.within.unwrap_or_default() { expected } else { got }
            }),
        };
        if *expected != got {
            return Err(format!("expected {expected:?}, got {got:?} (at step {at})"));
        }
    }
    Ok(())
}
