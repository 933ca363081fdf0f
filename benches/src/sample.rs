//! Samples: libraries that do the same work take turns at it.
//!
//! A busy machine disturbs nanoseconds but hardly the ratios of minimums, if all that are compared were measured at the same
//! time. So a sample is short, each round has one of everybody, and a work is come back to in every round of a whole run.
//! Criterion, which measures one after the other, runs the same loops: [`Who::run`] is the only place where time is taken.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// One thing to do, and who does it.
#[derive(Debug)]
pub struct Work {
    /// Its name, as rows have it.
    pub name: String,
    /// The base first.
    pub who: Vec<Who>,
}

impl Work {
    /// A work that nobody does yet.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), who: Vec::new() }
    }

    /// The same with another library that does it by `call`, whose result is used.
    #[must_use]
    pub fn by<R>(mut self, name: &'static str, mut call: impl FnMut() -> R + 'static) -> Self {
        let run = move |times| {
            let start = Instant::now();
            for _ in 0..times {
                black_box(call());
            }
            start.elapsed()
        };
        self.who.push(Who { name, run: Box::new(run), times: 0, samples: Vec::new() });
        self
    }
}

/// A library that does a work.
pub struct Who {
    /// The peer's package, the machine of ours, or the base: `floor` for the least that the work can cost, `bare` for what
    /// remains without it.
    pub name: &'static str,
    run: Box<dyn FnMut(u64) -> Duration>,
    times: u64,
    samples: Vec<f64>,
}

impl Who {
    /// How long it takes so many times.
    pub fn run(&mut self, times: u64) -> Duration {
        (self.run)(times)
    }

    /// Finds how many times last about as long as `sample`.
    fn calibrate(&mut self, sample: Duration) {
        let mut times = 1_u64;
        loop {
            // The first time of all may seed a generator or fill a cache.
            let took = (0..3).map(|_| self.run(times)).min().unwrap_or_default();
            if took * 4 >= sample || times >= 1 << 40 {
                let wanted = times as f64 * sample.as_secs_f64() / took.as_secs_f64().max(1e-9);
                self.times = (wanted as u64).max(1);
                return;
            }
            times *= 2;
        }
    }

    fn sample(&mut self) {
        let took = self.run(self.times);
        self.samples.push(took.as_nanos() as f64 / self.times as f64);
    }
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Who").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The measurements of one library's work.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The work's name.
    pub work: String,
    /// The name of the library.
    pub who: &'static str,
    /// The numbers by their names: `ns` and `median` of one time, `bytes`, `growth`.
    pub numbers: Vec<(&'static str, f64)>,
}

impl Row {
    /// A row with the least and the median of some samples.
    #[must_use]
    pub fn of_samples(work: impl Into<String>, who: &'static str, samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, median) = (sorted.first(), sorted.get(sorted.len() / 2));
        let numbers = [("ns", least), ("median", median)];
        let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name, *number?))).collect();
        Self { work: work.into(), who, numbers }
    }

    /// A row with one number.
    #[must_use]
    pub fn of(work: impl Into<String>, who: &'static str, name: &'static str, number: f64) -> Self {
        Self { work: work.into(), who, numbers: vec![(name, number)] }
    }

    /// The same with another number.
    #[must_use]
    pub fn and(mut self, name: &'static str, number: f64) -> Self {
        self.numbers.push((name, number));
        self
    }
}

/// As an object of JSON. Names have no characters that JSON would have to escape.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"work": "{}", "who": "{}""#, self.work, self.who)?;
        for (name, number) in &self.numbers {
            write!(f, r#", "{name}": {number:.3}"#)?;
        }
        f.write_str("}")
    }
}

/// Samples every work in `rounds` rounds. In each of them who began the last one is the last.
#[must_use]
pub fn sample(works: &mut [Work], rounds: usize, length: Duration) -> Vec<Row> {
    for who in works.iter_mut().flat_map(|work| &mut work.who) {
        who.calibrate(length);
    }
    for round in 0..rounds {
        for work in &mut *works {
            let many = work.who.len();
            for turn in 0..many {
                work.who[(round + turn) % many].sample();
            }
        }
    }
    let row = |work: &Work| {
        let rows = work.who.iter().map(|who| Row::of_samples(&work.name, who.name, &who.samples));
        rows.collect::<Vec<_>>()
    };
    works.iter().flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_sampled_in_each_round() {
        let mut works = [Work::new("add").by("floor", || black_box(1) + 1).by("ours", || black_box(2) + 2)];
        let rows = sample(&mut works, 5, Duration::from_micros(10));
        assert_eq!(rows.iter().map(|row| row.who).collect::<Vec<_>>(), ["floor", "ours"]);
        assert!(works[0].who.iter().all(|who| who.samples.len() == 5));
        assert!(rows.iter().all(|row| row.numbers[0].1 <= row.numbers[1].1));
    }

    #[test]
    fn a_row_is_json() {
        let row = Row::of("loop, 0 failures", "call", "ns", 1.5).and("bytes", 8.0);
        assert_eq!(row.to_string(), r#"{"work": "loop, 0 failures", "who": "call", "ns": 1.500, "bytes": 8.000}"#);
    }
}
