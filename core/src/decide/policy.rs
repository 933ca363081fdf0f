//! The policy: the choices after a failure, as numbers that are valid by construction.
//!
//! Configuration is checked in one place, [`Options::build`](crate::Options::build), and never again: a machine that
//! holds a [`Policy`] has nothing left to refuse. The fields, their names and their rules are the same in every
//! language, because every language sets them through [`Options::set`](crate::Options::set).

use crate::decide::backoff::{self, Backoff, RawStage, Stage};
use crate::decide::failure::FailureKind;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{self, Cap, Jitter};
use crate::saved_bytes::Fnv;
use crate::time::Span;
use crate::words::words;

/// The most stages of a policy. A list takes one for each three of its delays.
pub(crate) const STAGES: usize = 6;

/// The delays that are counted. Later ones are delays of the last stage.
pub(crate) const COUNTED: u32 = (1 << 29) - 1;

/// The number of "no limit" for a deadline or a timeout.
pub(crate) const UNLIMITED: u64 = u64::MAX;
/// The number of "retry for ever".
pub(crate) const FOREVER: u32 = u32::MAX;

/// A valid retry policy: 256 bytes of plain numbers, to be shared by any number of operations.
///
/// Built by [`Policy::options`]; [`Policy::default`] is safe to use as it is (spec 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Policy {
    /// Apart from the others, so that the hot path finds it at a known place.
    pub(crate) first: RawStage,
    pub(crate) others: [RawStage; STAGES - 1],
    /// The bits of the jitter's factor, or its bound.
    pub(crate) jitter_by: u64,
    pub(crate) deadline: u64,
    pub(crate) min_attempt: u64,
    pub(crate) attempt_timeout: u64,
    pub(crate) hint_max: u64,
    pub(crate) hint_reach: u64,
    pub(crate) attempts: u32,
    /// How many delays leave an attempt and come from one endless stage; 0 for a policy of several stages.
    pub(crate) steady: u32,
    pub(crate) stages: u8,
    /// A bit for each failure kind that has stages of its own.
    pub(crate) tables: u8,
    pub(crate) jitter: u8,
    pub(crate) cap: u8,
    pub(crate) on_deadline: u8,
    pub(crate) hint_mode: u8,
    pub(crate) hint_over: u8,
    /// [`DRAWS`], [`DOUBLES`], both or none.
    pub(crate) path: u8,
}

words! {
    /// The choice when the next attempt would not fit before the deadline (spec 6).
    #[non_exhaustive]
    pub enum OnDeadline: u8 = Stop {
        /// Give up at once instead of sleeping in vain.
        Stop = 0 "stop";
        /// Sleep less, so that one last attempt has `min_attempt` of time left.
        Clip = 1 "clip";
    }
}

pub(crate) const STOP: u8 = OnDeadline::Stop.code();
pub(crate) const CLIP: u8 = OnDeadline::Clip.code();
pub(crate) const FLOOR: u8 = HintMode::Floor.code();
pub(crate) const REPLACE: u8 = HintMode::Replace.code();
pub(crate) const IGNORE: u8 = HintMode::Ignore.code();
pub(crate) const EXACT: u8 = HintMode::Exact.code();
pub(crate) const AT_LEAST: u8 = HintMode::AtLeast.code();
pub(crate) const CLAMP: u8 = HintOver::Clamp.code();

/// Every delay of one endless stage takes a draw.
pub(crate) const DRAWS: u8 = 1;
/// The delay doubles and has full jitter, in whole numbers: most policies.
pub(crate) const DOUBLES: u8 = 2;

/// langgraphgo's numbers, with full jitter and hints obeyed up to a minute.
const DEFAULT: Policy = Policy {
    first: RawStage {
        initial: 100_000_000,
        step: 2.0_f64.to_bits(),
        max: 5_000_000_000,
        kind: backoff::EXPONENTIAL,
        ..RawStage::EMPTY
    },
    others: [RawStage::EMPTY; STAGES - 1],
    jitter_by: 0,
    deadline: UNLIMITED,
    min_attempt: 0,
    attempt_timeout: UNLIMITED,
    hint_max: 60_000_000_000,
    hint_reach: UNLIMITED,
    attempts: 3,
    steady: 2,
    stages: 1,
    tables: 0,
    jitter: jitter::FULL,
    cap: jitter::CAP_KEEP_SPREAD,
    on_deadline: STOP,
    hint_mode: FLOOR,
    hint_over: STOP,
    path: DRAWS | DOUBLES,
};

impl Default for Policy {
    fn default() -> Self {
        DEFAULT
    }
}

impl Policy {
    /// The default policy (spec 3.1).
    pub const DEFAULT: Self = DEFAULT;

    /// How delays grow: the stages of the chain. Most policies have one stage. A list of delays is as many constant
    /// stages of one delay each.
    pub fn stages(&self) -> impl Iterator<Item = Stage> {
        let all = self.raw_stages().into_iter().take(usize::from(self.stages));
        all.flat_map(|stage| (0..stage.parts()).map(move |part| stage.part(part)))
    }

    /// The memory of the stages; the first [`Policy::stages`] are in use.
    pub(crate) const fn raw_stages(&self) -> [RawStage; STAGES] {
        let [second, third, fourth, fifth, sixth] = self.others;
        [self.first, second, third, fourth, fifth, sixth]
    }

    /// How delays are spread.
    pub const fn jitter(&self) -> Jitter {
        Jitter::from_raw(self.jitter, self.jitter_by)
    }

