//! What a retry inside a retry does.

use crate::format::{Document, Event, FailureWord, N, StepWord};
use crate::options;
use crate::run::all_same;
use holdoff_core::{Layered, Layers, Level, Step, StopReason, Ticket, Timestamp};
use serde::{Deserialize, Serialize};

/// Two policies, one around the other, and what happens to a call under them.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct LayeredCase {
    /// The policy of the outer level.
    pub outer: Document,
    /// The policy of the inner level.
    pub inner: Document,
    /// The most attempts of both levels together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The reasons of the inner level after which the outer one goes on, if they are not the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_on_after: Option<Vec<String>>,
    /// The seed.
    pub seed: N,
    /// The inputs.
    pub events: Vec<Outward>,
    /// The step after each input, and how far each level is.
    pub answers: Vec<LayeredAnswer>,
}

/// An event of a call, and the failure that the outer level decides about if the inner one gives up.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Outward {
    #[serde(flatten)]
    event: Event,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outward: Option<FailureWord>,
}

/// A step of both levels.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct LayeredAnswer {
    step: Option<StepWord>,
    outer_attempt: u32,
    inner_attempt: u32,
    stopped_by: Option<String>,
    inner_reason: Option<String>,
}

/// Drives both levels through a case.
pub fn run(case: &LayeredCase) -> Result<(), String> {
    let policy = |of| options::policy(of).map_err(|error| format!("the policy is refused: {error:?}"));
    let layers = Layers::new(policy(&case.outer)?, policy(&case.inner)?, case.attempts);
    let mut layers = layers.map_err(|error| error.to_string())?;
    if let Some(words) = &case.go_on_after {
        for reason in StopReason::ALL {
            layers = layers.go_on_after(reason, words.iter().any(|word| word == reason.name()));
        }
    }
    let (first, rest) = case.events.split_first().ok_or("no events")?;
    let (mut layered, step) = begin(&layers, case.seed.0, &first.event).ok_or("the first event is no beginning")?;
    let mut answers = vec![answer(&layered, step)];
    for event in rest {
        let step = next(&mut layered, &layers, event).ok_or_else(|| format!("{event:?} makes no sense"))?;
        answers.push(answer(&layered, Some(step)));
    }
    all_same(&case.answers, &answers)
}

fn begin(layers: &Layers, seed: u64, event: &Event) -> Option<(Layered, Option<Step>)> {
    match *event {
        Event::Begin { now } => {
            let (layered, step) = Layered::begin(layers, seed, at(now));
            Some((layered, Some(step)))
        }
        Event::Underway { started } => Some((Layered::underway(layers, seed, at(started)), None)),
        _ => None,
    }
}

fn next(layered: &mut Layered, layers: &Layers, Outward { event, outward }: &Outward) -> Option<Step> {
    Some(match event {
        Event::Begin { .. } | Event::Underway { .. } => return None,
        Event::Succeed { ticket, now } => layered.succeed(Ticket::from_raw(ticket.0), at(*now)),
        Event::Fail { ticket, now, failure } => {
            let outward = outward.as_ref().map(|failure| failure.failure().ok_or(())).transpose().ok()?;
            layered.fail_as(layers, Ticket::from_raw(ticket.0), at(*now), failure.failure()?, outward)
        }
        Event::Tick { now } => layered.tick(layers, at(*now)),
        Event::Cancel { now } => layered.cancel(at(*now)),
    })
}

fn answer(layered: &Layered, step: Option<Step>) -> LayeredAnswer {
    LayeredAnswer {
        step: step.map(StepWord::from),
        outer_attempt: layered.outer_attempt(),
        inner_attempt: layered.inner_attempt(),
        stopped_by: layered.stopped_by().map(Level::name).map(str::to_owned),
        inner_reason: layered.inner_reason().map(StopReason::name).map(str::to_owned),
    }
}

fn at(n: N) -> Timestamp {
    Timestamp::from_nanos(n.0)
}
