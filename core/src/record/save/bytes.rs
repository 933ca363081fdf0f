//! A saved state as bytes: a fixed layout, little-endian, the same from every language and processor (spec 12.8).
//!
//! ```text
//!  0  4  "hold"                     32  8  base
//!  4  1  kind: 1 retry, 2 call      40  4  failures
//!  5  1  layout: 1                  44  4  place
//!  6  2  length in bytes            48  8  began
//!  8  8  policy fingerprint         56 16  the counts of the eight rules, 2 each
//! 16  8  seed of what is yet drawn  72  -  a call's: 8 remaining, 4 attempt, 1 phase, 1 cause, 1 reason, 1 zero
//! 24  8  elapsed                    72 or 88  8  checksum of all before it
//! ```

use super::field::FIELDS;
use super::model::{CALL, RETRY, Saved, needed};
use crate::error::{Error, ErrorCode};
use crate::record::field::Field;
use crate::saved_bytes;

pub(super) const RETRY_LENGTH: usize = 80;
pub(super) const CALL_LENGTH: usize = 96;

/// The places in [`FIELDS`] of the fields after the header, in the order of the bytes.
const PLACES: [usize; 20] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 17, 18, 20, 21];

/// The fields of a kind after the header.
fn body(kind: u8) -> impl Iterator<Item = Field<Saved>> {
    PLACES.into_iter().take(if kind == CALL { 20 } else { 15 }).filter_map(|place| FIELDS.get(place).copied())
}

impl Saved {
    /// Fills a buffer of zeroes of the kind's length.
    pub(super) fn fill(&self, out: &mut [u8]) {
        saved_bytes::seal(self.kind, out, |mut writer| {
            for field in body(self.kind) {
                writer.put(field.get(self).to_le_bytes().split_at(field.3.width).0);
            }
        });
    }

    /// The bytes, and how many of them there are: 80 for a [`crate::Retry`], 96 for a [`crate::Call`].
    ///
    /// # Errors
    /// An [`Error`] when a field is missing or contradicts another.
    pub fn to_bytes(&self) -> Result<([u8; CALL_LENGTH], usize), Error> {
        self.check_fields()?;
        let mut bytes = [0; CALL_LENGTH];
        let length = if self.kind == CALL { CALL_LENGTH } else { RETRY_LENGTH };
        self.fill(bytes.split_at_mut(length).0);
        Ok((bytes, length))
    }

    /// Reads what [`Saved::to_bytes`], [`crate::Retry::save`] or [`crate::Call::save`] made.
    ///
    /// # Errors
    /// An [`Error`], the first that applies: is not a saved state (130), another layout (132), a kind that
    /// is none (133), a wrong length (131), a byte that was changed or contradicts another (134).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let length = |kind| match kind {
            RETRY => Some(RETRY_LENGTH),
            CALL => Some(CALL_LENGTH),
            _ => None,
        };
        let wrong = [ErrorCode::StateKind, ErrorCode::StateLength];
        let (kind, mut reader) = saved_bytes::open(bytes, wrong, length)?;
        let mut saved = Self { kind, present: needed(kind), ..Self::EMPTY };
        for field in body(kind) {
            field.set(&mut saved, reader.number(field.3.width));
        }
        if reader.0.iter().any(|byte| *byte != 0) {
            return Err(Error::of_state(ErrorCode::StateDamaged, ""));
        }
        saved.check_fields()?;
        Ok(saved)
    }
}