    /// The delays that the longest delay bounds.
    pub const fn cap(&self) -> Cap {
        Cap::read(self.cap)
    }

    /// How many attempts there may be, the first one included; `None` for ever.
    pub const fn attempts(&self) -> Option<u32> {
        if self.attempts == FOREVER { None } else { Some(self.attempts) }
    }

    /// How long the whole operation may take, attempts included; `None` without a limit.
    pub const fn deadline(&self) -> Option<Span> {
        limit(self.deadline)
    }

    /// How much time an attempt must have left before the deadline to be worth starting.
    pub const fn min_attempt(&self) -> Span {
        Span::from_nanos(self.min_attempt)
    }

    /// The choice when the next attempt would not fit before the deadline.
    pub const fn on_deadline(&self) -> OnDeadline {
        OnDeadline::read(self.on_deadline)
    }

    /// How long one attempt may take; `None` without a limit.
    pub const fn attempt_timeout(&self) -> Option<Span> {
        limit(self.attempt_timeout)
    }

    /// The use of a server's hint.
    pub const fn hint_mode(&self) -> HintMode {
        HintMode::read(self.hint_mode)
    }

    /// The longest hint that is obeyed.
    pub const fn hint_max(&self) -> Span {
        Span::from_nanos(self.hint_max)
    }

    /// The use of a hint longer than [`Policy::hint_max`].
    pub const fn hint_over(&self) -> HintOver {
        HintOver::read(self.hint_over)
    }

    /// How far a hint may move a delay beyond the policy's own; `None` without a limit.
    pub const fn hint_reach(&self) -> Option<Span> {
        limit(self.hint_reach)
    }

    /// How long the first attempt may take: the smaller of deadline and attempt timeout, `None` without either.
    ///
    /// The one sum a host makes by itself: it adds this to the time of its first attempt, to abort it.
    pub const fn first_limit(&self) -> Option<Span> {
        limit(if self.deadline < self.attempt_timeout { self.deadline } else { self.attempt_timeout })
    }

    /// The same policy with the numbers that the fast path compares.
    pub(crate) const fn prepared(mut self) -> Self {
        let most = if self.attempts <= COUNTED { self.attempts.wrapping_sub(1) } else { COUNTED };
        self.steady = if self.stages == 1 && self.first.times == 0 { most } else { 0 };
        let RawStage { kind, max, .. } = self.first;
        let doubles = kind == backoff::EXPONENTIAL && self.first.factor() == 2.0 && max < backoff::SMALL;
        let full = self.jitter == jitter::FULL && self.cap == jitter::CAP_KEEP_SPREAD;
        let draws = self.jitter != jitter::NONE || self.first.is_random();
        self.path = if draws { DRAWS } else { 0 } | if doubles && full { DOUBLES } else { 0 };
        self
    }

    /// A number that tells policies apart by what they decide: FNV-1a of 64 bits over the fields in the order of their
    /// numbers (spec 12.3).
    pub fn fingerprint(&self) -> u64 {
        let mut fnv = Fnv::LONG;
        let mut mix = |word: u64| fnv.add(&word.to_le_bytes());
        for stage in core::iter::once(&self.first).chain(&self.others).take(usize::from(self.stages)) {
            [stage.initial, stage.step, stage.max].into_iter().for_each(&mut mix);
            [stage.times, u32::from(stage.kind), u32::from(stage.on)].map(u64::from).into_iter().for_each(&mut mix);
        }
        [self.jitter_by, self.deadline, self.min_attempt, self.attempt_timeout, self.hint_max, self.hint_reach]
            .into_iter()
            .for_each(&mut mix);
        mix(u64::from(self.attempts));
        [self.jitter, self.cap, self.on_deadline, self.hint_mode, self.hint_over]
            .map(u64::from)
            .into_iter()
            .for_each(&mut mix);
        fnv.hash
    }
}

impl RawStage {
    /// How many public stages this one is: a list has one for each delay.
    fn parts(&self) -> u32 {
        if self.kind == backoff::LIST { self.times.clamp(1, 3) } else { 1 }
    }

    /// One of them.
    pub(crate) fn part(&self, part: u32) -> Stage {
        let (initial, max) = (Span::from_nanos(self.initial), Span::from_nanos(self.max));
        let backoff = match self.kind {
            backoff::LINEAR => Backoff::Linear { initial, increment: Span::from_nanos(self.step), max },
            backoff::EXPONENTIAL => Backoff::Exponential { initial, factor: self.factor(), max },
            backoff::POLYNOMIAL => Backoff::Polynomial { initial, exponent: self.factor(), max },
            backoff::FIBONACCI => Backoff::Fibonacci { initial, max },
            backoff::DECORRELATED => Backoff::Decorrelated { initial, factor: self.factor(), max },
            backoff::DECORRELATED_V2 => Backoff::DecorrelatedV2 { initial, max },
            backoff::LIST => Backoff::Constant { delay: Span::from_nanos(self.at(part, u64::MAX)) },
            _ => Backoff::Constant { delay: initial },
        };
        let times = match self.times {
            0 => None,
            _ if self.kind == backoff::LIST => Some(1),
            times => Some(times),
        };
        Stage { backoff, times, on: FailureKind::from_code(u32::from(self.on)) }
    }
}

const fn limit(flat: u64) -> Option<Span> {
    if flat == UNLIMITED { None } else { Some(Span::from_nanos(flat)) }
}
