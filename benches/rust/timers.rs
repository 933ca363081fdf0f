//! `cargo bench -p benches --bench timers`: what a timer costs, beside a floor and the peers.
//!
//! Prints a list of {work, who, ns} for `cargo xtask bench`, and what memory a timer takes to standard error. A thousand
//! samples of nanoseconds do not tell what a million timers cost that are started, replaced and waited for, so these are
//! whole runs: they take turns, and the fastest of each counts. Ten million timers, which take a minute and two gigabytes,
//! only with `--full`.

use benches::counting::Counting;
use benches::timers::delay_queue::Queue;
use benches::timers::floor::Buckets;
use benches::timers::hashed::{Cancellable, Quad};
use benches::timers::heap::Heap;
use benches::timers::wheel::Nanoseconds;
use benches::timers::{Cost, Timers, measure};
use holdoff_core::Wheel;

#[global_allocator]
static MEMORY: Counting = Counting;

/// How many timers, how many of them are replaced, how often all that is done.
type Size = (usize, usize, usize);

const SIZES: [Size; 2] = [(10_000, 200_000, 10), (1_000_000, 1_000_000, 5)];
const FULL: Size = (10_000_000, 5_000_000, 2);

/// What somebody needed.
struct Row {
    who: &'static str,
    cost: Cost,
    /// Bytes a timer when all are pending, and at most.
    bytes: (f64, f64),
}

fn sample<T: Timers>(row: &mut Row, (count, replaced, _): Size) {
    let before = Counting::begin();
    let mut live = 0;
    let cost = measure::<T>(count, replaced, || live = Counting::bytes());
    let each = |bytes: usize| bytes.saturating_sub(before) as f64 / count as f64;
    row.cost = row.cost.min(cost);
    row.bytes = (each(live), each(Counting::most()));
}

type Sample = fn(&mut Row, Size);

/// Who takes part, by name.
const WHO: [(&str, Sample); 7] = [
    ("floor", sample::<Buckets>),
    ("wheel", sample::<Wheel>),
    ("wheel, nanoseconds", sample::<Nanoseconds>),
    ("heap", sample::<Heap>),
    ("delay queue", sample::<Queue>),
    ("hash wheel", sample::<Quad>),
    ("hash wheel, cancels", sample::<Cancellable>),
];

fn compare(size: Size) -> Vec<Row> {
    let mut rows = WHO.map(|(who, _)| Row { who, cost: Cost::NONE, bytes: (0.0, 0.0) });
    for _ in 0..size.2 {
        for (row, (_, sample)) in rows.iter_mut().zip(WHO) {
            sample(row, size);
        }
    }
    rows.into()
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    // Without `--bench` cargo runs this as a test, of which there is none.
    if !given.iter().any(|argument| argument == "--bench") {
        return;
    }
    let full = given.iter().any(|argument| argument == "--full").then_some(FULL);
    let mut printed = Vec::new();
    for size in SIZES.into_iter().chain(full) {
        let count = size.0;
        for Row { who, cost, bytes } in compare(size) {
            eprintln!("{count:>9} timers, {who:<20} {:>5.1} bytes each, {:>5.1} at most", bytes.0, bytes.1);
            for (work, nanos) in [("start", cost.fill), ("hold", cost.hold), ("drain", cost.drain)] {
                printed.push(format!(r#"{{"work":"{work}, {count} timers","who":"{who}","ns":{nanos:.2}}}"#));
            }
        }
    }
    println!("[{}]", printed.join(","));
}
