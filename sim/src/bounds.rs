//! The figures of a run, and the bounds that they must hold.

use crate::measure::Measures;
use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};

/// How many seconds the worst ones are, and the first ones after a fault.
const SPELL: u64 = 10;
/// For how many seconds before the fault the level is measured.
const BEFORE: u64 = 20;
/// From how many attempts a call on it is a storm.
const STORM: f64 = 2.0;
/// After how many seconds without the old goodput it is one.
const LOST: u64 = 20;

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Calls that began.
    pub calls: u64,
    /// Attempts while calls came.
    pub attempts: u64,
    /// Attempts for each call in the whole run.
    pub load: f64,
    /// The same during the fault.
    pub load_in_fault: f64,
    /// The same in the worst ten seconds.
    pub load_at_worst: f64,
    /// The same in the worst ten seconds from ten seconds after the fault's begin on.
    pub load_later: f64,
    /// The share of the calls that succeeded in the end.
    pub success: f64,
    /// The same of the calls that began during the fault.
    pub success_in_fault: f64,
    /// Successes for each call in the first ten seconds after the fault.
    pub next: f64,
    /// After how many seconds the goodput was back for good; `None` when it never was.
    pub back: Option<u64>,
    /// Milliseconds within which 99 % of the successful calls succeeded.
    pub p99: f64,
    /// The share of the server's answers that came too late.
    pub wasted: f64,
}

impl Figures {
    /// The figures of a run of that scenario.
    #[must_use]
    pub fn of(scenario: &Scenario, measures: &Measures) -> Self {
        let ill = scenario.ill();
        let before = ill.start.saturating_sub(BEFORE)..ill.start;
        Self {
            calls: measures.total_calls(),
            attempts: measures.total_attempts(),
            load: measures.multiplier(measures.all()),
            load_in_fault: measures.multiplier(ill.clone()),
            load_at_worst: measures.worst_multiplier(0, SPELL),
            load_later: measures.worst_multiplier(ill.start + SPELL, SPELL),
            success: measures.success(measures.all()),
            success_in_fault: measures.success(ill.clone()),
            next: measures.yielded(ill.end..(ill.end + SPELL).min(scenario.end())),
            back: measures.recovery(ill.end, measures.yielded(before)),
            p99: measures.quantile(0.99),
            wasted: measures.wasted(),
        }
    }
}

/// A bound of one figure. The simulation fails if a run misses it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The most attempts for each call in the whole run.
    Load(f64),
    /// The same during the fault.
    LoadInFault(f64),
    /// The same in the worst ten seconds.
    LoadAtWorst(f64),
    /// The same in the worst ten seconds from ten seconds after the fault's begin on.
    LoadLater(f64),
    /// The most seconds after the fault until the goodput is back.
    Back(u64),
    /// The least share of the calls that succeed.
    Success(f64),
    /// A storm: without one the other rows would prove nothing.
    Storm,
}

impl Bound {
    /// The way in which a run misses the bound.
    #[must_use]
    pub fn missed(self, figures: &Figures) -> Option<String> {
        let load = |most: f64, load: f64, when: &str| {
            (load > most).then(|| format!("{load:.3} attempts a call {when}, more than {most}"))
        };
        match self {
            Self::Load(most) => load(most, figures.load, "in the whole run"),
            Self::LoadInFault(most) => load(most, figures.load_in_fault, "during the fault"),
            Self::LoadAtWorst(most) => load(most, figures.load_at_worst, "in the worst 10 s"),
            Self::LoadLater(most) => load(most, figures.load_later, "later in the worst 10 s"),
            Self::Back(most) => figures
                .back
                .is_none_or(|after| after > most)
                .then(|| format!("the goodput is not back within {most} s")),
            Self::Success(least) => (figures.success < least).then(|| {
                format!("{:.2} % of the calls succeed, fewer than {:.2} %", 100.0 * figures.success, 100.0 * least)
            }),
            Self::Storm => (figures.load <= STORM && figures.back.is_some_and(|after| after <= LOST))
                .then(|| "there is no storm, so the other rows prove nothing".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::run;
    use crate::strategy::Strategy;

    fn missed(bounds: &[Bound], strategy: &Strategy) -> usize {
        let scenario = Scenario { clients: 200, ..Scenario::default() };
        let figures = Figures::of(&scenario, &run(&scenario, strategy));
        bounds.iter().filter_map(|bound| bound.missed(&figures)).count()
    }

    #[test]
    fn a_missed_bound_is_said() {
        let loads = [Bound::Load(1.2), Bound::LoadInFault(1.2), Bound::LoadAtWorst(1.2), Bound::LoadLater(1.2)];
        let storm = Strategy::read("storm", r#"{"attempts": 3, "budget": "none", "deadline": "10s"}"#).unwrap();
        assert_eq!((missed(&loads, &storm), missed(&[Bound::Back(10), Bound::Success(0.9)], &storm)), (4, 2));
        assert_eq!(missed(&[Bound::Storm], &storm), 0);
        let single = Strategy::read("single", r#"{"attempts": 1}"#).unwrap();
        assert_eq!((missed(&loads, &single), missed(&[Bound::Storm], &single)), (0, 1));
    }
}
