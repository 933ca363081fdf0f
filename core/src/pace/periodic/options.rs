//! The choices of a periodic loop, and the combinations that have names.

use crate::pace::wait_backoff::WaitBackoff;
use crate::time::Span;
use crate::words::words;

words! {
    /// Where the time between runs comes from.
    pub enum Timer: u8 {
        /// The loop backoff is asked before each interval.
        Variable = 0 "variable";
        /// The loop backoff is asked once, and runs are due at whole multiples of that. Of the ticks that pass during a
        /// run one is kept, so that the next run follows at once; then it is back on the grid. Kubernetes' ticker.
        Grid = 1 "grid";
        /// The same grid, but no tick is kept: after a long run the next is at the next tick.
        GridSkipping = 2 "grid_skipping";
        /// Runs are due at once; the loop backoff is never asked.
        NoWait = 3 "no_wait";
    }
}

/// How a [`crate::Periodic`] goes about it. The default runs at once, then after each interval counted from the end of the
/// run before, without an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeriodicOptions {
    /// Where the time between runs comes from.
    pub timer: Timer,
    /// Begins an interval with the end of a run (`true`) or with its start, so that the interval includes the run. A grid
    /// begins only once, and this says when if the first run is immediate.
    pub sliding: bool,
    /// Puts the first run before the first interval.
    pub immediate: bool,
    /// Makes an immediate first run even if cancelled or out of time before it begins.
    pub first_is_sure: bool,
    /// Ends the runs with the steps of the loop backoff's backoff: no run begins without steps left, and after a run
    /// that ends with the last step (sliding) or without any there is no sleep. A cap that uses up the steps is slept
    /// towards all the same. It needs [`Timer::Variable`], as no other takes steps.
    pub by_steps: bool,
    /// Makes one last run when the time is up.
    pub last_at_deadline: bool,
    /// How long the whole loop may take from when it is made; `None` for ever. A run in flight is not cut short.
    pub deadline: Option<Span>,
}

impl Default for PeriodicOptions {
    fn default() -> Self {
        Self::until(true)
    }
}

pub(super) const GRID: u8 = Timer::Grid.code();
pub(super) const GRID_SKIPPING: u8 = Timer::GridSkipping.code();
pub(super) const NO_WAIT: u8 = Timer::NoWait.code();

pub(super) const SLIDING: u8 = 1;
pub(super) const IMMEDIATE: u8 = 2;
pub(super) const FIRST_IS_SURE: u8 = 4;
pub(super) const BY_STEPS: u8 = 8;
pub(super) const LAST_AT_DEADLINE: u8 = 16;
/// The two that are state: asked to end, and in the last run.
pub(super) const CANCELLED: u8 = 32;
pub(super) const FINAL: u8 = 64;

impl PeriodicOptions {
    /// For ever until cancelled, at once and then at the loop backoff's intervals: Kubernetes' `BackoffUntil`, `JitterUntil`,
    /// `Until` (sliding) and `NonSlidingUntil`.
    pub const fn until(sliding: bool) -> Self {
        Self {
            timer: Timer::Variable,
            sliding,
            immediate: true,
            first_is_sure: false,
            by_steps: false,
            last_at_deadline: false,
            deadline: None,
        }
    }

    /// Until a run is done or the steps of the backoff are used up: Kubernetes' `ExponentialBackoff`,
    /// `ExponentialBackoffWithContext` and client-go's `retry.OnError`. There are as many runs as steps, but a cap that uses
    /// them up leaves one last sleep without a run after it.
    pub const fn while_steps_last() -> Self {
        Self { by_steps: true, ..Self::until(true) }
    }

    /// Until a run is done, on the timer that Kubernetes' `Backoff.Timer` picks: with several steps or jitter it varies, else
    /// it is a grid, and without a duration there is no waiting. `PollUntilContextCancel` and `PollUntilContextTimeout` are
    /// this, not sliding, with a backoff of nothing but a duration. An immediate first run is sure.
    pub fn poll(backoff: &WaitBackoff, immediate: bool, sliding: bool) -> Self {
        let timer = if backoff.steps() > 1 || backoff.draws() {
            Timer::Variable
        } else if backoff.duration() > Span::ZERO {
            Timer::Grid
        } else {
            Timer::NoWait
        };
        Self { timer, immediate, first_is_sure: immediate, ..Self::until(sliding) }
    }

    /// Kubernetes' deprecated `Poll`, `PollImmediate` and their kin: a grid whose missed ticks are dropped, begun after the
    /// immediate run if there is one, and one last run when the time is up.
    pub const fn poll_legacy(immediate: bool) -> Self {
        Self {
            timer: Timer::GridSkipping,
            immediate,
            first_is_sure: immediate,
            last_at_deadline: true,
            ..Self::until(true)
        }
    }

    /// The same with a limit on the time it may take.
    #[must_use]
    pub const fn within(mut self, deadline: Span) -> Self {
        self.deadline = Some(deadline);
        self
    }

    pub(super) const fn flags(&self) -> u8 {
        flag(self.sliding, SLIDING)
            | flag(self.immediate, IMMEDIATE)
            | flag(self.first_is_sure, FIRST_IS_SURE)
            | flag(self.by_steps, BY_STEPS)
            | flag(self.last_at_deadline, LAST_AT_DEADLINE)
    }
}

const fn flag(is_set: bool, flag: u8) -> u8 {
    if is_set { flag } else { 0 }
}
