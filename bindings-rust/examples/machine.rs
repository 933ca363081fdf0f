//! The loop as a machine, for programs that own their timers: `cargo run -p holdoff --example machine`.

use holdoff::core::{Call, Outcome, Schedule, Step, Timestamp};
use holdoff::{Failure, Policy};

fn main() {
    let policy = Policy::default();
    let delays: Vec<_> = Schedule::new(&policy, 42).collect();
    println!("the delays of seed 42: {delays:?}");

    let mut now = Timestamp::ZERO;
    let (mut call, mut step) = Call::begin(&policy, 42, now);
    let outcome = loop {
        step = match step {
            Step::Attempt { ticket, .. } => {
                println!("{now:?}: attempt {}", ticket.attempt());
                call.fail(&policy, ticket, now, Failure::TRANSIENT)
            }
            Step::Sleep { until, .. } => {
                // A host arms its timer here; this one turns its clock.
                now = until;
                call.tick(&policy, now)
            }
            Step::Wait { .. } => unreachable!("every attempt is answered at once"),
            Step::Stop(outcome) => break outcome,
        };
    };
    assert!(matches!(outcome, Outcome::GaveUp { .. }));
    println!("{now:?}: {outcome:?} after {} attempts", call.attempt());
}
