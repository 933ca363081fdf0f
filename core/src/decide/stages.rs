//! Which stage of a backoff the next delay comes from, and that delay with its range.
//!
//! Stages follow one another, each for its number of delays. Except where a time ends a stage, the stage follows from the
//! number of delays there have been, so that the state is one delay and one count (spec 4.9).

use crate::decide::backoff::{BackoffNumbers, DECORRELATED, LINEAR, real, truncated};
use crate::decide::jitter::{self, CAP_CLIP, Spread, capped};
use crate::decide::policy::{COUNTED, Policy, UNLIMITED};
use crate::decide::stage_numbers::{Choices, StageNumbers};
use crate::time::Span;

/// The stage that a delay comes from.
#[derive(Clone, Copy)]
pub(crate) struct StagePosition<'p> {
    pub(crate) record: &'p StageNumbers,
    /// The number of the stage among those it was found in.
    pub(crate) index: u32,
    /// Which delay of the stage it is, from 0.
    pub(crate) n: u32,
    /// The stage is used up and no stage follows: the last delay stays, a random one goes on.
    pub(crate) over: bool,
}

/// The number of delay `n` since stages that repeat began for the last time; of others `n`.
pub(crate) fn in_turn(records: &[StageNumbers], n: u32) -> u32 {
    let sum = records.iter().fold(0_u32, |sum, record| sum.saturating_add(record.stage.times));
    match n.checked_rem(sum) {
        Some(rest) if records.last().is_some_and(|last| last.repeats != 0) => rest,
        _ => n,
    }
}

/// The stage of delay `n` among stages that follow one another once; `None` without a stage.
pub(crate) fn position(records: &[StageNumbers], n: u32) -> Option<StagePosition<'_>> {
    let mut left = n;
    let mut position = None;
    for (record, index) in records.iter().zip(0..) {
        let times = record.stage.times;
        let over = times != 0 && left >= times;
        let n = if over && !record.stage.is_random() { times.wrapping_sub(1) } else { left };
        position = Some(StagePosition { record, index, n, over });
        if !over {
            break;
        }
        left = left.wrapping_sub(times);
    }
    position
}

impl Policy {
    /// The stage of the policy's delay `n`, where no time ends a stage.
    pub(crate) fn position(&self, n: u32) -> StagePosition<'_> {
        let first = StagePosition { record: self.first(), index: 0, n, over: false };
        // No policy of several stages is built without the feature, so the compiler leaves them out.
        if cfg!(not(feature = "powers")) {
            return first;
        }
        let n = if self.has_rules() { in_turn(self.own_stages(), n) } else { n };
        position(self.own_stages(), n).unwrap_or(first)
    }

    /// The base delay after failure `n`; of a random one the shortest. Where a time ends a stage, the time is that of the base
    /// delays before.
    pub(crate) fn base_at(&self, n: u32) -> u64 {
        if self.is_single() {
            let stage = &self.first().stage;
            // A linear delay grows with the one before it, also where delays are no longer counted.
            let n = if stage.kind == LINEAR { n } else { n.min(COUNTED) };
            return stage.at(n, limit(stage, self.own.cap));
        }
        let at = |position: StagePosition<'_>| {
            position.record.at(&self.delays, position.n, limit(&position.record.stage, self.own.cap))
        };
        if self.own_stages().iter().all(|record| record.until == UNLIMITED) {
            return at(self.position(n.min(COUNTED)));
        }
        let (mut index, mut began, mut passed) = (0, 0_u32, 0_u64);
        let mut last = 0;
        for delay in 0..=n.min(COUNTED) {
            let Some((position, stay)) = self.position_by_time(index, delay.wrapping_sub(began), passed) else { break };
            began = if position.index == index { began } else { delay.wrapping_sub(stay) };
            index = position.index;
            last = at(position);
            passed = passed.saturating_add(last);
        }
        last
    }

    /// The stage of the next delay where a time ends a stage: `index` is the stage of the latest delay, `n` how many delays there
    /// have been since it began, `passed` the time since the start. Returns the number of delays since the stage began,
    /// too; `None` if the time of the last stage is over.
    pub(crate) fn position_by_time(&self, index: u32, n: u32, passed: u64) -> Option<(StagePosition<'_>, u32)> {
        let mut n = n;
        let mut stages = self.own_stages().iter().zip(0_u32..).skip(index as usize).peekable();
        while let Some((record, index)) = stages.next() {
            let times = record.stage.times;
            let used = times != 0 && n >= times;
            if !used && passed < record.until {
                return Some((StagePosition { record, index, n, over: false }, n));
            }
            if stages.peek().is_none() {
                if record.until != UNLIMITED {
                    return None;
                }
                let last = if record.stage.is_random() { n } else { times.wrapping_sub(1) };
                return Some((StagePosition { record, index, n: last, over: true }, n));
            }
            n = if used { n.wrapping_sub(times) } else { 0 };
        }
        None
    }
}

