//! A saved state as numbers, and the machines that it becomes.

use crate::decide::call::{Call, NoGuards, Ticket};
use crate::decide::failure::Failure;
use crate::decide::policy::Policy;
use crate::decide::retry::{Retry, Used};
use crate::decide::rng::Rng;
use crate::error::{Error, ErrorCode};
use crate::saved_bytes::LAYOUT;
use crate::time::{Span, Timestamp};
use crate::words::words;

/// "No time" and "no delay yet" in flat form.
pub(crate) const NOTHING: u64 = u64::MAX;

/// The numbers of the kinds.
pub(super) const RETRY: u8 = 1;
pub(super) const CALL: u8 = 2;

words! {
    /// The phase of a saved call.
    pub(super) enum Phase: u8 {
        /// The caller cancelled.
        Cancelled = 0 "cancelled";
        /// An attempt is in flight.
        Running = 1 "running";
        /// The call sleeps before its next attempt.
        Sleeping = 2 "sleeping";
        /// An attempt succeeded.
        Succeeded = 3 "succeeded";
        /// There is no other attempt.
        GaveUp = 4 "gave_up";
    }
}

pub(super) const KIND: u32 = 1;
const POLICY: u32 = 1 << 2;
const OF_RETRY: u32 = (1 << 17) - 1;
pub(super) const OF_CALL: u32 = (1 << 22) - 1;

/// One bit for each field that a kind has.
pub(super) const fn needed(kind: u8) -> u32 {
    if kind == CALL { OF_CALL } else { OF_RETRY }
}

/// How long before the epoch an operation begins at the earliest: 146 years. The fast path then needs no test for
/// an age that is no number of 64 bits.
const OLDEST: u64 = 1 << 62;

/// A saved state in flat form: 88 bytes of plain numbers, between a machine and the bytes or the JSON that last.
///
/// # Contract
/// Made from a machine by [`Retry::saved`] or [`Call::saved`], from bytes by [`Saved::from_bytes`], or field by field from
/// [`Saved::EMPTY`] with [`Saved::set`], in any order. It becomes bytes by [`Saved::to_bytes`], JSON by its `Display`, and
/// a machine by [`Saved::retry`] or [`Saved::call`], which check it. Every bit pattern is valid memory, and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Saved {
    pub(super) policy: u64,
    pub(super) seed: u64,
    pub(super) elapsed: u64,
    pub(super) used: Used,
    pub(super) remaining: u64,
    pub(super) attempt: u32,
    pub(super) layout: u32,
    /// One bit for each field that was set, by its place in the table of fields.
    pub(super) present: u32,
    pub(super) kind: u8,
    pub(super) phase: u8,
    pub(super) cause: u8,
    pub(super) reason: u8,
}

impl Saved {
    /// Nothing yet, to be filled by [`Saved::set`].
    pub const EMPTY: Self = Self {
        policy: 0,
        seed: 0,
        elapsed: 0,
        used: Used::NONE,
        remaining: NOTHING,
        attempt: 0,
        layout: LAYOUT,
        present: 0,
        kind: 0,
        phase: Phase::Cancelled.code(),
        cause: 0,
        reason: 0,
    };

    /// The state of a machine at `now` (spec 12.2).
    pub(super) fn of(retry: &Retry, kind: u8, policy: &Policy, now: Timestamp) -> Self {
        let (seed, elapsed) = (retry.rng.state(), retry.age(retry.clock(now)));
        Self {
            policy: policy.fingerprint(),
            seed,
            elapsed,
            used: retry.used,
            kind,
            present: needed(kind),
            ..Self::EMPTY
        }
    }

    /// Says if this is the state of a [`Call`]; otherwise it is that of a [`Retry`].
    pub const fn is_call(&self) -> bool {
        self.kind == CALL
    }

    /// How long ago the operation began when it was saved.
    pub const fn elapsed(&self) -> Span {
        Span::from_nanos(self.elapsed)
    }

    /// The fingerprint of the policy that it was saved under.
    pub const fn policy(&self) -> u64 {
        self.policy
    }

    /// The state as it is when it lay for `away` and that time is to count: against the deadline, and as sleep.
    #[must_use]
    pub const fn aged(mut self, away: Span) -> Self {
        self.elapsed = self.elapsed.saturating_add(away.as_nanos());
        if self.remaining != NOTHING {
            self.remaining = self.remaining.saturating_sub(away.as_nanos());
        }
        self
    }

    /// The state as if it had been saved under `policy`, for a policy that changed harmlessly. Counters, elapsed
    /// time and the latest delay are then read under the new one.
    #[must_use]
    pub fn forced(mut self, policy: &Policy) -> Self {
        self.policy = policy.fingerprint();
        self.present |= POLICY;
        self
    }

    /// The machine for one failure at a time, on a clock that reads `now`.
    ///
    /// # Errors
    /// An [`Error`]: a field is missing, contradicts another or belongs to the other kind, or the policy is another.
    pub fn retry(&self, policy: &Policy, now: Timestamp) -> Result<Retry, Error> {
        self.check(RETRY, policy)?;
        Ok(self.restored(now))
    }

    /// The loop, on a clock that reads `now`. [`Call::tick`] says the next step. An attempt that was in flight is
    /// abandoned: it fails now, with kind timeout.
    ///
    /// # Errors
    /// As [`Saved::retry`].
    pub fn call(&self, policy: &Policy, now: Timestamp) -> Result<Call, Error> {
        self.check(CALL, policy)?;
        let (retry, clock) = (self.restored(now), now.as_now());
        let mut at = match self.remaining {
            NOTHING => Timestamp::NEVER,
            remaining => Timestamp::LAST.min(Timestamp::from_nanos(clock.as_nanos().saturating_add(remaining))),
        };
        if self.phase == Phase::Sleeping.code() {
            at = clock.max(at.min(retry.deadline(policy)));
        }
        let Self { attempt, phase, cause, reason, .. } = *self;
        let mut call = Call { retry, at, attempt, phase, cause, reason, unused: 0, flight: NoGuards };
        if self.phase == Phase::Running.code() {
            call.fail(policy, Ticket::from_raw(u64::from(self.attempt)), now, Failure::TIMEOUT);
        }
        Ok(call)
    }

    /// The state, on a clock that reads `now` (spec 12.4).
    fn restored(&self, now: Timestamp) -> Retry {
        let now = now.as_now();
        let elapsed = match self.elapsed.saturating_sub(now.as_nanos()) {
            before if before > OLDEST => now.as_nanos().wrapping_add(OLDEST),
            _ => self.elapsed,
        };
        Retry {
            rng: Rng::new(self.seed),
            started: Timestamp::from_nanos(now.as_nanos().wrapping_sub(elapsed)),
            latest: now,
            used: Used { failures: self.used.failures.min(u32::MAX - 1), ..self.used },
        }
    }

    /// Checks that the state is complete, of this kind, without contradiction, and saved under that policy.
    fn check(&self, kind: u8, policy: &Policy) -> Result<(), Error> {
        self.check_fields()?;
        if self.kind != kind {
            return Err(Error::of_state(ErrorCode::StateKind, "kind"));
        }
        if self.policy != policy.fingerprint() {
            return Err(Error::of_state(ErrorCode::StatePolicy, "policy"));
        }
        Ok(())
    }
}
