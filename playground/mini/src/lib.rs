//! The storm lab of the start page: the default policy without and with its budget, in an outage of a few seconds.
//!
//! The page asks for one number and gets numbers: a reader of documents would be most of the module.

use holdoff_core::{Document, Field, Options};
use holdoff_sim::bounds::Figures;
use holdoff_sim::fleet;
use holdoff_sim::scenario::Scenario;
use holdoff_sim::strategy::Strategy;
use wasm_bindgen::prelude::wasm_bindgen;

/// The clients of a run: few, so that it is over before a slider has moved on.
const CLIENTS: u32 = 2000;
/// The longest outage, in seconds.
const LONGEST: u32 = 60;

/// Runs both policies through an outage of so many seconds.
///
/// The numbers: how many requests a second the server can answer, the second in which the outage begins, and that in which it ends;
/// then for each policy the attempts of each call, the share of the calls that succeed, the seconds after which the server has
/// recovered (-1: never), and the calls that succeed in each second. `budget` selects the policy with the budget.
#[wasm_bindgen]
#[must_use]
pub fn run(seconds: u32, budget: bool) -> Vec<f64> {
    let scenario = Scenario { clients: CLIENTS, lasts: f64::from(seconds.clamp(1, LONGEST)), ..Scenario::default() };
    let Ok(strategy) = strategy(budget) else { return Vec::new() };
    let measures = fleet::run(&scenario, &strategy);
    let figures = Figures::of(&scenario, &measures);
    let (ill, back) = (scenario.ill(), figures.back.map_or(-1.0, |back| back as f64));
    let mut numbers = vec![scenario.capacity(), ill.start as f64, ill.end as f64, figures.load, figures.success, back];
    numbers.extend(measures.goodput.iter().map(|count| f64::from(*count)));
    numbers
}

/// holdoff's default policy, and the same one without a budget.
fn strategy(budget: bool) -> Result<Strategy, Box<dyn std::error::Error>> {
    let guards = if budget { Options::NEW } else { Options::NEW.with_field(Field::BudgetKind, "none")? };
    Ok(Strategy::of("", &Document { guards, ..Document::default() })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdoff_sim::single;

    #[test]
    fn the_numbers_are_those_of_the_lab() {
        for (budget, policy) in
            [(true, r#"{"preset": "default"}"#), (false, r#"{"preset": "default", "budget": "none"}"#)]
        {
            let lab =
                single::run(&format!(r#"{{"policy": {policy}, "scenario": {{"clients": {CLIENTS}, "lasts": 5}}}}"#));
            let lab = lab.unwrap();
            let numbers = run(5, budget);
            let back = lab.figures.back.map_or(-1.0, |back| back as f64);
            assert_eq!(numbers[..6], [lab.capacity, 30.0, 35.0, lab.figures.load, lab.figures.success, back]);
            assert_eq!(numbers[6..], lab.goodput.iter().map(|count| f64::from(*count)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn holdoff_recovers_from_every_outage_of_the_slider() {
        for seconds in [1, 3, 10, 30, 60] {
            let [with, without] = [run(seconds, true), run(seconds, false)];
            assert!(with[5] >= 0.0 && with[5] <= 2.0 && with[3] < 1.3, "{seconds} s: {:?}", &with[..6]);
            assert!(seconds < 10 || without[5] < 0.0, "{seconds} s: {:?}", &without[..6]);
        }
    }
}
