//! Spreading delays out: a pure function of the delay and one uniform draw.
//!
//! Clients that fail together must not come back together. The cap holds after jitter, and the spread stays: where the
//! top of the range would pass the longest delay the whole range moves down, so that clients at the cap still differ
//! (spec 5). Systems that cap otherwise are followed on request: [`Cap`].

use crate::decide::backoff::{real, truncated};
use crate::time::Span;
use crate::words::words;

/// How a delay is spread. `d` is the backoff's delay, `u` the draw from [0, 1).
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Jitter {
    /// `d`: no draw is made.
    None,
    /// `trunc(u*d)`: anywhere between nothing and the delay (Brooker, "Exponential Backoff And Jitter", AWS 2015).
    Full,
    /// `h + trunc(u*(d-h))` with `h = d>>1`: half fixed, half spread (same source).
    Equal,
    /// `d + trunc((u*factor)*d)`: the delay and up to `factor` of it more (Kubernetes' `wait.Jitter`).
    Additive {
        /// The part of the delay that may be added: any finite number from 0 on.
        factor: f64,
    },
    /// `d + trunc((d*factor)*(2u-1))`: the delay give or take `factor` of it.
    Proportional {
        /// The part of the delay that may be added or taken: 0 to 1.
        factor: f64,
    },
    /// `d + trunc(u*bound)`: the delay and less than `bound` more, however long the delay is (Aster).
    Bounded {
        /// The longest time that is added.
        bound: Span,
    },
    /// `d - trunc((u*factor)*d)`: the delay and up to `factor` of it less (Chromium's `net::BackoffEntry`).
    Subtractive {
        /// The part of the delay that may be taken: 0 to 1.
        factor: f64,
    },
}

words! {
    /// The delays that the longest delay bounds.
    pub enum Cap: u8 = KeepSpread {
        /// The jittered delay; the spread stays, because the whole range moves down. Clients at the cap still differ.
        KeepSpread = 0 "keep_spread";
        /// The delay before jitter: what jitter adds comes on top (Kubernetes, gRPC).
        BeforeJitter = 1 "before_jitter";
        /// The jittered delay and nothing else: delays grow on below, and whatever passes the cap becomes it, so that clients
        /// at the cap come back together (resilience4j, Polly).
        Clip = 2 "clip";
    }
}

/// The numbers of the caps in a policy's memory.
pub(crate) const CAP_BEFORE_JITTER: u8 = Cap::BeforeJitter.code();
pub(crate) const CAP_CLIP: u8 = Cap::Clip.code();

words! {
    /// How delays are spread.
    pub enum JitterKind: u8 {
        /// Not at all.
        None = 0 "none";
        /// Anywhere between nothing and the delay.
        Full = 1 "full";
        /// Half of the delay fixed, half spread.
        Equal = 2 "equal";
        /// The delay and up to the factor of it more.
        Additive = 3 "additive";
        /// The delay give or take the factor of it.
        Proportional = 4 "proportional";
        /// The delay and less than the bound more.
        Bounded = 5 "bounded";
        /// The delay and up to the factor of it less.
        Subtractive = 6 "subtractive";
    }
}

/// The numbers of the kinds in a policy's memory.
pub(crate) const NONE: u8 = JitterKind::None.code();
pub(crate) const FULL: u8 = JitterKind::Full.code();
pub(crate) const EQUAL: u8 = JitterKind::Equal.code();
pub(crate) const ADDITIVE: u8 = JitterKind::Additive.code();
pub(crate) const PROPORTIONAL: u8 = JitterKind::Proportional.code();
pub(crate) const BOUNDED: u8 = JitterKind::Bounded.code();
pub(crate) const SUBTRACTIVE: u8 = JitterKind::Subtractive.code();

impl Jitter {
    /// The delay for the draw `u` from [0, 1), at most `max` (spec 5.2 and 5.3).
    pub fn apply(self, delay: Span, max: Span, u: f64) -> Span {
        self.apply_capped(delay, max, Cap::KeepSpread, u)
    }

    /// The delay for the draw `u` from [0, 1), with `max` bounding what `cap` says (spec 5.2 to 5.5).
    pub fn apply_capped(self, delay: Span, max: Span, cap: Cap, u: f64) -> Span {
        let (kind, by) = self.raw();
        let spread = spread(kind, by, delay.as_nanos(), max.as_nanos(), cap.code(), u);
        // A draw of the generator never rounds past the top; a finer `u` of the caller's could.
        let top = if cap.code() == CAP_BEFORE_JITTER { Span::MAX } else { max };
        Span::from_nanos(spread.value.min(top.as_nanos()))
    }

