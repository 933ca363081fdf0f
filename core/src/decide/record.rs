//! What a policy has for one stage of its backoff, and for one of its rules, as plain numbers.

use crate::decide::backoff::{self, RawStage};
use crate::decide::jitter::Jitter;
use crate::fields::Field;

/// The most stages of a policy and its rules together.
pub(crate) const STAGES: usize = 16;
/// The most delays of its lists together.
pub(crate) const DELAYS: usize = 64;

/// The number of "no limit".
const NO_LIMIT: u64 = u64::MAX;

/// A jitter as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RawJitter {
    pub(crate) kind: u8,
    /// True if the bound is multiplied by the number of the delay.
    pub(crate) grows: bool,
    /// The bits of the factor, or the bound.
    pub(crate) by: u64,
}

impl RawJitter {
    /// The public jitter.
    pub(crate) const fn jitter(self) -> Jitter {
        Jitter::from_raw(self.kind, self.by)
    }
}

/// The use of hints as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RawHint {
    pub(crate) mode: u8,
    pub(crate) over: u8,
    pub(crate) max: u64,
    pub(crate) reach: u64,
}

/// The jitter, cap and hint that a stage or a rule has of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Choices {
    by: u64,
    max: u64,
    reach: u64,
    /// One more than the number of the jitter, the cap and the use of hints; 0 for none.
    jitter: u8,
    cap: u8,
    mode: u8,
    grows: u8,
    over: u8,
    /// No padding: a policy is its bytes.
    unused: [u8; 3],
}

impl Choices {
    pub(crate) const NONE: Self = Self::new(None, None, None);

    pub(crate) const fn new(jitter: Option<RawJitter>, cap: Option<u8>, hint: Option<RawHint>) -> Self {
        let mut own = Self { by: 0, max: 0, reach: 0, jitter: 0, cap: 0, mode: 0, grows: 0, over: 0, unused: [0; 3] };
        if let Some(RawJitter { kind, grows, by }) = jitter {
            (own.jitter, own.grows, own.by) = (kind.wrapping_add(1), grows as u8, by);
        }
        if let Some(cap) = cap {
            own.cap = cap.wrapping_add(1);
        }
        if let Some(RawHint { mode, over, max, reach }) = hint {
            (own.mode, own.over, own.max, own.reach) = (mode.wrapping_add(1), over, max, reach);
        }
        own
    }

    pub(crate) const fn jitter(&self) -> Option<RawJitter> {
        match self.jitter.checked_sub(1) {
            Some(kind) => Some(RawJitter { kind, grows: self.grows != 0, by: self.by }),
            None => None,
        }
    }

    pub(crate) const fn cap(&self) -> Option<u8> {
        self.cap.checked_sub(1)
    }

    pub(crate) const fn hint(&self) -> Option<RawHint> {
        match self.mode.checked_sub(1) {
            Some(mode) => Some(RawHint { mode, over: self.over, max: self.max, reach: self.reach }),
            None => None,
        }
    }

    pub(crate) const fn is_none(&self) -> bool {
        self.jitter | self.cap | self.mode == 0
    }
}

/// A stage of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Record {
    /// The numbers of the backoff; of a list only kind and number of delays.
    pub(crate) stage: RawStage,
    /// The shortest delay.
    pub(crate) floor: u64,
    /// The time that is added after the jitter.
    pub(crate) offset: u64,
    /// The time since the start after which the stage is over.
    pub(crate) until: u64,
    pub(crate) own: Choices,
    /// The first index of a polynomial.
    pub(crate) from: u32,
    /// 1 if the first stage begins again behind this one.
    pub(crate) repeats: u8,
    /// The place of a list's first delay among those of the policy.
    pub(crate) delays: u8,
    /// No padding: a policy is its bytes.
    pub(crate) unused: [u8; 2],
}

impl Record {
    /// The place of a stage that there is none at: nothing but zeroes.
    pub(crate) const EMPTY: Self = Self { until: 0, from: 0, ..Self::of(RawStage::EMPTY) };

    /// A stage with nothing but itself.
    pub(crate) const fn of(stage: RawStage) -> Self {
        Self {
            stage,
            floor: 0,
            offset: 0,
            until: NO_LIMIT,
            own: Choices::NONE,
            from: 1,
            repeats: 0,
            delays: 0,
            unused: [0; 2],
        }
    }

    /// True if it is a stage without an end and without anything of its own.
    pub(crate) const fn is_simple(&self) -> bool {
        self.stage.times == 0 && self.stage.kind != backoff::LIST && self.ruled_field().is_none()
    }

    /// The first of the fields that few stages have.
    pub(crate) const fn ruled_field(&self) -> Option<Field> {
        Some(match () {
            () if self.floor != 0 => Field::BackoffFloor,
            () if self.offset != 0 => Field::BackoffOffset,
            () if self.from != 1 => Field::BackoffFrom,
            () if self.until != NO_LIMIT => Field::BackoffUntil,
            () if self.repeats != 0 => Field::BackoffRepeat,
            () if self.own.jitter != 0 => Field::JitterKind,
            () if self.own.cap != 0 => Field::Cap,
            () if self.own.mode != 0 => Field::HintMode,
            () => return None,
        })
    }

    pub(crate) const fn is_list(&self) -> bool {
        self.stage.kind == backoff::LIST
    }

    /// The delays of a list, of those of the policy.
    pub(crate) const fn listed<'d>(&self, delays: &'d [u64; DELAYS]) -> &'d [u64] {
        if self.is_list() { part(delays, self.delays, self.stage.times as usize) } else { &[] }
    }

    /// Base delay `n` of the stage, at most `limit`, without those before it (spec 4).
    pub(crate) fn at(&self, delays: &[u64; DELAYS], n: u32, limit: u64) -> u64 {
        match self.stage.kind {
            backoff::LIST if cfg!(feature = "powers") => {
                let listed = self.listed(delays);
                listed.get(n as usize).or(listed.last()).copied().unwrap_or_default()
            }
            backoff::POLYNOMIAL if cfg!(feature = "powers") => self.stage.polynomial(n, self.from, limit),
            _ => self.stage.at(n, limit),
        }
    }
}

/// So many of a row from a place on, or all that there are.
pub(crate) const fn part<T>(row: &[T], at: u8, count: usize) -> &[T] {
    match row.split_at_checked(at as usize) {
        Some((_, rest)) => match rest.split_at_checked(count) {
            Some((part, _)) => part,
            None => rest,
        },
        None => &[],
    }
}
