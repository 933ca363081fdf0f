//! What a timing wheel makes of timers that come, go and fall due.

use crate::format::{Case, Cases, File, N};
use crate::run::same;
use holdoff_core::{Rng, TimerKey, Timestamp, Wheel};
use serde::{Deserialize, Serialize};

/// What happens to a wheel, and what it says.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct WheelCase {
    /// What happens.
    pub ops: Vec<WheelOp>,
    /// What the wheel says to each.
    pub answers: Vec<WheelAnswer>,
}

/// What happens to a wheel. Timers are numbered from 0 in the order of insertion.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum WheelOp {
    /// A timer comes.
    Insert {
        /// When it is due.
        at: N,
    },
    /// A timer is cancelled, perhaps one that is no more.
    Cancel {
        /// Which.
        timer: usize,
    },
    /// The next timer that is due is asked for.
    Pop {
        /// The time.
        now: N,
    },
    /// The wheel is asked when to wake next, and how many timers there are.
    Look {},
    /// All timers are cancelled.
    Clear {},
}

/// What a wheel says: nothing to an insertion, or when it is cleared.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(untagged, deny_unknown_fields)]
pub enum WheelAnswer {
    /// To anything else.
    Nothing {},
    /// To a cancellation.
    Cancelled {
        /// Whether the timer was pending.
        cancelled: bool,
    },
    /// To a pop.
    Fired {
        /// The timer, if any is due.
        fired: Option<Fired>,
    },
    /// To a look.
    Looked {
        /// When the next timer is due, if any ever is.
        next_wake: Option<N>,
        /// How many timers are pending.
        len: usize,
    },
}

/// A timer that fired.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Fired {
    /// Its number.
    pub timer: usize,
    /// When it was due.
    pub at: N,
}

/// A wheel whose timers have numbers.
#[derive(Default)]
struct Numbered {
    wheel: Wheel,
    keys: Vec<TimerKey>,
    /// The number of the timer at each index.
    numbers: Vec<usize>,
}

impl Numbered {
    fn answer(&mut self, op: WheelOp) -> Result<WheelAnswer, String> {
        let at = |n: N| Timestamp::from_nanos(n.0);
        Ok(match op {
            WheelOp::Insert { at: due } => {
                let key = self.wheel.insert(at(due)).map_err(|error| error.to_string())?;
                let index = key.index() as usize;
                // Indices are dense: an array is enough for what belongs to timers.
                if index > self.numbers.len() {
                    return Err(format!("index {index} comes after {} others", self.numbers.len()));
                }
                self.numbers.resize(self.numbers.len().max(index + 1), 0);
                self.numbers[index] = self.keys.len();
                self.keys.push(key);
                WheelAnswer::Nothing {}
            }
            WheelOp::Cancel { timer } => {
                let key = *self.keys.get(timer).ok_or_else(|| format!("there was no timer {timer}"))?;
                WheelAnswer::Cancelled { cancelled: self.wheel.cancel(key) }
            }
            WheelOp::Pop { now } => {
                let fired = self.wheel.pop(at(now)).map(|(key, at)| {
                    let timer = self.numbers.get(key.index() as usize).copied().unwrap_or(usize::MAX);
                    Fired { timer, at: N(at.as_nanos()) }
                });
                WheelAnswer::Fired { fired }
            }
            WheelOp::Look {} => {
                let next_wake = self.wheel.next_wake().map(|at| N(at.as_nanos()));
                WheelAnswer::Looked { next_wake, len: self.wheel.len() }
            }
            WheelOp::Clear {} => {
                self.wheel.clear();
                WheelAnswer::Nothing {}
            }
        })
    }
}

/// Drives a wheel through a case.
pub fn run(case: &WheelCase) -> Result<(), String> {
    if case.ops.len() != case.answers.len() {
        return Err(format!("{} answers for {} ops", case.answers.len(), case.ops.len()));
    }
    let mut numbered = Numbered::default();
    for (step, (op, expected)) in case.ops.iter().zip(&case.answers).enumerate() {
        let got = numbered.answer(*op).map_err(|error| format!("{error} (at step {step})"))?;
        same(expected, &got).map_err(|error| format!("{error} (at step {step})"))?;
    }
    Ok(())
}

/// Random lives of wheels: near and far times, equal ones and such that have passed.
pub fn lives(seed: u64, count: usize) -> File {
    let mut rng = Rng::new(seed);
    let life = |number| Case::generated(format!("life {number}"), life(&mut rng));
    let cases = (0..count).map(life).collect();
    File::Wheel(Cases { version: 1, source: format!("random lives of wheels, seed {seed}"), cases })
}

fn life(rng: &mut Rng) -> WheelCase {
    let mut numbered = Numbered::default();
    let mut now = 1_700_000_000_000_000_000 + u64::from(rng.next_u32());
    let (mut ops, mut answers, mut times) = (Vec::new(), Vec::new(), Vec::<u64>::new());
    // The order of the draws is the order of the lines here.
    while ops.len() < 60 {
        let place = rng.next_u32() as usize;
        let far = u64::from(rng.next_u32()) << (rng.next_u32() % 26);
        let op = match rng.next_u32() % 20 {
            0..=6 => WheelOp::Insert { at: N(now + far) },
            7 => WheelOp::Insert { at: N(now.saturating_sub(far)) },
            8..=9 if !times.is_empty() => WheelOp::Insert { at: N(times[place % times.len()]) },
            10 if place.is_multiple_of(4) => WheelOp::Insert { at: N(u64::MAX) },
            11..=12 if !times.is_empty() => WheelOp::Cancel { timer: place % times.len() },
            13..=16 => {
                // To a pending timer's time, or some way towards it.
                let due = numbered.wheel.next_wake().map_or(now, |at| at.as_nanos()).max(now);
                now = if place.is_multiple_of(3) { now + (due - now) / 2 } else { due };
                WheelOp::Pop { now: N(now) }
            }
            17 if place.is_multiple_of(3) => WheelOp::Pop { now: N(now - far % 1_000_000_000) },
            18 if place.is_multiple_of(16) => WheelOp::Clear {},
            _ => WheelOp::Look {},
        };
        if let WheelOp::Insert { at } = op {
            times.push(at.0);
        }
        answers.push(numbered.answer(op).expect("an op that can happen"));
        ops.push(op);
    }
    WheelCase { ops, answers }
}
