//! The simulator itself: a million clients that make a call a second for a hundred seconds. The server is down for a third of the time.

use crate::counting::Counting;
use crate::sample::Row;
use cpu_time::ThreadTime;
use holdoff_sim::fleet::run;
use holdoff_sim::scenario::Scenario;
use holdoff_sim::strategy::Strategy;

/// The clients.
const CLIENTS: u32 = 1_000_000;
/// The name of the row.
pub const WORK: &str = "fleet 1e6";

/// One run: processor time in all and of each call, and the most memory of each client. It takes a minute.
///
/// # Panics
/// If the default policy is invalid.
#[must_use]
pub fn row() -> Row {
    let strategy = Strategy::read("default", r#"{"attempts": 3, "attempt_timeout": "1s", "deadline": "10s"}"#)
        .expect("the default policy");
    let scenario = Scenario { clients: CLIENTS, ..Scenario::default() };
    let before = Counting::begin();
    let started = ThreadTime::now();
    let measures = run(&scenario, &strategy);
    let took = started.elapsed();
    let bytes = (Counting::most() - before) as f64 / f64::from(CLIENTS);
    let row = Row::of(WORK, "simulator", "ns", took.as_nanos() as f64 / measures.total_calls() as f64);
    let row = row.and("ms", took.as_secs_f64() * 1e3).and("bytes", bytes);
    eprintln!("{row}");
    row
}