/// The longest delay that a stage grows to under a cap: with the cap on the jittered delay alone, any.
const fn limit(stage: &BackoffNumbers, cap: u8) -> u64 {
    if cap == CAP_CLIP { Span::MAX.as_nanos() } else { stage.max }
}

/// The next delay of a backoff that is its own jitter (spec 4.7 and 4.8).
fn random(stage: &BackoffNumbers, base: &mut u64, n: u32, fresh: bool, cap: u8, u: f64) -> Spread {
    if stage.kind == DECORRELATED {
        let previous = if fresh { stage.initial } else { *base };
        let low = stage.initial;
        let grown = truncated(real(previous) * stage.factor());
        let high = if cap == CAP_CLIP { grown } else { grown.min(stage.max) }.max(low);
        let value = low.saturating_add(truncated(u * high.wrapping_sub(low) as f64)).min(stage.max);
        *base = value;
        return Spread { value, low, width: high.min(stage.max).saturating_sub(low) };
    }
    let previous = if fresh { 0.0 } else { f64::from_bits(*base) };
    let bounded = |u| stage.smooth(previous, n, u).0.min(stage.max);
    let (value, grown) = stage.smooth(previous, n, u);
    let low = bounded(0.0);
    *base = grown.to_bits();
    Spread { value: value.min(stage.max), low, width: bounded(1.0).saturating_sub(low) }
}

impl StagePosition<'_> {
    /// The delay and its range, before the time that the attempt took is taken off (spec 5). Sets the base delay; `fresh` says
    /// that it is of another stage, or of none.
    pub(crate) fn delay(&self, policy: &Policy, base: &mut u64, fresh: bool, choices: &Choices, u: f64) -> Spread {
        let Self { record, n, over, .. } = *self;
        let Choices { jitter, grows, jitter_by: by, cap, .. } = *choices;
        let stage = &record.stage;
        let fresh = fresh || policy.has_rules() && n == 0 && record.repeats != 0;
        let apart = cfg!(feature = "powers") && (record.is_list() || record.from != 1);
        if stage.is_random() {
            let spread = random(stage, base, n, fresh, cap, u);
            let Spread { value, low, width } = spread;
            return if policy.has_rules() {
                record.raised(value, low, low.saturating_add(width), cap, u)
            } else {
                spread
            };
        }
        let limit = limit(stage, cap);
        *base = match () {
            () if fresh || apart => record.at(&policy.delays, n, limit),
            () if over => *base,
            () => stage.next(*base, n, limit),
        };
        let by =
            if grows != 0 { by.saturating_mul(u64::from(n).saturating_add(1)).min(Span::MAX.as_nanos()) } else { by };
        let d = if cap == CAP_CLIP { *base } else { (*base).min(stage.max) };
        let (value, low, high) = jitter::range(jitter, by, d, u);
        if policy.has_rules() {
            return record.raised(value, low, high, cap, u);
        }
        capped(value, low, high, stage.max, cap, u)
    }
}

impl StageNumbers {
    /// The delay with the offset, the cap, and the floor (spec 5.7 and 5.8).
    fn raised(&self, value: u64, low: u64, high: u64, cap: u8, u: f64) -> Spread {
        let [value, low, high] = [value, low, high].map(|end| end.saturating_add(self.offset));
        let spread = capped(value, low, high, self.stage.max, cap, u);
        if spread.low >= self.floor {
            return spread;
        }
        let width = spread.low.saturating_add(spread.width).max(self.floor).saturating_sub(self.floor);
        Spread { value: self.floor.saturating_add(truncated(u * real(width))), low: self.floor, width }
    }
}
