//! Which stage of a policy's backoff the next delay comes from, and that delay with its range.
//!
//! A chain says "first this, then that": stages follow one another, each for its number of delays. A table is stages that
//! are for one kind of failure only. Both are told from the number of delays there have been, so that the state is still
//! one delay and one count (spec 4.9 and 4.10).

use crate::decide::backoff::{DECORRELATED, DECORRELATED_V2, LINEAR, RawStage, UNSTARTED, real, truncated};
use crate::decide::jitter::{self, CAP_CLIP, Spread, jittered, scaled, scaled_small, spread};
use crate::decide::policy::{COUNTED, DOUBLES, Policy};
use crate::decide::rng::unit;
use crate::time::Span;

/// Where an operation is in its policy's backoff: 12 bytes of the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    /// The latest base delay (of Polly's backoff the bits of its `f`), or [`UNSTARTED`].
    pub(crate) base: u64,
    /// How many delays there have been, at most [`COUNTED`], and above that the stage of the latest.
    pub(crate) count: u32,
}

impl Position {
    pub(crate) const START: Self = Self { base: UNSTARTED, count: 0 };
}

/// The stage that a delay comes from.
struct Spot<'p> {
    stage: &'p RawStage,
    index: u32,
    /// Which delay of the stage it is, from 0.
    n: u32,
    /// The stage is used up and no stage follows: the last delay stays, a random one goes on.
    over: bool,
}

impl Policy {
    /// The stage of delay `n` after a failure of that kind.
    fn spot(&self, kind: u8, n: u32) -> Spot<'_> {
        if self.stages == 1 && self.first.times == 0 {
            return Spot { stage: &self.first, index: 0, n, over: false };
        }
        let on = if self.tables & 1_u8.wrapping_shl(u32::from(kind)) == 0 { 0 } else { kind };
        let mut spot = Spot { stage: &self.first, index: 0, n, over: false };
        let mut left = n;
        let stages = core::iter::once(&self.first).chain(&self.others).take(usize::from(self.stages));
        for (index, stage) in stages.enumerate().filter(|(_, stage)| stage.on == on) {
            spot = Spot { stage, index: index as u32, n: left, over: false };
            if stage.times == 0 || left < stage.times {
                return spot;
            }
            if !stage.is_random() {
                spot.n = stage.times.wrapping_sub(1);
            }
            spot.over = true;
            left = left.wrapping_sub(stage.times);
        }
        spot
    }

    /// The longest delay that a stage grows to: with the cap on the jittered delay alone, any.
    const fn limit(&self, stage: &RawStage) -> u64 {
        if self.cap == CAP_CLIP { Span::MAX.as_nanos() } else { stage.max }
    }

    /// True if the next delay after a failure of that kind takes a draw (spec 2.4).
    fn draws(&self, spot: &Spot<'_>) -> bool {
        self.jitter != jitter::NONE || spot.stage.is_random()
    }

    /// The next delay after a failure of that kind, and its range; `draw` is asked for at most one uniform.
    pub(crate) fn delay(&self, at: &mut Position, kind: u8, draw: impl FnOnce() -> f64) -> Spread {
        let delays = at.count & COUNTED;
        let spot = self.spot(kind, delays);
        let Spot { stage, index, n, over } = spot;
        let u = if self.draws(&spot) { draw() } else { 0.0 };
        let fresh = at.base == UNSTARTED || at.count >> 29 != index;
        at.count = delays.wrapping_add(1).min(COUNTED) | index << 29;
        if stage.is_random() {
            return self.random(at, stage, n, fresh, u);
        }
        let limit = self.limit(stage);
        at.base = match () {
            () if fresh => stage.at(n, limit),
            () if over => at.base,
            () => stage.next(at.base, n, limit),
        };
        let max = if stage.kind == crate::decide::backoff::LIST { Span::MAX.as_nanos() } else { stage.max };
        spread(self.jitter, self.jitter_by, at.base, max, self.cap, u)
    }

    /// The next base delay and the next delay of a policy that is one endless stage, as [`Policy::delay`] has them. A pure step
    /// from numbers to numbers: a state behind a reference would leave the registers.
    #[inline(always)]
    pub(crate) fn steady_delay(&self, base: u64, n: u32, draw: u32) -> (u64, u64) {
        // In line for most policies: a delay that doubles, with full jitter.
        if self.path & DOUBLES != 0 {
            let base = if base == UNSTARTED { self.first.initial } else { self.first.max.min(base << 1) };
            if let Some(delay) = scaled_small(base, draw) {
                return (base, delay);
            }
        }
        self.stage_delay(base, n, draw)
    }

    #[inline(never)]
    fn stage_delay(&self, base: u64, n: u32, draw: u32) -> (u64, u64) {
        let (stage, fresh) = (&self.first, base == UNSTARTED);
        if stage.kind == DECORRELATED {
            let low = stage.initial;
            let high = stage.grown(if fresh { low } else { base }).min(stage.max).max(low);
            let delay = low.saturating_add(scaled(high.wrapping_sub(low), draw));
            return (delay, delay);
        }
        if stage.kind == DECORRELATED_V2 {
            let previous = if fresh { 0.0 } else { f64::from_bits(base) };
            let (delay, grown) = stage.smooth(previous, n, unit(draw));
            return (grown.to_bits(), delay.min(stage.max));
        }
        let limit = self.limit(stage);
        let base = if fresh { stage.at(n, limit) } else { stage.next(base, n, limit) };
        (base, jittered(self.jitter, self.jitter_by, base, stage.max, self.cap, draw))
    }

    /// The next delay of a backoff that is its own jitter (spec 4.7 and 4.8).
    fn random(&self, at: &mut Position, stage: &RawStage, n: u32, fresh: bool, u: f64) -> Spread {
        if stage.kind == DECORRELATED {
            let previous = if fresh { stage.initial } else { at.base };
            let low = stage.initial;
            let high = truncated(real(previous) * stage.factor()).min(stage.max).max(low);
            let width = high.wrapping_sub(low);
            let value = low.saturating_add(truncated(u * width as f64));
            at.base = value;
            return Spread { value, low, width };
        }
        let previous = if fresh { 0.0 } else { f64::from_bits(at.base) };
        let bounded = |u| stage.smooth(previous, n, u).0.min(stage.max);
        let (value, grown) = stage.smooth(previous, n, u);
        let low = bounded(0.0);
        at.base = grown.to_bits();
        Spread { value: value.min(stage.max), low, width: bounded(1.0).saturating_sub(low) }
    }

    /// The base delay after failure `n` of the kind that has no stages of its own; of a random one the shortest.
    pub(crate) fn base_at(&self, n: u32) -> u64 {
        // A linear delay grows with the one before it, also where delays are no longer counted.
        let grows = self.stages == 1 && self.first.times == 0 && self.first.kind == LINEAR;
        let Spot { stage, n, .. } = self.spot(0, if grows { n } else { n.min(COUNTED) });
        stage.at(n, self.limit(stage))
    }
}
