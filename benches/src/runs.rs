//! Runs with many entries: what each entry takes of time and memory.

use crate::counting::Counting;
use crate::sample::Row;
use cpu_time::ThreadTime;
use std::time::Duration;

/// How many entries, and what is done with them.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// How many there are.
    pub count: usize,
    /// How many of them are replaced.
    pub replaced: usize,
    /// True if they are waited for in the end.
    pub drains: bool,
    /// How often all that is done.
    pub times: usize,
}

/// The runs of somebody's, by what is done in them.
#[derive(Debug, Default)]
pub struct Measured {
    before: usize,
    pub(crate) parts: Vec<Part>,
}

/// The cost of each entry in one part of the runs.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    samples: Vec<f64>,
    /// At the end of the part, and at most until then, when it was counted.
    bytes: Option<(f64, f64)>,
}

impl Part {
    pub(crate) fn row(&self, work: String, who: &'static str) -> Row {
        let row = Row::of_samples(work, who, &self.samples);
        match self.bytes {
            Some((live, most)) => row.and("bytes", live).and("peak", most),
            None => row,
        }
    }
}

impl Measured {
    /// Memory that is in use now is not the entries'.
    pub fn begin(&mut self) {
        self.before = Counting::begin();
    }

    /// A part in which so many entries took so long.
    pub fn add(&mut self, name: &'static str, took: Duration, entries: usize) {
        let nanos = took.as_nanos() as f64 / entries.max(1) as f64;
        match self.parts.iter_mut().find(|part| part.name == name) {
            Some(part) => part.samples.push(nanos),
            None => self.parts.push(Part { name, samples: vec![nanos], bytes: None }),
        }
    }

    /// Counts the memory at the end of the latest part, when there are so many entries.
    pub fn weigh(&mut self, name: &'static str, entries: usize) {
        let each = |bytes: usize| bytes.saturating_sub(self.before) as f64 / entries.max(1) as f64;
        let bytes = (each(Counting::bytes()), each(Counting::most()));
        if let Some(part) = self.parts.iter_mut().find(|part| part.name == name) {
            part.bytes = Some(bytes);
        }
    }
}

/// The milliseconds in which somebody is due, as far as they are known.
#[derive(Debug, Default)]
pub struct Wakes {
    /// The present one.
    pub now_ms: u64,
    known: std::vec::IntoIter<u64>,
    found: Option<Vec<u64>>,
}

impl Wakes {
    /// From so many entries on hardly a millisecond passes without a due entry.
    const MANY: usize = 100_000;

    /// Runs something twice if its entries are few: first to learn in which milliseconds they are due.
    pub fn run(size: Size, measured: &mut Measured, run: impl Fn(Size, &mut Self, &mut Measured)) {
        let mut wakes = Self::default();
        if size.count < Self::MANY {
            wakes.found = Some(Vec::new());
            run(size, &mut wakes, &mut Measured::default());
            wakes = Self { known: wakes.found.unwrap_or_default().into_iter(), ..Self::default() };
        }
        run(size, &mut wakes, measured);
    }

    /// The next one in which somebody is due.
    #[inline(always)]
    pub fn next_ms(&mut self) -> u64 {
        self.now_ms = self.known.next().unwrap_or(self.now_ms + 1);
        self.now_ms
    }

    /// So many were due.
    #[inline(always)]
    pub fn were(&mut self, due: usize) {
        if let Some(found) = &mut self.found
            && due > 0
        {
            found.push(self.now_ms);
        }
    }
}

/// The result, and the processor's time it took: other programs run meanwhile.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let start = ThreadTime::now();
    let result = work();
    (result, start.elapsed())
}
