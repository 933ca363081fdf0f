//! The kinds of events.

use crate::words::words;

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
