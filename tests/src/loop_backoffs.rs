//! The delays of a backoff that begins again by itself.

use crate::format::N;
use crate::run::all_same;
use holdoff_core::{LoopBackoff, Reset, Span, Timestamp, WaitBackoff};
use serde::{Deserialize, Serialize};

/// A loop backoff, when it is asked, and its delays.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct LoopBackoffCase {
    backoff: Stepped,
    /// When it begins again.
    reset: When,
    /// The time when it was made.
    made: N,
    asks: Vec<Ask>,
    /// The delay at each.
    delays: Vec<N>,
}

/// A wait backoff.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
struct Stepped {
    duration: N,
    factor: f64,
    jitter: f64,
    cap: N,
    steps: N,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
enum When {
    Never,
    AfterQuiet(N),
    Every(N),
}

/// A question for a delay, with the uniform of its jitter.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
struct Ask {
    now: N,
    #[serde(default)]
    u: f64,
}

/// Asks a loop backoff for the delays of a case.
pub fn run(case: &LoopBackoffCase) -> Result<(), String> {
    let span = |n: N| Span::from_nanos(n.0);
    let Stepped { duration, factor, jitter, cap, steps } = case.backoff;
    let backoff = WaitBackoff::new(span(duration), factor, jitter, span(cap), steps.0);
    let backoff = backoff.map_err(|error| error.to_string())?;
    let reset = match case.reset {
        When::Never => Reset::Never,
        When::AfterQuiet(limit) => Reset::AfterQuiet(span(limit)),
        When::Every(limit) => Reset::Every(span(limit)),
    };
    let mut machine = LoopBackoff::new(backoff, reset, Timestamp::from_nanos(case.made.0));
    let delay = |ask: &Ask| N(machine.next(Timestamp::from_nanos(ask.now.0), ask.u).as_nanos());
    all_same(&case.delays, &case.asks.iter().map(delay).collect::<Vec<_>>())
}
