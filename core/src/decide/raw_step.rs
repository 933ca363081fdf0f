//! A step as 24 bytes of numbers, for languages without enums.

use crate::decide::call::{Outcome, Step, Ticket};

/// A [`Step`] as numbers. Fields that a kind does not use are 0, times `u64::MAX`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct FlatStep {
    /// 1 attempt, 2 sleep, 3 wait, 4 stop.
    pub kind: u8,
    /// Stop: 1 succeeded, 2 gave up, 3 cancelled.
    pub outcome: u8,
    /// Gave up: the number of the [`crate::StopReason`].
    pub reason: u8,
    /// Sleep: the number of the [`crate::Cause`].
    pub cause: u8,
    /// Attempt: its number, from 1.
    pub attempt: u32,
    /// Attempt: when to abort it. Sleep, wait: until when. Gave up: when another try might succeed.
    pub at: u64,
    /// Attempt: when to tick although it still runs.
    pub wake_at: u64,
}

/// The numbers of [`FlatStep::kind`] and [`FlatStep::outcome`], with their words.
impl FlatStep {
    /// Run the operation.
    pub const ATTEMPT: u8 = 1;
    /// Wait until then, then tick.
    pub const SLEEP: u8 = 2;
    /// An attempt is in flight: keep waiting for it.
    pub const WAIT: u8 = 3;
    /// It is over.
    pub const STOP: u8 = 4;
    /// An attempt succeeded.
    pub const SUCCEEDED: u8 = 1;
    /// No attempt succeeded and there will be no other.
    pub const GAVE_UP: u8 = 2;
    /// The caller cancelled.
    pub const CANCELLED: u8 = 3;

    const EMPTY: Self = Self { kind: 0, outcome: 0, reason: 0, cause: 0, attempt: 0, at: u64::MAX, wake_at: u64::MAX };

    /// The ticket that goes back with the result of an attempt; names no attempt for another kind of step.
    pub const fn ticket(&self) -> Ticket {
        Ticket::from_raw(self.attempt as u64)
    }
}

impl From<Step> for FlatStep {
    #[inline]
    fn from(step: Step) -> Self {
        match step {
            Step::Attempt { ticket, abort_at, wake_at } => Self {
                kind: Self::ATTEMPT,
                attempt: ticket.attempt(),
                at: abort_at.as_nanos(),
                wake_at: wake_at.as_nanos(),
                ..Self::EMPTY
            },
            Step::Sleep { until, cause } => {
                Self { kind: Self::SLEEP, cause: cause.code(), at: until.as_nanos(), ..Self::EMPTY }
            }
            Step::Wait { until } => Self { kind: Self::WAIT, at: until.as_nanos(), ..Self::EMPTY },
            Step::Stop(Outcome::Succeeded) => Self { kind: Self::STOP, outcome: Self::SUCCEEDED, ..Self::EMPTY },
            Step::Stop(Outcome::Cancelled) => Self { kind: Self::STOP, outcome: Self::CANCELLED, ..Self::EMPTY },
            Step::Stop(Outcome::GaveUp { reason, retry_at }) => Self {
                kind: Self::STOP,
                outcome: Self::GAVE_UP,
                reason: reason.code(),
                at: retry_at.as_nanos(),
                ..Self::EMPTY
            },
        }
    }
}
