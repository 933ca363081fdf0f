//! An event as numbers, and the kinds of events.

use crate::decide::failure::{Failure, FailureKind};
use crate::decide::hint::Hint;
use crate::decide::policy::Policy;
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::time::{Span, Timestamp};
use crate::words::words;
use core::fmt;

/// The version of both forms.
pub(crate) const VERSION: u8 = 1;

words! {
    /// The kind of an event.
    #[non_exhaustive]
    pub enum EventKind: u8 {
        /// The call began, and with it its first attempt, unless a guard made it wait. Has a policy and a seed.
        Started = 1 "STARTED" "the call began";
        /// An attempt failed; the next event says what follows. Has a failure and a hint.
        AttemptFailed = 2 "ATTEMPT_FAILED" "an attempt failed";
        /// There will be another attempt, at a time. Has a cause.
        RetryScheduled = 3 "RETRY_SCHEDULED" "there will be another attempt, at a time";
        /// An attempt began that was due, or runs again because it was interrupted.
        Resumed = 4 "RESUMED" "an attempt began that was due, or that was interrupted";
        /// An attempt succeeded. The end.
        Succeeded = 5 "SUCCEEDED" "an attempt succeeded: the end";
        /// There will be no other attempt. The end. Has a reason, and a time when another try might succeed.
        GaveUp = 6 "GAVE_UP" "there will be no other attempt: the end";
        /// The caller cancelled. The end.
        Cancelled = 7 "CANCELLED" "the caller cancelled: the end";
    }
}

impl EventKind {
    /// Says if nothing comes after it.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Succeeded | Self::GaveUp | Self::Cancelled)
    }
}

/// Version and type, which bytes have in their header.
pub(super) const IN_HEADER: u32 = 0b101;
pub(super) const OF_ALL: u32 = 0b1_1111;
pub(super) const DELAY: u32 = 1 << 5;
pub(super) const TEXTS: u32 = 0b1111 << 6;
const OF_STARTED: u32 = 0b111 << 10;
const OF_FAILED: u32 = 0b11 << 13;
pub(super) const UNTIL: u32 = 1 << 15;
const CAUSE: u32 = 1 << 16;
const REASON: u32 = 1 << 17;
pub(super) const RETRY_AT: u32 = 1 << 18;
const RULE: u32 = 1 << 19;

/// One bit for each field that an event of that kind has.
pub(super) const fn needed(kind: EventKind) -> u32 {
    OF_ALL
        | match kind {
            EventKind::Started => OF_STARTED,
            EventKind::AttemptFailed => OF_FAILED,
            EventKind::RetryScheduled => DELAY | UNTIL | CAUSE,
            EventKind::GaveUp => REASON | RETRY_AT,
            EventKind::Resumed | EventKind::Succeeded | EventKind::Cancelled => 0,
        }
}

/// One bit for each field that an event of that kind may have beside those.
pub(super) const fn possible(kind: EventKind) -> u32 {
    if matches!(kind, EventKind::AttemptFailed) { RULE } else { 0 }
}

/// One thing that happened to a call: 64 bytes of plain numbers, `Copy`, no text inside.
///
/// # Contract
/// Made by a [`crate::Recorder`], read from bytes by [`Event::read`], or field by field from [`Event::EMPTY`] with
/// [`Event::set`], in any order, then [`Event::check`]. Two events are equal when all that they say is. Every bit pattern is
/// valid memory (an unknown kind reads as [`EventKind::Cancelled`]), and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Event {
    pub(super) sequence: u64,
    pub(super) at: u64,
    pub(super) until: u64,
    pub(super) hint: u64,
    /// Before [`Event::check`] also a retry's delay in milliseconds, which no event with a seed has.
    pub(super) seed: u64,
    pub(super) policy: u64,
    pub(super) attempt: u32,
    /// One bit for each field that was set, by its place in the table of fields.
    pub(super) present: u32,
    pub(super) kind: u8,
    pub(super) failure: u8,
    pub(super) cause: u8,
    pub(super) reason: u8,
    pub(super) guarded: u8,
    /// One more than the number of the rule that takes the failure; 0 if nobody has judged it.
    pub(super) rule: u8,
    /// No padding: the event is its bytes.
    pub(super) unused: [u8; 2],
}

const _: () = assert!(size_of::<Event>() == 64);

impl Event {
    /// Nothing yet, to be filled by [`Event::set`].
    pub const EMPTY: Self = Self {
        sequence: 0,
        at: 0,
        until: Timestamp::NEVER.as_nanos(),
        hint: Hint::NONE.as_raw(),
        seed: 0,
        policy: 0,
        attempt: 0,
        present: 0,
        kind: 0,
        failure: 0,
        cause: 0,
        reason: 0,
        guarded: 0,
        rule: 0,
        unused: [0; 2],
    };

    /// An event with no more than a time and an attempt.
    pub(crate) const fn new(kind: EventKind, at: Timestamp, attempt: u32) -> Self {
        Self { kind: kind.code(), at: at.as_nanos(), attempt, present: needed(kind), ..Self::EMPTY }
    }

