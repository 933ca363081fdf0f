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

use super::field::FIELDS;
use super::model::{DELAY, Event, EventKind, IN_HEADER, VERSION, needed};
use crate::error::{Error, ErrorCode, Subject};
use crate::record::field::{Field, of_bits};
use crate::saved_bytes::Fnv;

/// No byte of UTF-8, so that no text looks like the beginning of an event.
const MAGIC: u8 = 0xf5;
/// The longest text in bytes.
const LONGEST: usize = 65_535;

/// The fields of a kind after the header.
fn body(kind: EventKind) -> impl Iterator<Item = Field<Event>> {
    of_bits(&FIELDS, needed(kind) & !(IN_HEADER | DELAY))
}

/// The lowest bit of a rule above the kind of a failure.
const RULE_AT: u32 = 3;

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
        for field in body(kind) {
            number_to(&mut rest, field.get(self).wrapping_add(self.shift(&field)) | self.rule_above(&field))?;
        }
        number_to(&mut rest, text.len() as u64)?;
        put(&mut rest, text.as_bytes())?;
        let length = room.checked_sub(rest.len())?;
        let (body, mut rest) = out.split_at_mut_checked(length)?;
        put(&mut rest, &(Fnv::SHORT.of(body) as u32).to_le_bytes())?;
        length.checked_add(4)
    }

    /// The number that is added to that of a field, so that the bytes have a small one: a distance for a time, 0 for the
    /// largest number.
    fn shift(&self, field: &Field<Self>) -> u64 {
        match field.0 {
            "until" => self.at.wrapping_neg(),
            "hint" | "retryAt" => 1,
            _ => 0,
        }
    }

    /// The rule of a failure as the bits above its kind, so that it takes no byte.
    fn rule_above(&self, field: &Field<Self>) -> u64 {
        if field.0 == "failure" { u64::from(self.rule) << RULE_AT } else { 0 }
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
        let (mut event, mut fits) = (Self { kind: kind.code(), present: needed(kind), ..Self::EMPTY }, true);
        for field in body(kind) {
            let mut number = number_from(&mut rest)?.wrapping_sub(event.shift(&field));
            if field.0 == "failure" {
                event.rule = u8::try_from(number >> RULE_AT).unwrap_or(u8::MAX);
                number &= (1 << RULE_AT) - 1;
            }
            fits &= field.set(&mut event, number);
        }
        let length = match usize::try_from(number_from(&mut rest)?) {
            Ok(length @ ..=LONGEST) => length,
            _ => return Err(damaged),
        };
        let cut = Error::of_event(ErrorCode::EventCut, "");
        let (text, rest) = rest.split_at_checked(length).ok_or(cut)?;
        let (sum, after) = rest.split_first_chunk().ok_or(cut)?;
        let body = bytes.get(..bytes.len().saturating_sub(rest.len())).ok_or(damaged)?;
        if u32::from_le_bytes(*sum) != Fnv::SHORT.of(body) as u32 || !fits {
            return Err(damaged);
        }
        let text = core::str::from_utf8(text).map_err(|_| damaged)?;
        Ok((event.check()?, text, after))
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