    /// [`Jitter::Bounded`] for a drawn whole number in place of a uniform: `d + (drawn mod bound)`, the remainder from 0 on.
    /// Exact where a bound has more bits than a double. Other kinds, which no whole number draws, leave the delay as it is.
    pub fn apply_drawn(self, delay: Span, drawn: i64) -> Span {
        let Self::Bounded { bound } = self else { return delay };
        let bound = i64::try_from(bound.as_nanos()).unwrap_or(i64::MAX);
        let added = drawn.checked_rem_euclid(bound).unwrap_or(0).unsigned_abs();
        Span::from_nanos(delay.as_nanos().saturating_add(added))
    }

    /// Kind, and factor (as bits) or bound.
    pub(crate) const fn raw(self) -> (u8, u64) {
        match self {
            Self::None => (NONE, 0),
            Self::Full => (FULL, 0),
            Self::Equal => (EQUAL, 0),
            Self::Additive { factor } => (ADDITIVE, factor.to_bits()),
            Self::Proportional { factor } => (PROPORTIONAL, factor.to_bits()),
            Self::Bounded { bound } => (BOUNDED, bound.as_nanos()),
            Self::Subtractive { factor } => (SUBTRACTIVE, factor.to_bits()),
        }
    }

    pub(crate) const fn from_raw(kind: u8, by: u64) -> Self {
        let factor = f64::from_bits(by);
        match kind {
            FULL => Self::Full,
            EQUAL => Self::Equal,
            ADDITIVE => Self::Additive { factor },
            PROPORTIONAL => Self::Proportional { factor },
            BOUNDED => Self::Bounded { bound: Span::from_nanos(by) },
            SUBTRACTIVE => Self::Subtractive { factor },
            _ => Self::None,
        }
    }
}

/// True if a kind has a factor.
pub(crate) const fn has_factor(kind: u8) -> bool {
    matches!(kind, ADDITIVE | PROPORTIONAL | SUBTRACTIVE)
}

/// True if that is no factor of the kind of jitter.
pub(crate) const fn breaks(kind: u8, by: u64) -> bool {
    let factor = f64::from_bits(by);
    let most = if kind == ADDITIVE { f64::MAX } else { 1.0 };
    has_factor(kind) && !(factor >= 0.0 && factor <= most)
}

/// A jittered delay and the range it was drawn from, `low` to `low + width`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spread {
    pub(crate) value: u64,
    pub(crate) low: u64,
    pub(crate) width: u64,
}

impl Spread {
    /// The delay and its range without the time that has passed already (spec 5.9).
    pub(crate) const fn shortened(self, passed: u64) -> Self {
        let low = self.low.saturating_sub(passed);
        let high = self.low.saturating_add(self.width).saturating_sub(passed);
        Self { value: self.value.saturating_sub(passed), low, width: high.saturating_sub(low) }
    }
}

/// The jittered delay with its range (spec 5.2), the cap applied (spec 5.3 to 5.5).
pub(crate) fn spread(kind: u8, by: u64, delay: u64, max: u64, cap: u8, u: f64) -> Spread {
    let (value, low, high) = range(kind, by, if cap == CAP_CLIP { delay } else { delay.min(max) }, u);
    capped(value, low, high, max, cap, u)
}

/// The jittered delay and the ends of its range (spec 5.2).
#[inline(always)]
pub(crate) fn range(kind: u8, by: u64, d: u64, u: f64) -> (u64, u64, u64) {
    let double = real(d);
    let factor = f64::from_bits(by);
    match kind {
        FULL => (truncated(u * double), 0, d),
        EQUAL => {
            let half = d >> 1;
            let rest = d.wrapping_sub(half);
            (half.wrapping_add(truncated(u * real(rest))), half, d)
        }
        ADDITIVE => {
            (d.saturating_add(truncated((u * factor) * double)), d, d.saturating_add(truncated(factor * double)))
        }
        PROPORTIONAL => {
            let reach = double * factor;
            (moved(d, reach * (2.0 * u - 1.0)), moved(d, -reach), moved(d, reach))
        }
        BOUNDED => (d.saturating_add(truncated(u * by as f64)), d, d.saturating_add(by)),
        SUBTRACTIVE => {
            (d.saturating_sub(truncated((u * factor) * double)), d.saturating_sub(truncated(factor * double)), d)
        }
        _ => (d, d, d),
    }
}

/// A delay between `low` and `high` under a cap (spec 5.3 to 5.5).
pub(crate) fn capped(value: u64, low: u64, high: u64, max: u64, cap: u8, u: f64) -> Spread {
    let width = high.saturating_sub(low);
    match cap {
        CAP_BEFORE_JITTER | CAP_CLIP => {
            let max = if cap == CAP_CLIP { max } else { Span::MAX.as_nanos() };
            let low = low.min(max);
            Spread { value: value.min(max), low, width: high.min(max).saturating_sub(low) }
        }
        _ if width > max => Spread { value: truncated(u * max as f64), low: 0, width: max },
        _ => {
            let excess = high.saturating_sub(max);
            Spread { value: value.saturating_sub(excess), low: low.saturating_sub(excess), width }
        }
    }
}

