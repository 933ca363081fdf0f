//! The stages of a policy as words of a pool: a header that says which numbers a stage has, and those numbers only.
//!
//! A policy of one endless stage needs no pool. Others rarely use more than a few fields of a stage, so that a record for
//! each stage with all fields would be mostly empty.

use crate::decide::backoff::{self, RawStage};
use crate::decide::jitter::Jitter;
use crate::fields::Field;
use crate::time::Span;

/// The words of a policy's pool.
pub(crate) const POOL: usize = 40;

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

/// A stage of a policy, or of kind 0 the jitter, cap and hint of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// The numbers of the backoff; of a list only kind and number of delays.
    pub(crate) stage: RawStage,
    /// The shortest delay.
    pub(crate) floor: u64,
    /// The time that is added after the jitter.
    pub(crate) offset: u64,
    /// The time since the start after which the stage is over.
    pub(crate) until: u64,
    /// The first index of a polynomial.
    pub(crate) from: u32,
    /// True if the first stage begins again behind this one.
    pub(crate) repeats: bool,
    pub(crate) jitter: Option<RawJitter>,
    pub(crate) cap: Option<u8>,
    pub(crate) hint: Option<RawHint>,
    /// The place of a list's first delay in the pool.
    delays: u8,
    /// The unit of a list's delays.
    unit: u8,
}

/// The longest hint that a record has no word for.
const HINT_MAX: u64 = 60_000_000_000;

/// The units of a list, in nanoseconds. Delays that are whole multiples below 2^32 take half a word each.
const UNITS: [u64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];
/// The unit of a list each of whose delays takes a word.
const WORD_EACH: u8 = 4;

/// The bits of a header: kind 4, jitter 4 (one more than its kind), grows 1, cap 2 and hint 3 (one more), over 2,
/// repeats 1, unit 3, two unused, a bit for each word that follows 10, the number of delays 32.
const JITTER: u32 = 4;
const GROWS: u32 = 8;
const CAP: u32 = 9;
const HINT: u32 = 11;
const OVER: u32 = 14;
const REPEATS: u32 = 16;
const UNIT: u32 = 17;
const WORDS: u32 = 22;
const TIMES: u32 = 32;

/// Some bits of a header.
const fn bits(header: u64, at: u32, width: u32) -> u8 {
    (header.wrapping_shr(at) & 1_u64.wrapping_shl(width).wrapping_sub(1)) as u8
}

impl Record {
    /// A stage with nothing but itself.
    pub(crate) const fn of(stage: RawStage) -> Self {
        Self {
            stage,
            floor: 0,
            offset: 0,
            until: NO_LIMIT,
            from: 1,
            repeats: false,
            jitter: None,
            cap: None,
            hint: None,
            delays: 0,
            unit: 0,
        }
    }

