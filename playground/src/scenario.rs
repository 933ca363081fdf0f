//! The numbers of the page's sliders as a scenario.

use crate::problem::Problem;
use holdoff_sim::scenario::Scenario;
use holdoff_sim::server::Fault;
use serde::Deserialize;

/// A scenario with the numbers of its fault beside the others: a reader of [`Scenario`] would be a twentieth of the module.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Numbers {
    clients: u32,
    rate: f64,
    load: f64,
    lasts: f64,
    after: u64,
    patience: f64,
    closed: bool,
    seed: u64,
    most_attempts: u64,
    fault: String,
    share: f64,
    retry_after: f64,
    factor: f64,
    requests: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        let Scenario { clients, rate, load, lasts, after, patience, closed, seed, most_attempts, .. } =
            Scenario::default();
        let fault = "down".to_owned();
        Self {
            clients,
            rate,
            load,
            lasts,
            after,
            patience,
            closed,
            seed,
            most_attempts,
            fault,
            share: 0.5,
            retry_after: 5.0,
            factor: 5.0,
            requests: 20_000,
        }
    }
}

/// Reads the page's own text.
pub(crate) fn read(text: &str) -> Result<Scenario, Problem> {
    let numbers: Numbers = serde_json::from_str(text).map_err(|error| Problem::of(error.to_string()))?;
    let Numbers { share, retry_after, factor, requests, .. } = numbers;
    let fault = match numbers.fault.as_str() {
        "down" => Fault::Down,
        "down-then-full" => Fault::DownThenFull,
        "slow" => Fault::Slow,
        "errors" => Fault::Errors { share },
        "timeouts" => Fault::Timeouts { share },
        "rate-limit" => Fault::RateLimit { share, retry_after },
        "cold-cache" => Fault::ColdCache { factor, requests },
        other => return Err(Problem::of(format!("there is no fault `{other}`"))),
    };
    let Numbers { clients, rate, load, lasts, after, patience, closed, seed, most_attempts, .. } = numbers;
    let scenario = Scenario {
        clients,
        rate,
        load,
        lasts,
        after,
        patience,
        closed,
        seed,
        most_attempts,
        fault,
        ..Scenario::default()
    };
    scenario.check().map_err(|error| Problem::of(error.to_string()))?;
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_that_of_its_own_reader() {
        for (flat, own) in [
            ("{}", "{}"),
            (
                r#"{"clients": 5, "lasts": 2.5, "seed": 9, "closed": true}"#,
                r#"{"clients": 5, "lasts": 2.5, "seed": 9, "closed": true}"#,
            ),
            (r#"{"fault": "slow"}"#, r#"{"fault": {"kind": "slow"}}"#),
            (r#"{"fault": "down-then-full"}"#, r#"{"fault": {"kind": "down-then-full"}}"#),
            (r#"{"fault": "errors", "share": 0.2}"#, r#"{"fault": {"kind": "errors", "share": 0.2}}"#),
            (r#"{"fault": "timeouts"}"#, r#"{"fault": {"kind": "timeouts", "share": 0.5}}"#),
            (
                r#"{"fault": "rate-limit", "retry_after": 9}"#,
                r#"{"fault": {"kind": "rate-limit", "share": 0.5, "retry_after": 9}}"#,
            ),
            (r#"{"fault": "cold-cache"}"#, r#"{"fault": {"kind": "cold-cache", "factor": 5, "requests": 20000}}"#),
        ] {
            let own: Scenario = serde_json::from_str(own).unwrap();
            assert_eq!(format!("{:?}", read(flat).unwrap()), format!("{own:?}"), "{flat}");
        }
        for (wrong, words) in [
            (r#"{"clients": 0}"#, "`clients` = 0"),
            (r#"{"fault": "x"}"#, "no fault `x`"),
            ("[", "EOF"),
            (r#"{"x": 1}"#, "unknown"),
        ] {
            let Err(problem) = read(wrong) else { panic!("{wrong}") };
            assert!(problem.message.contains(words), "{}", problem.message);
        }
    }
}