/// `d + trunc(by)`, where `by` may be negative.
fn moved(d: u64, by: f64) -> u64 {
    d.saturating_add_signed(by as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: Span = Span::from_secs(1);

    #[test]
    fn each_jitter_is_its_formula() {
        let max = Span::from_secs(10);
        for (jitter, u, nanos) in [
            (Jitter::None, 0.5, 1_000_000_000),
            (Jitter::Full, 0.25, 250_000_000),
            (Jitter::Equal, 0.5, 750_000_000),
            (Jitter::Additive { factor: 0.5 }, 0.5, 1_250_000_000),
            (Jitter::Proportional { factor: 0.25 }, 0.0, 750_000_000),
            (Jitter::Proportional { factor: 0.25 }, 0.5, 1_000_000_000),
        ] {
            assert_eq!(jitter.apply(S, max, u), Span::from_nanos(nanos), "{jitter:?} {u}");
        }
    }

    #[test]
    fn a_drawn_number_is_added_to_the_last_bit() {
        let jitter = Jitter::Bounded { bound: Span::from_nanos((1 << 61) - 1) };
        for (drawn, added) in [(1 << 60 | 1, 1 << 60 | 1), (-1, (1 << 61) - 2), (i64::MIN, (1 << 61) - 5), (1 << 61, 1)]
        {
            assert_eq!(jitter.apply_drawn(S, drawn).as_nanos(), S.as_nanos() + added, "{drawn}");
        }
        assert_eq!(Jitter::Bounded { bound: Span::ZERO }.apply_drawn(S, 7), S);
        assert_eq!(Jitter::Full.apply_drawn(S, 7), S);
        assert_eq!(Jitter::Bounded { bound: Span::MAX }.apply_drawn(Span::MAX, i64::MAX - 1), Span::MAX);
    }

    #[test]
    fn at_the_cap_the_range_moves_down_and_keeps_its_width() {
        // 1 s +50 % at a cap of 1 s: [0.5 s, 1 s) instead of one value for everybody.
        let jitter = Jitter::Additive { factor: 0.5 };
        assert_eq!(jitter.apply(S, S, 0.0), Span::from_millis(500));
        assert_eq!(jitter.apply(S, S, 0.5), Span::from_millis(750));
    }

    #[test]
    fn a_range_wider_than_the_cap_becomes_the_whole_of_it() {
        assert_eq!(Jitter::Additive { factor: 3.0 }.apply(S, S, 0.5), Span::from_millis(500));
    }

    #[test]
    fn bounded_and_subtractive_jitter_stay_on_their_side() {
        let bounded = Jitter::Bounded { bound: Span::from_millis(500) };
        assert_eq!(bounded.apply(S, Span::MAX, 0.5), Span::from_millis(1250));
        let subtractive = Jitter::Subtractive { factor: 0.4 };
        assert_eq!(subtractive.apply(S, S, 0.5), Span::from_millis(800));
        assert_eq!(subtractive.apply(S, S, 0.0), S);
    }

    #[test]
    fn a_cap_bounds_what_it_is_said_to_bound() {
        let jitter = Jitter::Additive { factor: 0.5 };
        let two = Span::from_secs(2);
        for (cap, millis) in [(Cap::KeepSpread, 750), (Cap::BeforeJitter, 1250), (Cap::Clip, 1000)] {
            assert_eq!(jitter.apply_capped(two, S, cap, 0.5), Span::from_millis(millis), "{cap:?}");
        }
    }

    proptest! {
        #[test]
        fn the_cap_holds_for_every_draw(
            kind in 0u8..7,
            factor in 0.0..=1.0f64,
            bound in 0..=i64::MAX as u64,
            delay in 0..=i64::MAX as u64,
            max in 0..=i64::MAX as u64,
            cap in 0u8..3,
            draw: u32,
        ) {
            let u = f64::from(draw) / 4_294_967_296.0;
            let by = if kind == BOUNDED { bound } else { factor.to_bits() };
            let got = spread(kind, by, delay, max, cap, u);
            prop_assert!(got.value <= max || cap == CAP_BEFORE_JITTER);
            prop_assert!(got.low <= got.value && got.value <= got.low + got.width);
        }

        #[test]
        fn no_numbers_panic(kind: u8, by: u64, delay: u64, max: u64, cap: u8, u: f64) {
            spread(kind, by, delay, max, cap, u);
        }
    }
}
