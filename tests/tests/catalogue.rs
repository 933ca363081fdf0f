//! Every policy of the catalogue has the delays that its system publishes.

use conformance::catalogue;
use conformance::format::DecisionWord;

/// How many operations are run for each run of the catalogue.
const SEEDS: u64 = 400;

#[test]
fn every_delay_lies_where_its_system_says_and_reaches_both_ends() {
    let entries = catalogue::read().unwrap();
    assert_eq!(entries.len(), 27);
    for entry in &entries {
        for run in &entry.runs {
            let about = format!("{} {}", entry.name, run.about.as_deref().unwrap_or_default());
            let ranges: Vec<_> = run.delays.iter().map(|delay| delay.range().unwrap()).collect();
            let mut seen = vec![(u64::MAX, 0); ranges.len()];
            let prepared = catalogue::prepare(entry, run).unwrap();
            for seed in 0..SEEDS {
                let case = prepared.play(seed);
                let ends = case.failures.iter().zip(&case.decisions);
                for (nth, (end, decision)) in ends.enumerate() {
                    match (decision, ranges.get(nth)) {
                        (DecisionWord::Sleep { until, .. }, Some((from, to))) => {
                            let delay = until.0 - end.now.0;
                            assert!(
                                (*from..=*to).contains(&delay),
                                "{about}: delay {nth} is {delay}, not {from} to {to}"
                            );
                            seen[nth] = (seen[nth].0.min(delay), seen[nth].1.max(delay));
                        }
                        (DecisionWord::GiveUp { reason, .. }, None) => {
                            assert_eq!(Some(reason), run.then.as_ref(), "{about}");
                        }
                        other => panic!("{about}: {other:?} at {nth}"),
                    }
                }
            }
            for ((from, to), (least, most)) in ranges.into_iter().zip(seen) {
                let part = (to - from) / 20;
                assert!(least - from <= part && to - most <= part, "{about}: {least} to {most} of {from} to {to}");
            }
        }
    }
}
