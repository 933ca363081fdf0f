//! An event as bytes: short, one after the other, and damage is noticed (spec 33.5).
//!
//! ```text
//! f5, 1 (version), kind, then numbers in LEB128: sequence, at, attempt, and
//!   STARTED          policy, seed, guarded
//!   ATTEMPT_FAILED   kind of failure, hint + 1 (0: none; 2^64-1: never)
//!   RETRY_SCHEDULED  until - at, cause
//!   GAVE_UP          reason, retry_at + 1 (0: never)
//! length of the text, the text in UTF-8, FNV-1a of 32 bits over all before, little-endian
//! ```

use super::kind::{EventKind, VERSION};
use super::model::Event;
use super::table::needed;
use crate::decide::hint::Hint;
use crate::error::{Error, ErrorCode, Subject};
use crate::saved_bytes::Fnv;
use crate::time::Timestamp;

/// No byte of UTF-8, so that no text looks like the beginning of an event.
const MAGIC: u8 = 0xf5;
/// The longest text in bytes.
const LONGEST: usize = 65_535;
/// The numbers of an event at most.
const NUMBERS: usize = 6;

/// The checksum of an event (spec 33.5).
fn checksum(bytes: &[u8]) -> u32 {
    Fnv::SHORT.of(bytes) as u32
}

impl Event {
    /// How many bytes an event has at most, without its text.
    pub const MOST_BYTES: usize = 56;

    /// Writes the event and its text, and says how many bytes that are; `None` when `out` has no room for them, which
    /// [`Event::MOST_BYTES`] and the length of the text always are. A text of more than 65535 bytes is cut.
    pub fn to_bytes(&self, text: &str, out: &mut [u8]) -> Option<usize> {
        let text = cut(text);
        let room = out.len();
        let mut rest = &mut *out;
        let kind = self.kind();
        put(&mut rest, &[MAGIC, VERSION, kind.code()])?;
        let (numbers, count) = self.numbers(kind);
        for number in numbers.into_iter().take(count) {
            number_to(&mut rest, number)?;
        }
        number_to(&mut rest, text.len() as u64)?;
        put(&mut rest, text.as_bytes())?;
        let length = room.checked_sub(rest.len())?;
        let (body, mut rest) = out.split_at_mut_checked(length)?;
        put(&mut rest, &checksum(body).to_le_bytes())?;
        length.checked_add(4)
    }

    /// The numbers that an event of that kind has, and how many they are.
    fn numbers(&self, kind: EventKind) -> ([u64; NUMBERS], usize) {
        let (own, count) = match kind {
            EventKind::Started => ([self.policy, self.seed, u64::from(self.guarded)], 6),
            EventKind::AttemptFailed => ([self.failure.into(), self.hint.as_raw().wrapping_add(1), 0], 5),
            EventKind::RetryScheduled => {
                ([self.until.as_nanos().saturating_sub(self.at.as_nanos()), self.cause.into(), 0], 5)
            }
            EventKind::GaveUp => ([self.reason.into(), self.until.as_nanos().wrapping_add(1), 0], 5),
            EventKind::Resumed | EventKind::Succeeded | EventKind::Cancelled => ([0; 3], 3),
        };
        let [a, b, c] = own;
        ([self.sequence, self.at.as_nanos(), self.attempt.into(), a, b, c], count)
    }

    /// Reads the event that `bytes` begin with, its text, and what comes after it.
    ///
    /// # Errors
    /// The bytes end within it (173), are of another version (170), or were changed (169).
    pub fn read(bytes: &[u8]) -> Result<(Self, &str, &[u8]), Error> {
        let mut rest = bytes;
        let damaged = Error::of_event(ErrorCode::EventDamaged, "");
        if byte(&mut rest)? != MAGIC {
            return Err(damaged);
        }
        let version = byte(&mut rest)?;
        if version != VERSION {
            return Err(Error::of_event(ErrorCode::EventVersion, "version").found(version));
        }
        let kind = EventKind::from_code(byte(&mut rest)?.into()).ok_or(damaged)?;
        let mut numbers = [0; NUMBERS];
        let (_, count) = Self::EMPTY.numbers(kind);
        for number in numbers.iter_mut().take(count) {
            *number = number_from(&mut rest)?;
        }
        let length = match usize::try_from(number_from(&mut rest)?) {
            Ok(length @ ..=LONGEST) => length,
            _ => return Err(damaged),
        };
        let cut = Error::of_event(ErrorCode::EventCut, "");
        let (text, rest) = rest.split_at_checked(length).ok_or(cut)?;
        let (sum, after) = rest.split_first_chunk().ok_or(cut)?;
        let body = bytes.get(..bytes.len().saturating_sub(rest.len())).ok_or(damaged)?;
        if u32::from_le_bytes(*sum) != checksum(body) {
            return Err(damaged);
        }
        let text = core::str::from_utf8(text).map_err(|_| damaged)?;
        let event = Self::of(kind, numbers).ok_or(damaged)?.check()?;
        Ok((event, text, after))
    }

