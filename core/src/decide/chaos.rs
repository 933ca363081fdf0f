//! Failures and delays on purpose: a program shows in a test what it does when its server is ill, and does the same again.

use crate::decide::backoff::{real, truncated};
use crate::decide::rng::{Rng, seed_at};
use crate::error::{Error, ErrorCode, Quantity, Subject};
use crate::time::Span;

/// Which attempts fail on purpose, and how long each is held up (spec 38): 40 bytes, `Copy`, no state. Each attempt has
/// draws of its own by its number, so that the order in which threads ask changes nothing.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub struct Chaos {
    seed: u64,
    failure_rate: f64,
    latency_rate: f64,
    shortest: u64,
    longest: u64,
}

impl Chaos {
    /// Lets a share `failure_rate` of all attempts fail, and holds up a share `latency_rate` for `shortest` to `longest`.
    ///
    /// # Errors
    /// [`ErrorCode::ShareRange`] unless both rates are from 0 to 1; [`ErrorCode::TimeRange`] for a `longest` below
    /// `shortest`.
    pub fn new(seed: u64, failure_rate: f64, latency_rate: f64, shortest: Span, longest: Span) -> Result<Self, Error> {
        for (rate, name) in [(failure_rate, "failure_rate"), (latency_rate, "latency_rate")] {
            if !(0.0..=1.0).contains(&rate) {
                return Err(wrong(ErrorCode::ShareRange, name, Quantity::Number(rate), "must be a number from 0 to 1"));
            }
        }
        if longest < shortest {
            let rule = "must not be below the shortest latency";
            return Err(wrong(ErrorCode::TimeRange, "latency", Quantity::Span(longest), rule));
        }
        Ok(Self { seed, failure_rate, latency_rate, shortest: shortest.as_nanos(), longest: longest.as_nanos() })
    }

    /// True if attempt `k`, counted from 0 over all operations, fails on purpose (spec 38.2).
    pub fn fails(&self, k: u64) -> bool {
        self.draws(k)[0] < self.failure_rate
    }

    /// The time by which attempt `k` is held up before anything else happens in it (spec 38.3).
    pub fn latency(&self, k: u64) -> Span {
        let [_, held_up, how_long] = self.draws(k);
        if held_up >= self.latency_rate {
            return Span::ZERO;
        }
        // The draw stays below 1, so that the sum is below `longest` however the product is rounded.
        let more = truncated(how_long * real(self.longest.saturating_sub(self.shortest)));
        Span::from_nanos(self.shortest.saturating_add(more).min(self.longest))
    }

    fn draws(&self, k: u64) -> [f64; 3] {
        let mut rng = Rng::new(seed_at(self.seed, k));
        [rng.uniform(), rng.uniform(), rng.uniform()]
    }
}

const fn wrong(code: ErrorCode, name: &'static str, value: Quantity, rule: &'static str) -> Error {
    Error { value, special_rule: Some(rule), ..Error::named(code, Subject::Policy, name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    const SECOND: Span = Span::from_nanos(1_000_000_000);

    #[test]
    fn a_share_of_the_attempts_fails_and_another_is_held_up() {
        let chaos = Chaos::new(7, 0.25, 0.5, SECOND, Span::from_nanos(3_000_000_000)).unwrap();
        let failed = (0..10_000).filter(|k| chaos.fails(*k)).count();
        assert!((2_300..2_700).contains(&failed), "{failed}");
        let held_up: std::vec::Vec<_> =
            (0..10_000).map(|k| chaos.latency(k)).filter(|time| *time > Span::ZERO).collect();
        assert!((4_800..5_200).contains(&held_up.len()), "{}", held_up.len());
        assert!(held_up.iter().all(|time| (SECOND..Span::from_nanos(3_000_000_000)).contains(time)));
    }

    #[test]
    fn rates_of_zero_and_one_leave_nothing_to_chance() {
        let never = Chaos::new(1, 0.0, 0.0, SECOND, SECOND).unwrap();
        let always = Chaos::new(1, 1.0, 1.0, SECOND, SECOND).unwrap();
        for k in (0..1000).chain([u64::MAX]) {
            assert!(!never.fails(k) && always.fails(k));
            assert_eq!((never.latency(k), always.latency(k)), (Span::ZERO, SECOND));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |failure_rate, latency_rate, shortest| {
            Chaos::new(0, failure_rate, latency_rate, shortest, SECOND).unwrap_err().to_string()
        };
        assert_eq!(error(1.5, 0.0, SECOND), "failure_rate = 1.5: must be a number from 0 to 1");
        assert_eq!(error(0.0, f64::NAN, SECOND), "latency_rate = NaN: must be a number from 0 to 1");
        assert_eq!(error(0.0, 0.0, Span::MAX), "latency = 1s: must not be below the shortest latency");
    }

    #[test]
    fn the_longest_times_neither_wrap_nor_go_beyond_their_range() {
        let chaos = Chaos::new(3, 0.0, 1.0, Span::ZERO, Span::MAX).unwrap();
        assert!((0..1000).all(|k| chaos.latency(k) <= Span::MAX));
    }
}
