//! What the hooks of a loop are told.

use crate::format::{Document, FailureWord, N};
use crate::options;
use crate::run::all_same;
use holdoff::core::{Failure, FailureKind, Hint, Span};
use holdoff::testing::VirtualTime;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// An operation that does what a script says, in virtual time.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct TraceCase {
    /// The policy.
    pub policy: Document,
    /// The seed of the operation.
    pub seed: N,
    /// The attempts, in their order.
    pub script: Vec<Scripted>,
    /// The events.
    pub trace: Vec<Told>,
}

/// An attempt.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Scripted {
    /// How long it takes.
    took: N,
    /// How it fails; a success has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<FailureWord>,
    /// The delay that the program chooses after it; without one the policy decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chosen: Option<N>,
}

/// An event, its times since the operation began.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields have the names of the hooks' fields")]
pub enum Told {
    Attempt { attempt: u32, elapsed: N },
    Retry { attempt: u32, elapsed: N, kind: String, delay: N, cause: String },
    Success { attempt: u32, elapsed: N },
    GiveUp { attempt: u32, elapsed: N, kind: String, reason: String, retry_in: Option<N> },
}

fn n(time: Duration) -> N {
    N(Span::from_duration(time).as_nanos())
}

fn name(kind: FailureKind) -> String {
    kind.name().to_owned()
}

/// Runs an operation by its script.
pub fn run(case: &TraceCase) -> Result<(), String> {
    let policy = options::policy(&case.policy).map_err(|error| format!("the policy is refused: {error:?}"))?;
    let (time, told) = (VirtualTime::new(), RefCell::new(Vec::new()));
    let chosen = Cell::new(None);
    let tell = |event| told.borrow_mut().push(event);
    let mut script = case.script.iter();
    let operation = || {
        let scripted = script.next().ok_or(Failure::PERMANENT)?;
        time.advance(Duration::from_nanos(scripted.took.0));
        chosen.set(scripted.chosen);
        scripted.failure.as_ref().map_or(Ok(()), |failure| Err(failure.failure().unwrap_or(Failure::PERMANENT)))
    };
    let retrying =
        holdoff::retry(policy, operation).classify(|failure| *failure).seed(case.seed.0).sleeper(time.clone());
    // The result is in the last event.
    _ = retrying
        .delay(|_| chosen.get().map(|nanos| Hint::after(Span::from_nanos(nanos.0))))
        .on_attempt(|event| tell(Told::Attempt { attempt: event.attempt, elapsed: n(event.elapsed) }))
        .on_retry(|event| {
            tell(Told::Retry {
                attempt: event.attempt,
                elapsed: n(event.elapsed),
                kind: name(event.failure.kind),
                delay: n(event.delay),
                cause: event.cause.name().to_owned(),
            });
        })
        .on_success(|event| tell(Told::Success { attempt: event.attempt, elapsed: n(event.elapsed) }))
        .on_give_up(|event| {
            tell(Told::GiveUp {
                attempt: event.attempt,
                elapsed: n(event.elapsed),
                kind: event.failure.map(|failure| name(failure.kind)).unwrap_or_default(),
                reason: event.reason.name().to_owned(),
                retry_in: event.retry_in.map(n),
            });
        })
        .call();
    all_same(&case.trace, &told.into_inner())
}
