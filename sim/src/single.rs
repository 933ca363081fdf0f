//! One run described by one document: a policy and a scenario. The storm lab and `cargo xtask storm --run` have the same one.

use crate::bounds::Figures;
use crate::fleet;
use crate::scenario::Scenario;
use crate::strategy::Strategy;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run<'a> {
    /// A policy document.
    #[serde(borrow)]
    policy: &'a RawValue,
    /// Fields of [`Scenario`].
    #[serde(default)]
    scenario: Scenario,
}

/// The result: figures of the whole run, and counts a second each.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Figures of the whole run.
    pub figures: Figures,
    /// How many requests a second the server can answer.
    pub capacity: f64,
    /// When the fault begins and ends, in seconds.
    pub fault: [u64; 2],
    /// Calls that began.
    pub calls: Vec<u32>,
    /// Attempts that began.
    pub attempts: Vec<u32>,
    /// Calls that ended with a success.
    pub goodput: Vec<u32>,
    /// Calls that began then and succeeded at any time.
    pub successes: Vec<u32>,
    /// True if the run ended early, with `most_attempts`.
    pub cut: bool,
}

/// Runs a document.
///
/// # Errors
/// The document is no JSON, has an unknown field or a number out of its range, or the policy is wrong.
pub fn run(document: &str) -> Result<Outcome> {
    let Run { policy, scenario } = serde_json::from_str(document)?;
    scenario.check().context("scenario")?;
    Ok(outcome(&scenario, &Strategy::read("policy", policy.get()).context("policy")?))
}

/// Runs a strategy in a scenario whose numbers are in their ranges.
#[must_use]
pub fn outcome(scenario: &Scenario, strategy: &Strategy) -> Outcome {
    let measures = fleet::run(scenario, strategy);
    let figures = Figures::of(scenario, &measures);
    let ill = scenario.ill();
    Outcome {
        figures,
        capacity: scenario.capacity(),
        fault: [ill.start, ill.end],
        cut: measures.cut,
        calls: measures.calls,
        attempts: measures.attempts,
        goodput: measures.goodput,
        successes: measures.successes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &str) -> String {
        run(document).map_or_else(|error| format!("{error:#}"), |outcome| format!("{outcome:?}"))
    }

    #[test]
    fn an_error_names_the_field() {
        for (document, message) in [
            (r#"{"policy": {}, "scenario": {"clients": 0}}"#, "scenario: `clients` = 0: must be from 1 to 10000000"),
            (r#"{"policy": {}, "scenario": {"client": 1}}"#, "unknown field `client`, expected one of `clients`"),
            (
                r#"{"policy": {"atempts": 2}}"#,
                "policy: atempts = 2: is not a field of a policy; did you mean \"attempts\"?",
            ),
            (r#"{"policy": {"bulkhead": 3}}"#, "policy: bulkhead: the simulator does not have this guard"),
            ("{}", "missing field `policy`"),
        ] {
            assert!(shown(document).starts_with(message), "{}", shown(document));
        }
    }

    #[test]
    fn clients_that_wait_for_their_calls_cannot_storm() {
        let run_with = |closed: bool| {
            let document = format!(
                r#"{{"policy": {{"attempts": 3, "budget": "none"}}, "scenario": {{"clients": 300, "closed": {closed}}}}}"#
            );
            run(&document).unwrap().figures
        };
        let (open, closed) = (run_with(false), run_with(true));
        assert!(open.back.is_none() && closed.back.is_some(), "{open:?}\n{closed:?}");
        assert!(closed.calls < open.calls);
    }

    #[test]
    fn a_run_without_end_is_cut() {
        let document = r#"{"policy": {"attempts": "forever", "backoff": {"kind": "constant", "delay": "0s"}},
            "scenario": {"clients": 100, "fault": {"kind": "errors", "share": 1}, "most_attempts": 5000}}"#;
        let outcome = run(document).unwrap();
        assert!(outcome.cut && outcome.figures.attempts <= 5001, "{outcome:?}");
    }

    #[test]
    fn a_retry_after_is_obeyed() {
        let document = |hint: &str| {
            format!(
                r#"{{"policy": {{"attempts": 3, "budget": "none", {hint}}}, "scenario": {{"clients": 300,
                    "fault": {{"kind": "rate-limit", "share": 0.5, "retry_after": 5}}}}}}"#
            )
        };
        let (obeyed, ignored) = (document(r#""hint": {}"#), document(r#""hint": "ignore""#));
        let successes = |document: &str| run(document).unwrap().figures.success_in_fault;
        assert!(successes(&obeyed) > successes(&ignored));
    }
}
