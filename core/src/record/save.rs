//! Saving a state, to resume it later, elsewhere, or in another language.
//!
//! A clock is local to a machine, often to a process, so a saved state holds no instant: only how long ago the operation
//! began and how long its sleep still lasts, both counted from the moment of saving. Resuming counts them from the `now`
//! of the new clock, and the next decision is the same as without saving (spec 12). The time in between does
//! not count; a host that knows it and wants it to says so with [`Saved::aged`].
//!
//! An attempt in flight cannot be saved: its result will never arrive. It is *abandoned and counts*. Resuming takes it as
//! a failure of kind `timeout`, whose effect is as unknown as that of an answer which did not come in time, and decides
//! about it as about any other. It is not run again under the same number, because then a process that dies of its own
//! attempt would try for ever, at once and without backoff; and it is not dropped, because then the operation would wait
//! for it for ever. A host that knows better reports what it knows before it saves.
//!
//! Bytes are for programs, and a damaged one is noticed. JSON is for people and for stores that hold nothing else. Neither
//! is signed: a program that can write it can decide how often and when the operation runs.

use crate::decide::call::Call;
use crate::decide::policy::Policy;
use crate::decide::retry::Retry;
use crate::error::Error;
use crate::time::Timestamp;
use bytes::{CALL_LENGTH, RETRY_LENGTH};
use model::{CALL, NOTHING, RETRY};

mod bytes;
mod field;
mod model;
#[cfg(feature = "serde")]
mod serde;

pub use model::Saved;

impl Retry {
    /// How many bytes [`Retry::save`] makes.
    pub const SAVED: usize = RETRY_LENGTH;

    /// The state at `now`, in flat form. `policy` must be the policy of the state.
    pub fn saved(&self, policy: &Policy, now: Timestamp) -> Saved {
        Saved::of(self, RETRY, policy, now)
    }

    /// The state at `now` as bytes that last: see docs/spec.md, section 12, for the layout.
    pub fn save(&self, policy: &Policy, now: Timestamp) -> [u8; Self::SAVED] {
        let mut bytes = [0; Self::SAVED];
        self.saved(policy, now).fill(&mut bytes);
        bytes
    }

    /// The state that [`Retry::save`] made bytes of, in whatever language, on a clock that reads `now`.
    ///
    /// # Errors
    /// An [`Error`]: no saved state, damaged, of another layout, kind or policy.
    pub fn resume(bytes: &[u8], policy: &Policy, now: Timestamp) -> Result<Self, Error> {
        Saved::from_bytes(bytes)?.retry(policy, now)
    }
}

impl Call {
    /// How many bytes [`Call::save`] makes.
    pub const SAVED: usize = CALL_LENGTH;

    /// The state at `now`, in flat form. `policy` must be the policy of the state.
    pub fn saved(&self, policy: &Policy, now: Timestamp) -> Saved {
        let Self { retry, at, attempt, phase, cause, reason, .. } = self.call();
        let left = || at.as_nanos().saturating_sub(retry.clock(now).as_nanos());
        let remaining = if at.is_never() { NOTHING } else { left() };
        Saved { attempt, phase, cause, reason, remaining, ..Saved::of(&retry, CALL, policy, now) }
    }

    /// The state at `now` as bytes that last: see docs/spec.md, section 12, for the layout.
    pub fn save(&self, policy: &Policy, now: Timestamp) -> [u8; Self::SAVED] {
        let mut bytes = [0; Self::SAVED];
        self.saved(policy, now).fill(&mut bytes);
        bytes
    }

    /// The call that [`Call::save`] made bytes of, in whatever language, on a clock that reads `now`. [`Call::tick`]
    /// says the next step. An attempt that was in flight is abandoned: it fails now, with kind timeout.
    ///
    /// # Errors
    /// An [`Error`]: no saved state, damaged, of another layout, kind or policy.
    pub fn resume(bytes: &[u8], policy: &Policy, now: Timestamp) -> Result<Self, Error> {
        Saved::from_bytes(bytes)?.call(policy, now)
    }
}

#[cfg(all(test, feature = "powers", feature = "rules"))]
mod tests;
