//! Ten thousand retries and one timer: `cargo run --release -p holdoff --example one_timer`.
//!
//! A call is a few plain bytes and waits for nothing. The wheel says which call is due, and when the one timer of the program
//! is to go off next; here that timer is a clock that is turned.

use holdoff::core::{Backoff, Call, Outcome, Step, Timestamp, Wheel};
use holdoff::{Failure, Policy};
use std::time::{Duration, Instant};

const CALLS: u32 = 10_000;

/// True if the server answers: it is down for the first twenty seconds, and then refuses one call in ten.
fn answers(call: u32, attempt: u32, now: Timestamp) -> bool {
    now.as_nanos() > 20_000_000_000 && !(call + attempt).is_multiple_of(10)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::options()
        .backoff(Backoff::exponential(Duration::from_millis(250), 2.0).max(Duration::from_secs(10)))
        .attempts(30)
        .build()?;
    let began = Instant::now();
    let (mut wheel, mut now) = (Wheel::new(), Timestamp::ZERO);
    let (mut calls, mut pending) = (Vec::new(), Vec::new());
    let (mut succeeded, mut wakes, mut most) = (0_u32, 0_u32, 0);

    // Follows the step of a call: attempts run at once; a sleep becomes a timer, and the index of the timer is that of the call.
    let mut go_on =
        |number: u32, call: &mut Call, mut step: Step, now: Timestamp, wheel: &mut Wheel, pending: &mut Vec<u32>| {
            loop {
                step = match step {
                    Step::Attempt { ticket, .. } if answers(number, ticket.attempt(), now) => call.succeed(ticket, now),
                    Step::Attempt { ticket, .. } => call.fail(&policy, ticket, now, Failure::TRANSIENT),
                    Step::Sleep { until, .. } => {
                        let index = wheel.insert(until)?.index() as usize;
                        pending.resize(pending.len().max(index + 1), 0);
                        pending[index] = number;
                        return Ok(());
                    }
                    Step::Wait { .. } => unreachable!("every attempt is answered at once"),
                    Step::Stop(outcome) => {
                        succeeded += u32::from(outcome == Outcome::Succeeded);
                        return Ok::<_, holdoff::core::WheelFull>(());
                    }
                }
            }
        };
    for number in 0..CALLS {
        let (mut call, step) = Call::begin(&policy, holdoff::core::seed_at(42, number.into()), now);
        go_on(number, &mut call, step, now, &mut wheel, &mut pending)?;
        calls.push(call);
    }
    while let Some(wake) = wheel.next_wake() {
        now = wake; // A host arms its timer and waits here.
        wakes += 1;
        most = most.max(wheel.len());
        while let Some((key, _)) = wheel.pop(now) {
            let number = pending[key.index() as usize];
            let call = &mut calls[number as usize];
            let step = call.tick(&policy, now);
            go_on(number, call, step, now, &mut wheel, &mut pending)?;
        }
    }
    println!("{succeeded} of {CALLS} calls succeeded, at most {most} were pending at once");
    println!("{:.1} s went by in {wakes} wake-ups, {:.0?} of them real", now.as_nanos() as f64 / 1e9, began.elapsed());
    assert_eq!(succeeded, CALLS);
    Ok(())
}
