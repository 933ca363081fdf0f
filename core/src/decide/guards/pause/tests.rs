use super::{Pause, PauseConfig};
use crate::decide::guards::Refusal;
use crate::decide::guards::save::tests::moved;
use crate::time::{Span, Timestamp};
use proptest::prelude::*;
use std::vec::Vec;

const MS: u64 = 1_000_000;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * MS)
}

fn config() -> PauseConfig {
    PauseConfig::new(Span::from_secs(60), Refusal::Wait)
}

#[test]
fn places_double_in_each_period() {
    let mut pause = Pause::new();
    pause.hint(&config(), at(0), Span::from_secs(1));
    let turns: Vec<u64> = (0..7)
        .map(|_| {
            let turn = pause.refuses(at(0)).unwrap();
            pause.wait();
            turn.as_nanos() / MS
        })
        .collect();
    assert_eq!(turns, [1000, 1100, 1150, 1200, 1225, 1250, 1275]);
}

#[test]
fn zeroes_are_open_and_so_is_a_pause_of_no_time() {
    let mut pause = Pause::new();
    assert_eq!(pause.refuses(Timestamp::ZERO), None);
    pause.hint(&config(), at(5), Span::ZERO);
    assert_eq!(pause, Pause::new());
}

proptest! {
    #[test]
    fn turns_never_go_back_and_nothing_panics(until: u64, places: u64, now: u64, span: u64, max: u64) {
        let mut pause = Pause { until, places };
        let config = PauseConfig::new(Span::from_nanos(max), Refusal::Stop);
        let now = Timestamp::from_nanos(now);
        let before = pause.turn();
        pause.wait();
        prop_assert!(pause.turn() >= before);
        pause.hint(&config, now, Span::from_nanos(span));
        prop_assert!(pause.until >= until);
        let restored = moved(&config, &pause, now, now).unwrap();
        prop_assert!(restored.until <= now.after(config.max()).as_nanos());
    }
}