    /// True if it is a stage without an end and without anything of its own: a policy has it beside its pool.
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
            () if self.repeats => Field::BackoffRepeat,
            () if self.jitter.is_some() => Field::JitterKind,
            () if self.cap.is_some() => Field::Cap,
            () if self.hint.is_some() => Field::HintMode,
            () => return None,
        })
    }

    pub(crate) const fn is_list(&self) -> bool {
        self.stage.kind == backoff::LIST
    }

    /// The words that follow the header, each with the value that needs no word.
    const fn words(&self) -> [(u64, u64); 10] {
        let jitter = match self.jitter {
            Some(jitter) => jitter.by,
            None => 0,
        };
        let (hint_max, hint_reach) = match self.hint {
            Some(hint) => (hint.max, hint.reach),
            None => (HINT_MAX, NO_LIMIT),
        };
        [
            (self.stage.initial, 0),
            (self.stage.step, 0),
            (self.stage.max, Span::MAX.as_nanos()),
            (self.floor, 0),
            (self.offset, 0),
            (self.until, NO_LIMIT),
            (self.from as u64, 1),
            (jitter, 0),
            (hint_max, HINT_MAX),
            (hint_reach, NO_LIMIT),
        ]
    }

    const fn header(&self, unit: u8) -> u64 {
        let jitter = match self.jitter {
            Some(RawJitter { kind, grows, .. }) => {
                ((kind as u64).wrapping_add(1) & 15).wrapping_shl(JITTER) | (grows as u64).wrapping_shl(GROWS)
            }
            None => 0,
        };
        let cap = match self.cap {
            Some(cap) => ((cap as u64).wrapping_add(1) & 3).wrapping_shl(CAP),
            None => 0,
        };
        let hint = match self.hint {
            Some(RawHint { mode, over, .. }) => {
                ((mode as u64).wrapping_add(1) & 7).wrapping_shl(HINT) | (over as u64 & 3).wrapping_shl(OVER)
            }
            None => 0,
        };
        let ends = (self.repeats as u64).wrapping_shl(REPEATS);
        let times = (self.stage.times as u64).wrapping_shl(TIMES) | (unit as u64).wrapping_shl(UNIT);
        let mut has = 0_u64;
        let all = self.words();
        let (mut words, mut bit): (&[_], _) = (&all, 1_u64.wrapping_shl(WORDS));
        while let [(value, usual), rest @ ..] = words {
            has |= if *value == *usual { 0 } else { bit };
            (words, bit) = (rest, bit.wrapping_shl(1));
        }
        self.stage.kind as u64 & 15 | jitter | cap | hint | ends | times | has
    }
}

/// A pool that is being filled.
pub(crate) struct PoolWriter {
    pub(crate) words: [u64; POOL],
    pub(crate) used: usize,
}

impl PoolWriter {
    pub(crate) const NEW: Self = Self { words: [0; POOL], used: 0 };

    const fn push(&mut self, word: u64) -> bool {
        match self.words.split_at_mut_checked(self.used) {
            Some((_, [slot, ..])) => {
                *slot = word;
                self.used = self.used.wrapping_add(1);
                true
            }
            _ => false,
        }
    }

    /// Adds a record, of a list with its delays. False if there is no room.
    pub(crate) const fn add(&mut self, record: &Record, delays: &[u64]) -> bool {
        let unit = unit_of(delays);
        if !self.push(record.header(unit)) {
            return false;
        }
        let all = record.words();
        let mut words: &[_] = &all;
        while let [(value, usual), rest @ ..] = words {
            if *value != *usual && !self.push(*value) {
                return false;
            }
            words = rest;
        }
        let mut left = delays;
        while let [first, rest @ ..] = left {
            let (word, rest) = match (nanos(unit), rest) {
                (None, _) => (*first, rest),
                (Some(unit), [second, rest @ ..]) => (in_units(*first, unit) | in_units(*second, unit) << 32, rest),
                (Some(unit), []) => (in_units(*first, unit), rest),
            };
            if !self.push(word) {
                return false;
            }
            left = rest;
        }
        true
    }
}

/// The nanoseconds of a unit; nothing for whole words.
const fn nanos(unit: u8) -> Option<u64> {
    match UNITS.split_at_checked(unit as usize) {
        Some((_, [nanos, ..])) => Some(*nanos),
        _ => None,
    }
}

const fn in_units(delay: u64, unit: u64) -> u64 {
    match delay.checked_div(unit) {
        Some(units) => units & u32::MAX as u64,
        None => 0,
    }
}

/// The finest unit in which all delays are whole numbers of 32 bits.
const fn unit_of(delays: &[u64]) -> u8 {
    let mut unit = 0_u8;
    while let Some(nanos) = nanos(unit) {
        let (mut rest, mut fits) = (delays, true);
        while let [delay, others @ ..] = rest {
            let units = in_units(*delay, nanos);
            fits = fits && units.wrapping_mul(nanos) == *delay;
            rest = others;
        }
        if fits {
            return unit;
        }
        unit = unit.wrapping_add(1);
    }
    WORD_EACH
}