    pub(crate) fn started(policy: &Policy, seed: u64, guarded: bool, at: Timestamp, attempt: u32) -> Self {
        let policy = policy.fingerprint();
        Self { policy, seed, guarded: guarded as u8, ..Self::new(EventKind::Started, at, attempt) }
    }

    pub(crate) const fn attempt_failed(at: Timestamp, attempt: u32, failure: Failure) -> Self {
        let event = Self::new(EventKind::AttemptFailed, at, attempt);
        let rule = match failure.rule {
            0 => 0,
            Failure::NO_RULE => 1,
            rule => rule.wrapping_add(1),
        };
        Self { failure: failure.kind.code(), hint: failure.hint.as_raw(), rule, ..event }
    }

    pub(crate) const fn retry_scheduled(at: Timestamp, attempt: u32, until: Timestamp, cause: Cause) -> Self {
        Self { until: until.as_nanos(), cause: cause.code(), ..Self::new(EventKind::RetryScheduled, at, attempt) }
    }

    pub(crate) const fn gave_up(at: Timestamp, attempt: u32, reason: StopReason, retry_at: Timestamp) -> Self {
        Self { until: retry_at.as_nanos(), reason: reason.code(), ..Self::new(EventKind::GaveUp, at, attempt) }
    }

    pub(crate) const fn numbered(self, sequence: u64) -> Self {
        Self { sequence, ..self }
    }

    /// The place of the event in the log of its call, from 1.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// When it happened: the time that the machine was told, never before the event before.
    pub const fn at(&self) -> Timestamp {
        Timestamp::from_nanos(self.at)
    }

    /// The kind of the event.
    pub fn kind(&self) -> EventKind {
        EventKind::from_code(self.kind.into()).unwrap_or(EventKind::Cancelled)
    }

    /// The attempt of the event: the failed one, the next one ([`EventKind::RetryScheduled`]), the beginning one; at an end
    /// the last one that ran, 0 for none.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When the next attempt is due ([`EventKind::RetryScheduled`]), or when another try might succeed
    /// ([`EventKind::GaveUp`]); else [`Timestamp::NEVER`].
    pub const fn until(&self) -> Timestamp {
        Timestamp::from_nanos(self.until)
    }

    /// How long it is until the next attempt is due; zero for any other event.
    pub fn delay(&self) -> Span {
        match self.kind() {
            EventKind::RetryScheduled => self.until().since(self.at()),
            _ => Span::ZERO,
        }
    }

    /// The same in whole milliseconds, rounded up, so that nobody who waits as long is too early.
    pub fn delay_ms(&self) -> u64 {
        self.delay().as_nanos().div_ceil(1_000_000)
    }

    /// The kind of the failure ([`EventKind::AttemptFailed`]).
    pub const fn failure(&self) -> Option<FailureKind> {
        FailureKind::from_code(self.failure as u32)
    }

    /// The hint of the server ([`EventKind::AttemptFailed`]).
    pub const fn hint(&self) -> Hint {
        Hint::from_raw(self.hint)
    }

    /// The number of the rule that takes the failure, 0 for none ([`EventKind::AttemptFailed`]); `None` if nobody has judged it.
    pub const fn rule(&self) -> Option<u8> {
        self.rule.checked_sub(1)
    }

    /// Why the wait is as long as it is ([`EventKind::RetryScheduled`]).
    pub const fn cause(&self) -> Option<Cause> {
        if self.cause == 0 { None } else { Some(Cause::read(self.cause)) }
    }

    /// Why there is no other attempt ([`EventKind::GaveUp`]).
    pub const fn reason(&self) -> Option<StopReason> {
        if self.reason == 0 { None } else { Some(StopReason::read(self.reason)) }
    }

    /// The seed of the call ([`EventKind::Started`]).
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The fingerprint of the call's policy ([`EventKind::Started`]).
    pub const fn policy(&self) -> u64 {
        self.policy
    }

    /// Says if the call shares guards ([`EventKind::Started`]).
    pub const fn is_guarded(&self) -> bool {
        self.guarded != 0
    }

    /// The failure as a machine takes it; a transient one if the memory holds none.
    pub(crate) fn as_failure(&self) -> Failure {
        let rule = match self.rule {
            0 => 0,
            1 => Failure::NO_RULE,
            rule => rule.wrapping_sub(1),
        };
        Failure { rule, hint: self.hint(), ..Failure::new(self.failure().unwrap_or(FailureKind::Transient)) }
    }
}

/// `event 3: RETRY_SCHEDULED, attempt 2, in 100ms (backoff)`.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: ", self.sequence)?;
        self.describe(f)
    }
}

impl Event {
    /// Writes the event without its number.
    pub(crate) fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, attempt {}", self.kind(), self.attempt)?;
        match self.kind() {
            EventKind::AttemptFailed => write!(f, ", {}", self.failure().map_or("unknown", FailureKind::name)),
            EventKind::RetryScheduled => {
                write!(f, ", in {} ({})", self.delay(), self.cause().map_or("unknown", Cause::name))
            }
            EventKind::GaveUp => write!(f, ", {}", self.reason().map_or("unknown", StopReason::name)),
            _ => Ok(()),
        }
    }
}
