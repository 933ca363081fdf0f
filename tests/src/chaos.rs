//! Which attempts fail on purpose, and how long each is held up.

use crate::format::N;
use crate::run::all_same;
use holdoff_core::{Chaos, Span};
use serde::{Deserialize, Serialize};

/// A chaos, the attempts it is asked about, and its answers.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct ChaosCase {
    seed: N,
    failure_rate: f64,
    latency_rate: f64,
    shortest: N,
    longest: N,
    /// The numbers of the attempts.
    asks: Vec<N>,
    answers: Vec<ChaosAnswer>,
}

/// What happens to an attempt.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ChaosAnswer {
    fails: bool,
    latency: N,
}

/// Asks a chaos about the attempts of a case.
pub fn run(case: &ChaosCase) -> Result<(), String> {
    let span = |n: N| Span::from_nanos(n.0);
    let made = Chaos::new(case.seed.0, case.failure_rate, case.latency_rate, span(case.shortest), span(case.longest));
    let chaos = made.map_err(|error| error.to_string())?;
    let answer = |k: &N| ChaosAnswer { fails: chaos.fails(k.0), latency: N(chaos.latency(k.0).as_nanos()) };
    all_same(&case.answers, &case.asks.iter().map(answer).collect::<Vec<_>>())
}
