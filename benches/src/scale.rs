//! The cost of an entry, in time and in memory, when there are a thousand of them and when there are ten million.
//!
//! A thousand samples of nanoseconds do not tell what a million timers cost that are started, replaced and waited for, so
//! these are whole runs; everybody has one in turn, and the fastest of each counts. Half of a cost that grows with the number
//! is the processor's memory, which no program can help; a row says how much a cost has grown from ten thousand entries on.

use crate::floor::Floor;
use crate::keys;
use crate::retries::{self, ById, ByWheel, Retries};
use crate::runs::{Measured, Size};
use crate::sample::Row;
use crate::timers::delay_queue::Queue;
use crate::timers::floor::{self, Buckets};
use crate::timers::hashed::{self, Quad};
use crate::timers::heap::Heap;
use crate::timers::wheel::Nanoseconds;
use crate::timers::{self, Timers};
use backon::ExponentialBackoff;
use holdoff_core::Wheel;

/// A library that does the work of a group, by name.
#[derive(Clone, Copy)]
struct Entrant {
    who: &'static str,
    run: fn(Size, &mut Measured),
    /// True if it takes part in the longest runs even if they are to be quick.
    always: bool,
}

impl Entrant {
    const fn always(who: &'static str, run: fn(Size, &mut Measured)) -> Self {
        Self { who, run, always: true }
    }

    const fn new(who: &'static str, run: fn(Size, &mut Measured)) -> Self {
        Self { who, run, always: false }
    }
}

/// Works that are measured together.
struct Group {
    name: &'static str,
    /// The base first.
    entrants: &'static [Entrant],
    sizes: Vec<Size>,
    /// The parts of a run, and what their works are called.
    parts: &'static [(&'static str, &'static str)],
    /// The part whose cost is not to grow.
    steady: &'static str,
}

const RUN: &[(&str, &str)] = &[("fill", " fill"), ("hold", " hold"), ("drain", " drain"), ("cancel", " cancel")];
const USE: &[(&str, &str)] = &[("fill", " fill"), ("again", "")];

const fn longest(size: Size) -> bool {
    size.count >= 10_000_000
}

/// Starts timers, and cancels others.
fn timers<T: Timers>(size: Size, measured: &mut Measured) {
    timers::measure::<T>(size, measured);
    if size.drains {
        timers::cancel::<T>(size, measured);
    }
}

/// The base: what cannot be cancelled, and for cancelling what can.
fn timers_floor(size: Size, measured: &mut Measured) {
    timers::measure::<Buckets>(size, measured);
    if size.drains {
        timers::cancel::<floor::Cancellable>(size, measured);
    }
}

fn retries<R: Retries>(size: Size, measured: &mut Measured) {
    retries::measure::<R>(size, measured);
    if size.drains {
        retries::cancel::<R>(size, measured);
    }
}

fn retries_floor(size: Size, measured: &mut Measured) {
    retries::measure::<ById<Buckets, Floor>>(size, measured);
    if size.drains {
        retries::cancel::<ById<floor::Cancellable, Floor>>(size, measured);
    }
}

const TIMERS: &[Entrant] = &[
    Entrant::always("floor", timers_floor),
    Entrant::always("floor, cancels", timers::measure::<floor::Cancellable>),
    Entrant::always("wheel", timers::<Wheel>),
    Entrant::always("wheel, nanoseconds", timers::<Nanoseconds>),
    Entrant::always("DelayQueue", timers::<Queue>),
    Entrant::new("hash wheel", timers::measure::<Quad>),
    Entrant::new("hash wheel, cancels", timers::<hashed::Cancellable>),
    Entrant::new("BinaryHeap", timers::<Heap>),
];

/// A peer's timers with the states of backon.
const RETRIES: &[Entrant] = &[
    Entrant::always("floor", retries_floor),
    Entrant::always("wheel", retries::<ByWheel>),
    Entrant::new("DelayQueue", retries::<ById<Queue, ExponentialBackoff>>),
    Entrant::new("hash wheel", retries::<ById<hashed::Cancellable, ExponentialBackoff>>),
    Entrant::new("BinaryHeap", retries::<ById<Heap, ExponentialBackoff>>),
];

const KEYS: &[Entrant] = &[
    Entrant::always("floor", keys::measure::<keys::Map>),
    Entrant::always("keyed limiter", keys::measure::<keys::Limiters>),
    Entrant::always("keyed gate", keys::measure::<keys::Gates>),
    Entrant::always("lru", keys::measure::<keys::Bounded>),
    Entrant::always("governor keyed", keys::measure::<keys::ByQuanta>),
    Entrant::always("governor keyed, no clock", keys::measure::<keys::ByNoClock>),
];

