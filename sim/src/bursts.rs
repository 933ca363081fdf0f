//! Bursts: many calls of one process begin at once while the server is down for a moment. How many does a budget lose that the same
//! policy saves without one?

use anyhow::{Context as _, Result};
use holdoff_core::{
    Budget, BudgetConfig, Document, Failure, GuardedCall, Guards, Hint, Options, Outcome, Policy, Span, Step, Ticket,
    Timestamp,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// The numbers of calls at once, a column each.
const CALLS: [u32; 4] = [30, 100, 300, 1000];

/// How the server fails.
#[derive(Clone, Copy)]
enum Mode {
    /// It refuses at once.
    Refused,
    /// It does not answer, and attempts time out after so long.
    Silent(u64),
    /// It answers 429 with a Retry-After of so long.
    Limited(u64),
    /// It is an API that takes so many requests each second, and answers the others 429, with a Retry-After of a second or without.
    Rate(u32, bool),
}

/// A burst, perhaps one after the other.
#[derive(Clone, Copy)]
struct Burst {
    name: &'static str,
    mode: Mode,
    attempts: u32,
    /// For how long the server is down from the beginning of each burst on.
    down: u64,
    batches: u32,
    /// From one burst to the next.
    every: u64,
    /// True if no call may be lost.
    is_bound: bool,
}

const ONE: Burst = Burst {
    name: "refused",
    mode: Mode::Refused,
    attempts: 3,
    down: 150 * MS,
    batches: 1,
    every: 5 * SECOND,
    is_bound: true,
};

fn bursts() -> Vec<Burst> {
    let mut all = Vec::new();
    for attempts in [3, 5] {
        let modes = [
            ("refused", Mode::Refused),
            ("timeouts of 0.3 s", Mode::Silent(300 * MS)),
            ("timeouts of 1 s", Mode::Silent(SECOND)),
            ("429, Retry-After 1", Mode::Limited(SECOND)),
        ];
        for (name, mode) in modes {
            all.extend([150, 500, 1000].map(|down| Burst { name, mode, attempts, down: down * MS, ..ONE }));
        }
        for (name, mode, is_bound) in [
            ("API of 10/s, Retry-After 1", Mode::Rate(10, true), true),
            ("API of 50/s, Retry-After 1", Mode::Rate(50, true), true),
            ("API of 10/s, no header", Mode::Rate(10, false), false),
        ] {
            all.push(Burst { name, mode, attempts, down: 0, is_bound, ..ONE });
        }
        // With three attempts most calls of a burst are lost anyway, and their tokens with them: the next burst may find fewer.
        all.push(Burst { name: "refused, 10 bursts", attempts, batches: 10, is_bound: attempts == 5, ..ONE });
    }
    all
}

/// The end of each call: true for a success.
fn play(burst: &Burst, calls: u32, policy: &Policy, config: Option<&BudgetConfig>, seed: u64) -> Vec<bool> {
    let mut budget = config.map(|config| Budget::new(config, seed, Timestamp::ZERO));
    let mut guarded: Vec<Option<GuardedCall>> = vec![None; (calls * burst.batches) as usize];
    let mut ends = vec![false; guarded.len()];
    let mut taken = (0, 0);
    // Each event: when, its number, the call, and true for the end of an attempt that fails.
    let mut events = BinaryHeap::new();
    for batch in 0..burst.batches {
        for call in 0..calls {
            // One call after the other, as an event loop begins them.
            let at = u64::from(batch) * burst.every + u64::from(call) * 20_000;
            events.push(Reverse((at, u64::from(batch * calls + call), batch * calls + call, false)));
        }
    }
    let mut number = events.len() as u64;
    while let Some(Reverse((at, _, index, ended))) = events.pop() {
        let now = Timestamp::from_nanos(at);
        let guards = &mut Guards { budget: config.zip(budget.as_mut()), ..Guards::none() };
        let Some(slot) = guarded.get_mut(index as usize) else { continue };
        let step = match (slot.as_mut(), ended) {
            (None, _) => {
                let (call, step) = GuardedCall::begin(policy, guards, seed ^ u64::from(index) << 20, now);
                *slot = Some(call);
                step
            }
            (Some(call), false) => call.tick(policy, guards, now),
            (Some(call), true) => {
                let ticket = Ticket::from_raw(u64::from(call.attempt()));
                call.fail(policy, guards, ticket, now, failure(burst.mode))
            }
        };
        let (next, ended) = match step {
            Step::Attempt { .. } => match fate(burst, at, index / calls, &mut taken) {
                Some(took) => (at + took, true),
                None => {
                    if let Some(call) = slot.as_mut() {
                        call.succeed(guards, Ticket::from_raw(u64::from(call.attempt())), now);
                    }
                    *ends.get_mut(index as usize).unwrap_or(&mut false) = true;
                    continue;
                }
            },
            Step::Sleep { until, .. } => (until.as_nanos(), false),
            Step::Wait { .. } | Step::Stop(Outcome::Succeeded | Outcome::GaveUp { .. } | Outcome::Cancelled) => {
                continue;
            }
        };
        number += 1;
        events.push(Reverse((next, number, index, ended)));
    }
    ends
}

/// How long a failing attempt takes that begins then; `None` if it succeeds.
fn fate(burst: &Burst, at: u64, batch: u32, taken: &mut (u64, u32)) -> Option<u64> {
    if let Mode::Rate(rate, _) = burst.mode {
        if taken.0 != at / SECOND {
            *taken = (at / SECOND, 0);
        }
        taken.1 += 1;
        return (taken.1 > rate).then_some(0);
    }
    let is_down = at < u64::from(batch) * burst.every + burst.down;
    is_down.then_some(if let Mode::Silent(timeout) = burst.mode { timeout } else { 0 })
}

fn failure(mode: Mode) -> Failure {
    match mode {
        Mode::Refused => Failure::TRANSIENT,
        Mode::Silent(_) => Failure::TIMEOUT,
        Mode::Limited(after) => Failure::THROTTLED.with_hint(Hint::after(Span::from_nanos(after))),
        Mode::Rate(_, true) => Failure::THROTTLED.with_hint(Hint::after(Span::from_nanos(SECOND))),
        Mode::Rate(_, false) => Failure::THROTTLED,
    }
}

/// The table of bursts, and each row that loses a call and may not.
///
/// # Errors
/// None of the policies is invalid; the core checks them all the same.
pub fn table(seed: u64) -> Result<(String, Vec<String>)> {
    let mut text = format!("{:<28} {:>8} {:>7}", "the server", "attempts", "down");
    for calls in CALLS {
        let _ = write!(text, " {:>11}", format!("{calls} calls"));
    }
    text.push('\n');
    let mut missed = Vec::new();
    for burst in bursts() {
        let document = format!(r#"{{"attempts": {}}}"#, burst.attempts);
        let Document { policy, guards, .. } =
            Document::read(&mut serde_json::Deserializer::from_str(&document)).ok().context("the policy of a burst")?;
        let config = Options::budget_of_loops(&guards, &policy).context("the budget of a burst")?;
        let _ = write!(text, "{:<28} {:>8} {:>7}", burst.name, burst.attempts, shown(burst.down));
        for calls in CALLS {
            let (without, with) =
                (play(&burst, calls, &policy, None, seed), play(&burst, calls, &policy, Some(&config), seed));
            let lost = without.iter().zip(&with).filter(|(without, with)| **without && !**with).count();
            let saved = without.iter().filter(|saved| **saved).count();
            let _ = write!(text, " {:>11}", format!("{lost} of {saved}"));
            if burst.is_bound && lost > 0 {
                missed.push(format!(
                    "bursts: {} with {} attempts, {calls} calls: {lost} lost",
                    burst.name, burst.attempts
                ));
            }
        }
        text.push('\n');
    }
    Ok((text, missed))
}

fn shown(down: u64) -> String {
    if down == 0 { String::from("-") } else { format!("{} ms", down / MS) }
}
