//! A saved state as bytes: a fixed layout, little-endian, the same from every language and processor (spec 12.8).
//!
//! ```text
//!  0  4  "hold"                     24  8  elapsed
//!  4  1  kind: 1 retry, 2 call      32  8  base
//!  5  1  layout: 1                  40  4  failures
//!  6  2  length in bytes            44  4  place
//!  8  8  policy fingerprint         48  -  a call's: 8 remaining, 4 attempt, 1 phase, 1 cause, 1 reason, 1 zero
//! 16  8  seed of what is yet drawn  48 or 64  8  checksum of all before it
//! ```

use super::model::Saved;
use super::table::{CALL, RETRY, needed};
use crate::error::{Error, ErrorCode};
use crate::saved_bytes::{LAYOUT, MAGIC, Reader, Writer, checksum};

pub(super) const RETRY_LENGTH: usize = 56;
pub(super) const CALL_LENGTH: usize = 72;

impl Saved {
    /// Fills a buffer of the kind's length.
    pub(super) fn fill(&self, out: &mut [u8]) {
        let length = (out.len() as u16).to_le_bytes();
        let (body, sum) = out.split_at_mut(out.len().saturating_sub(8));
        let mut writer = Writer(&mut *body);
        writer.put(&MAGIC);
        writer.put(&[self.kind, self.layout as u8]);
        writer.put(&length);
        for word in [self.policy, self.seed, self.elapsed, self.base] {
            writer.put(&word.to_le_bytes());
        }
        writer.put(&self.failures.to_le_bytes());
        writer.put(&self.place.to_le_bytes());
        if self.kind == CALL {
            writer.put(&self.remaining.to_le_bytes());
            writer.put(&self.attempt.to_le_bytes());
            writer.put(&[self.phase, self.cause, self.reason, 0]);
        }
        Writer(sum).put(&checksum(body).to_le_bytes());
    }

    /// The bytes, and how many of them there are: 56 for a [`crate::Retry`], 72 for a [`crate::Call`].
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
    /// An [`Error`], the first that applies: does not begin as a saved state does (130), another layout (132), a kind that
    /// is none (133), a wrong length (131), a byte that was changed or contradicts another (134).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        if reader.take() != Some(MAGIC) {
            return Err(Error::of_state(ErrorCode::NotAState, ""));
        }
        let length = Error::of_state(ErrorCode::StateLength, "length").found(bytes.len() as f64);
        let [kind, layout] = reader.take().ok_or(length)?;
        if u32::from(layout) != LAYOUT {
            return Err(Error::of_state(ErrorCode::StateVersion, "layout").found(layout));
        }
        let expected = match kind {
            RETRY => RETRY_LENGTH,
            CALL => CALL_LENGTH,
            _ => return Err(Error::of_state(ErrorCode::StateKind, "kind").found(kind)),
        };
        if bytes.len() != expected {
            return Err(length);
        }
        let damaged = Error::of_state(ErrorCode::StateDamaged, "");
        let (body, sum) = bytes.split_at_checked(expected.saturating_sub(8)).ok_or(length)?;
        if Reader(sum).word() != checksum(body) || u16::from_le_bytes(reader.take().ok_or(length)?) as usize != expected
        {
            return Err(damaged);
        }
        let mut saved = Self {
            policy: reader.word(),
            seed: reader.word(),
            elapsed: reader.word(),
            base: reader.word(),
            failures: reader.half(),
            place: reader.half(),
            layout: LAYOUT,
            given: needed(kind),
            kind,
            ..Self::EMPTY
        };
        if kind == CALL {
            saved.remaining = reader.word();
            saved.attempt = reader.half();
            let [phase, cause, reason, zero] = reader.take().ok_or(length)?;
            (saved.phase, saved.cause, saved.reason) = (phase, cause, reason);
            if zero != 0 {
                return Err(damaged);
            }
        }
        saved.check_fields()?;
        Ok(saved)
    }
}