/// How thorough the runs are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Less than a minute: ten million entries are not waited for, nor given to any peer but the one of the target.
    Quick,
    /// About five minutes.
    Usual,
    /// Three times as often.
    Full,
}

fn sizes(depth: Depth) -> Vec<Size> {
    let size = |count, replaced, times| Size { count, replaced, drains: true, times };
    match depth {
        Depth::Quick => vec![
            size(1_000, 3_000, 10),
            size(10_000, 30_000, 8),
            size(100_000, 200_000, 3),
            size(1_000_000, 500_000, 2),
            Size { drains: false, ..size(10_000_000, 2_000_000, 1) },
        ],
        Depth::Usual | Depth::Full => {
            let more = if depth == Depth::Full { 3 } else { 1 };
            vec![
                size(1_000, 20_000, 15 * more),
                size(10_000, 200_000, 10 * more),
                size(100_000, 400_000, 6 * more),
                size(1_000_000, 1_000_000, 4 * more),
                size(10_000_000, 5_000_000, more),
            ]
        }
    }
}

fn groups(depth: Depth) -> [Group; 3] {
    let keys = sizes(depth).into_iter().filter(|size| !longest(*size)).collect();
    [
        Group { name: "wheel", entrants: TIMERS, sizes: sizes(depth), parts: RUN, steady: "hold" },
        Group { name: "retries", entrants: RETRIES, sizes: sizes(depth), parts: RUN, steady: "hold" },
        Group { name: "keys", entrants: KEYS, sizes: keys, parts: USE, steady: "again" },
    ]
}

/// Runs every library that has a `wanted` work, and gives the rows of the wanted works.
#[must_use]
pub fn rows(depth: Depth, wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let groups = groups(depth);
    groups.iter().flat_map(|group| group.rows(depth, wanted)).filter(|row| wanted(&row.work)).collect()
}

impl Group {
    fn work(&self, size: Size, suffix: &str) -> String {
        format!("{} 1e{}{suffix}", self.name, size.count.ilog10())
    }

    fn growth(&self, last: Size) -> String {
        format!("{} growth, 1e4 to 1e{}", self.name, last.count.ilog10())
    }

    fn rows(&self, depth: Depth, wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
        let grows = self.sizes.last().is_some_and(|last| wanted(&self.growth(*last)));
        let is_wanted = |size: &Size| self.parts.iter().any(|(_, suffix)| wanted(&self.work(*size, suffix)));
        let sizes = self.sizes.iter().filter(|size| grows && size.count >= 10_000 || is_wanted(size));
        let mut rows = Vec::new();
        let mut steady = Vec::new();
        for size in sizes {
            eprintln!("measuring {} 1e{}", self.name, size.count.ilog10());
            let part = |entrant: &&Entrant| entrant.always || depth != Depth::Quick || !longest(*size);
            let entrants: Vec<_> = self.entrants.iter().filter(part).collect();
            let measured = take_turns(&entrants, *size);
            for (name, suffix) in self.parts {
                for (entrant, measured) in entrants.iter().zip(&measured) {
                    let Some(part) = measured.parts.iter().find(|part| part.name == *name) else { continue };
                    let row = part.row(self.work(*size, suffix), entrant.who);
                    if *name == self.steady {
                        steady.push((size.count, row.clone()));
                    }
                    rows.push(row);
                }
            }
        }
        rows.extend(self.sizes.last().into_iter().flat_map(|last| self.growths(*last, &steady)));
        rows
    }

    /// By how much the steady part costs more with the most entries than with ten thousand.
    fn growths(&self, last: Size, steady: &[(usize, Row)]) -> Vec<Row> {
        let of = |count: usize| steady.iter().filter(move |(many, _)| *many == count).map(|(_, row)| row);
        let grown = of(last.count).filter_map(|most| {
            let few = of(10_000).find(|few| few.who == most.who)?;
            let number = |row: &Row, name: &str| row.numbers.iter().find(|(known, _)| *known == name).map(|(_, n)| *n);
            let times = |name| Some(number(most, name)? / number(few, name)?);
            let row = Row::of(self.growth(last), most.who, "growth", times("ns")?);
            Some(row.and("growth of bytes", times("bytes")?))
        });
        grown.inspect(|row| eprintln!("{row}")).collect()
    }
}

fn take_turns(entrants: &[&Entrant], size: Size) -> Vec<Measured> {
    let mut measured: Vec<_> = entrants.iter().map(|_| Measured::default()).collect();
    for time in 0..size.times {
        for turn in 0..entrants.len() {
            let at = (time + turn) % entrants.len();
            (entrants[at].run)(size, &mut measured[at]);
        }
    }
    measured
}