/// The word of a pool at a place; 0 behind its end.
const fn word(pool: &[u64; POOL], at: usize) -> u64 {
    match pool.split_at_checked(at) {
        Some((_, [word, ..])) => *word,
        _ => 0,
    }
}

/// The records at a place of a pool, one after the other.
pub(crate) fn records(pool: &[u64; POOL], at: usize, count: u8) -> impl Iterator<Item = Record> + Clone {
    (0..count).scan(at, |at, _| {
        let (record, next) = read(pool, *at);
        *at = next;
        Some(record)
    })
}

/// Reads the record at a place of a pool. Returns the place of the next record, too.
pub(crate) const fn read(pool: &[u64; POOL], at: usize) -> (Record, usize) {
    let header = word(pool, at);
    let mut record = Record::of(RawStage { kind: bits(header, 0, 4), max: Span::MAX.as_nanos(), ..RawStage::EMPTY });
    let mut next = at.wrapping_add(1);
    let mut values = [0; 10];
    let usual = record.words();
    let (mut slots, mut usual): (&mut [u64], &[(u64, u64)]) = (&mut values, &usual);
    let mut has = header.wrapping_shr(WORDS);
    while let ([slot, slots_left @ ..], [(_, value), usual_left @ ..]) = (slots, usual) {
        *slot = if has & 1 == 0 { *value } else { word(pool, next) };
        next = next.wrapping_add((has & 1) as usize);
        (slots, usual, has) = (slots_left, usual_left, has.wrapping_shr(1));
    }
    let [initial, step, max, floor, offset, until, from, by, hint_max, reach] = values;
    record.stage.times = header.wrapping_shr(TIMES) as u32;
    (record.stage.initial, record.stage.step, record.stage.max) = (initial, step, max);
    (record.floor, record.offset, record.until, record.from) = (floor, offset, until, from as u32);
    record.repeats = bits(header, REPEATS, 1) == 1;
    record.jitter = match bits(header, JITTER, 4) {
        0 => None,
        kind => Some(RawJitter { kind: kind.wrapping_sub(1), grows: bits(header, GROWS, 1) == 1, by }),
    };
    record.cap = match bits(header, CAP, 2) {
        0 => None,
        cap => Some(cap.wrapping_sub(1)),
    };
    record.hint = match bits(header, HINT, 3) {
        0 => None,
        mode => Some(RawHint { mode: mode.wrapping_sub(1), over: bits(header, OVER, 2), max: hint_max, reach }),
    };
    if record.is_list() {
        (record.delays, record.unit) = (next as u8, bits(header, UNIT, 3));
        let times = record.stage.times as usize;
        next = next.saturating_add(if record.unit == WORD_EACH { times } else { times.div_ceil(2) });
    }
    (record, next)
}

impl Record {
    /// Delay `n` of a list.
    pub(crate) const fn listed(&self, pool: &[u64; POOL], n: u32) -> u64 {
        let (at, n) = (self.delays as usize, n as usize);
        match nanos(self.unit) {
            None => word(pool, at.wrapping_add(n)),
            Some(unit) => {
                let pair = word(pool, at.wrapping_add(n / 2));
                (if n % 2 == 0 { pair & u32::MAX as u64 } else { pair >> 32 }).saturating_mul(unit)
            }
        }
    }

    /// Base delay `n` of the stage, at most `limit`, without those before it (spec 4).
    pub(crate) fn at(&self, pool: &[u64; POOL], n: u32, limit: u64) -> u64 {
        match self.stage.kind {
            backoff::LIST => self.listed(pool, n.min(self.stage.times.saturating_sub(1))),
            backoff::POLYNOMIAL => self.stage.polynomial(n, self.from, limit),
            _ => self.stage.at(n, limit),
        }
    }
}