    fn of(kind: EventKind, numbers: [u64; NUMBERS]) -> Option<Self> {
        let [sequence, at, attempt, a, b, c] = numbers;
        let small = |number: u64| u8::try_from(number).ok();
        let event = Self {
            sequence,
            at: Timestamp::from_nanos(at),
            attempt: u32::try_from(attempt).ok()?,
            kind: kind.code(),
            given: needed(kind),
            ..Self::EMPTY
        };
        Some(match kind {
            EventKind::Started => Self { policy: a, seed: b, guarded: small(c)?, ..event },
            EventKind::AttemptFailed => {
                let hint = Hint::from_raw(b.wrapping_sub(1));
                if hint.as_raw() != b.wrapping_sub(1) {
                    return None;
                }
                Self { failure: small(a)?, hint, ..event }
            }
            EventKind::RetryScheduled => {
                Self { until: Timestamp::from_nanos(at.checked_add(a)?), cause: small(b)?, ..event }
            }
            EventKind::GaveUp => Self { reason: small(a)?, until: Timestamp::from_nanos(b.wrapping_sub(1)), ..event },
            EventKind::Resumed | EventKind::Succeeded | EventKind::Cancelled => event,
        })
    }
}

/// The events of a log's bytes with their texts, one after the other. After an error there is nothing more.
///
/// # Contract
/// An error has the number that the event would have had: one more than that of the event before it. [`crate::Replay`] checks
/// that the events follow one another as they must.
#[derive(Clone, Debug)]
pub struct EventReader<'b> {
    rest: &'b [u8],
    expected: u64,
}

impl<'b> EventReader<'b> {
    /// Reads a log from its first event on.
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes, expected: 1 }
    }

    /// The bytes from the next event on; after an error, from the event that could not be read.
    pub const fn rest(&self) -> &'b [u8] {
        self.rest
    }
}

impl<'b> Iterator for EventReader<'b> {
    type Item = Result<(Event, &'b str), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.expected == 0 {
            return None;
        }
        match Event::read(self.rest) {
            Ok((event, text, rest)) => {
                (self.rest, self.expected) = (rest, event.sequence.saturating_add(1));
                Some(Ok((event, text)))
            }
            Err(error) => {
                let subject = Subject::Event(core::mem::take(&mut self.expected));
                Some(Err(Error { subject, ..error }))
            }
        }
    }
}

/// The longest beginning of a text that there is room for.
fn cut(text: &str) -> &str {
    let mut length = text.len().min(LONGEST);
    while !text.is_char_boundary(length) {
        length = length.saturating_sub(1);
    }
    text.get(..length).unwrap_or("")
}

fn put(out: &mut &mut [u8], bytes: &[u8]) -> Option<()> {
    let (to, rest) = core::mem::take(out).split_at_mut_checked(bytes.len())?;
    to.copy_from_slice(bytes);
    *out = rest;
    Some(())
}

fn number_to(out: &mut &mut [u8], mut number: u64) -> Option<()> {
    while number >= 0x80 {
        put(out, &[number as u8 | 0x80])?;
        number >>= 7;
    }
    put(out, &[number as u8])
}

fn byte(from: &mut &[u8]) -> Result<u8, Error> {
    let (first, rest) = from.split_first().ok_or(Error::of_event(ErrorCode::EventCut, ""))?;
    *from = rest;
    Ok(*first)
}

/// A number in as few bytes as it needs; one in more is damage.
fn number_from(from: &mut &[u8]) -> Result<u64, Error> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let next = byte(from)?;
        let bits = u64::from(next & 0x7f);
        let most = 64_u32.saturating_sub(shift);
        if (next == 0 && shift > 0) || bits.checked_shr(most).unwrap_or(0) != 0 {
            break;
        }
        number |= bits.wrapping_shl(shift);
        if next < 0x80 {
            return Ok(number);
        }
    }
    Err(Error::of_event(ErrorCode::EventDamaged, ""))
}
