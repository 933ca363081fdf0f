//! The measures of a run.

use crate::SECOND;
use hdrhistogram::Histogram;
use std::ops::Range;

/// Counts of a run, most of them a second each.
#[derive(Clone, Debug)]
pub struct Measures {
    /// Calls that began.
    pub calls: Vec<u32>,
    /// Attempts that began.
    pub attempts: Vec<u32>,
    /// Calls that ended with a success: the goodput.
    pub goodput: Vec<u32>,
    /// Calls that began then and succeeded at any time.
    pub successes: Vec<u32>,
    /// How long the successful calls took, in microseconds.
    took: Histogram<u32>,
    served: u64,
    wasted: u64,
    /// True if the run ended early.
    pub cut: bool,
}

/// The digits of the histogram of durations: up to a quarter of a second it has a bin for each microsecond, at ten seconds one for
/// each 64 microseconds.
const DIGITS: u8 = 5;

/// The part of its level before the fault that the goodput must reach to count as back.
const BACK: f64 = 0.95;
/// Over how many seconds it is averaged for that.
const SMOOTHED: u64 = 5;
/// The part that it must reach in each one of them.
const DIP: f64 = 0.85;

impl Measures {
    /// Of a run in which calls come for so many seconds.
    #[must_use]
    pub fn new(seconds: u64) -> Self {
        let none = vec![0; seconds as usize];
        Self {
            calls: none.clone(),
            attempts: none.clone(),
            goodput: none.clone(),
            successes: none,
            took: Histogram::new(DIGITS).expect("a number of digits from 0 to 5"),
            served: 0,
            wasted: 0,
            cut: false,
        }
    }

    pub(crate) fn call(&mut self, now: u64) {
        count(&mut self.calls, now);
    }

    pub(crate) fn attempt(&mut self, now: u64) {
        count(&mut self.attempts, now);
    }

    pub(crate) fn served(&mut self, in_time: bool) {
        self.served += 1;
        self.wasted += u64::from(!in_time);
    }

    pub(crate) fn end(&mut self, began: u64, now: u64, succeeded: bool) {
        if succeeded {
            count(&mut self.goodput, now);
            count(&mut self.successes, began);
            // The histogram grows with its values.
            let _ = self.took.record((now - began) / 1000);
        }
    }

    /// Attempts for each call in those seconds.
    #[must_use]
    pub fn multiplier(&self, seconds: Range<u64>) -> f64 {
        ratio(sum(&self.attempts, &seconds), sum(&self.calls, &seconds))
    }

    /// The same in whichever `seconds` from then on it is highest.
    #[must_use]
    pub fn worst_multiplier(&self, from: u64, seconds: u64) -> f64 {
        let last = self.calls.len() as u64 - seconds;
        (from..=last).map(|from| self.multiplier(from..from + seconds)).fold(0.0, f64::max)
    }

    /// The part of the calls that began in those seconds which succeeded.
    #[must_use]
    pub fn success(&self, seconds: Range<u64>) -> f64 {
        ratio(sum(&self.successes, &seconds), sum(&self.calls, &seconds))
    }

    /// Successes for each call in those seconds.
    #[must_use]
    pub fn yielded(&self, seconds: Range<u64>) -> f64 {
        ratio(sum(&self.goodput, &seconds), sum(&self.calls, &seconds))
    }

    /// After how many seconds from `up` on the goodput is back for good: in any five seconds from then to the end of the run
    /// it is at least 95 % of its level before the fault, and in none of them below 85 %. Goodput and level are successes for
    /// each call of these seconds, so that the chance in how many calls there are does not count. `None` when it does not
    /// come back.
    #[must_use]
    pub fn recovery(&self, up: u64, before: f64) -> Option<u64> {
        let last = self.all().end - SMOOTHED;
        let misses = |from: &u64| {
            let seconds = *from..*from + SMOOTHED;
            self.yielded(seconds.clone()) < BACK * before
                || seconds.into_iter().any(|second| self.yielded(second..second + 1) < DIP * before)
        };
        let back = (up..=last).rev().find(misses).map_or(up, |missed| missed + 1);
        (back <= last).then_some(back - up)
    }

    /// The time in milliseconds within which that part of the successful calls succeeded.
    #[must_use]
    pub fn quantile(&self, part: f64) -> f64 {
        let mut left = (part * self.took.len().saturating_sub(1) as f64) as u64;
        for step in self.took.iter_recorded() {
            match left.checked_sub(step.count_at_value().into()) {
                Some(rest) => left = rest,
                None => return self.took.median_equivalent(step.value_iterated_to()) as f64 / 1000.0,
            }
        }
        0.0
    }

    /// The part of the server's answers that came too late.
    #[must_use]
    pub fn wasted(&self) -> f64 {
        ratio(self.wasted as f64, self.served as f64)
    }

    /// All seconds of the run.
    #[must_use]
    pub fn all(&self) -> Range<u64> {
        0..self.calls.len() as u64
    }

    /// How many calls there were.
    #[must_use]
    pub fn total_calls(&self) -> u64 {
        self.calls.iter().map(|&n| u64::from(n)).sum()
    }

    /// How many attempts there were while calls came.
    #[must_use]
    pub fn total_attempts(&self) -> u64 {
        self.attempts.iter().map(|&n| u64::from(n)).sum()
    }
}

fn count(bins: &mut [u32], now: u64) {
    if let Some(bin) = bins.get_mut((now / SECOND) as usize) {
        *bin += 1;
    }
}

fn sum(bins: &[u32], seconds: &Range<u64>) -> f64 {
    let bins = &bins[seconds.start as usize..seconds.end as usize];
    bins.iter().map(|&n| u64::from(n)).sum::<u64>() as f64
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred calls a second for sixty seconds, with that goodput in each.
    fn run(goodput: impl Fn(u64) -> u32) -> Measures {
        let mut measures = Measures::new(60);
        measures.calls.fill(100);
        measures.goodput = (0..60).map(goodput).collect();
        measures
    }

    #[test]
    fn what_never_left_is_back_at_once() {
        assert_eq!(run(|_| 100).recovery(30, 1.0), Some(0));
    }

    #[test]
    fn it_is_back_when_all_that_follows_is() {
        assert_eq!(run(|second| if second < 37 { 50 } else { 100 }).recovery(30, 1.0), Some(7));
        assert_eq!(run(|second| if second == 45 { 50 } else { 100 }).recovery(30, 1.0), Some(16));
        assert_eq!(run(|_| 96).recovery(30, 1.0), Some(0));
    }

    #[test]
    fn it_is_not_back_when_it_is_away_at_the_end() {
        assert_eq!(run(|second| if second == 59 { 50 } else { 100 }).recovery(30, 1.0), None);
        assert_eq!(run(|_| 94).recovery(30, 1.0), None);
    }

    #[test]
    fn the_worst_seconds_are_found() {
        let mut measures = run(|_| 100);
        measures.attempts = (0..60).map(|second| if (33..38).contains(&second) { 300 } else { 100 }).collect();
        assert_eq!(measures.worst_multiplier(36, 5), 1.8);
        assert_eq!((measures.multiplier(30..40), measures.worst_multiplier(0, 5)), (2.0, 3.0));
    }

    #[test]
    fn quantiles_are_of_the_successes() {
        let mut measures = Measures::new(1);
        (1..=101).for_each(|millis| measures.end(0, millis * crate::MILLI, true));
        measures.end(0, crate::SECOND, false);
        assert_eq!((measures.quantile(0.5), measures.quantile(0.99)), (51.0, 100.0));
    }
}
