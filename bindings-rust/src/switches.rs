//! Switches of the whole process, for tests.

use crate::guarded::DrivenCall;
use holdoff_core::{Outcome, Step, StopReason, Ticket, Timestamp};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The most attempts of an operation, whatever its policy says.
static MOST_ATTEMPTS: AtomicU32 = AtomicU32::new(u32::MAX);

/// True if a test limits the attempts and lets the sleeps between them end at once.
#[inline(always)]
pub(crate) fn limits() -> bool {
    MOST_ATTEMPTS.load(Ordering::Relaxed) != u32::MAX
}

/// The step after a failed attempt under the limit of a test.
#[cold]
pub(crate) fn limited_step<C: DrivenCall>(call: &mut C, ticket: Ticket, now: Timestamp, step: Step) -> Step {
    let ends = ticket.attempt() >= MOST_ATTEMPTS.load(Ordering::Relaxed);
    if !ends || !matches!(step, Step::Sleep { .. } | Step::Attempt { .. }) {
        return step;
    }
    call.cancel(now);
    Step::Stop(Outcome::GaveUp { reason: StopReason::Attempts, retry_at: Timestamp::NEVER })
}

/// Limits the attempts of all operations, in the whole process, until it is dropped.
#[derive(Debug)]
pub struct Limited {
    before: u32,
}

impl Drop for Limited {
    fn drop(&mut self) {
        MOST_ATTEMPTS.store(self.before, Ordering::Relaxed);
    }
}

/// No retries: one attempt for each operation, as if nothing was wrapped. Guards and time limits stay.
#[must_use = "the switch ends when this is dropped"]
pub fn disabled() -> Limited {
    limited(1)
}

/// At most so many attempts for each operation, the first one included, and no waits between them. A
/// number of 0 is as good as 1.
///
/// ```
/// use holdoff::{Policy, testing};
///
/// let limited = testing::limited(2);
/// let stopped = holdoff::retry(Policy::default(), || Err::<(), _>("down")).call().unwrap_err();
/// assert_eq!(stopped.attempts(), 2);
/// drop(limited);
/// ```
#[must_use = "the switch ends when this is dropped"]
pub fn limited(attempts: u32) -> Limited {
    Limited { before: MOST_ATTEMPTS.swap(attempts.max(1), Ordering::Relaxed) }
}

/// Budgets are off.
static WITHOUT_BUDGETS: AtomicBool = AtomicBool::new(false);

/// Turns the budgets of all [`SharedPolicy`](crate::SharedPolicy)s off. A suite that lets many calls fail would spend the budget of
/// a static policy, and the last tests would get no retries.
pub fn without_budgets() {
    WITHOUT_BUDGETS.store(true, Ordering::Relaxed);
}

/// True if budgets are off.
pub(crate) fn has_no_budgets() -> bool {
    WITHOUT_BUDGETS.load(Ordering::Relaxed)
}
