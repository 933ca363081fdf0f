//! How an operation ended that did not succeed.

use holdoff_core::{Shortage, StopReason, Timestamp};
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

/// Why there is no other attempt, and the last error.
///
/// Its text is the reason and the error, its [`source`](Error::source) the error itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stopped<E> {
    pub(crate) error: Option<E>,
    pub(crate) reason: StopReason,
    pub(crate) timed_out: bool,
    pub(crate) attempts: u32,
    pub(crate) stopped_at: Timestamp,
    pub(crate) retry_at: Timestamp,
    /// Apart, because few operations end by a budget.
    pub(crate) shortage: Option<Box<Spent>>,
}

/// The budget that allowed no retry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spent {
    pub(crate) shortage: Shortage,
    pub(crate) key: String,
}

impl<E> Stopped<E> {
    /// Why there is no other attempt.
    pub const fn reason(&self) -> StopReason {
        self.reason
    }

    /// How many attempts began; 0 when the operation was cancelled before it started.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// When another try might succeed, on the sleeper's clock; `None` when nobody knows.
    pub const fn retry_at(&self) -> Option<Timestamp> {
        if self.retry_at.is_never() { None } else { Some(self.retry_at) }
    }

    /// How long from the end of the operation on another try might succeed; `None` when nobody knows.
    pub fn retry_in(&self) -> Option<Duration> {
        self.retry_at().map(|at| at.since(self.stopped_at).as_duration())
    }

    /// The tokens that a retry would have cost, when a token budget allowed none.
    pub fn shortage(&self) -> Option<&Shortage> {
        self.shortage.as_ref().map(|spent| &spent.shortage)
    }

    /// True when the last attempt that ended was aborted at its limit, so that it has no error of its own.
    pub const fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// The latest error that an attempt returned; `None` when none has, because each was aborted at its limit or returned
    /// a value, or the operation was cancelled before one ended.
    pub const fn error(&self) -> Option<&E> {
        self.error.as_ref()
    }

    /// The latest error that an attempt returned, see [`Stopped::error`].
    pub fn into_error(self) -> Option<E> {
        self.error
    }
}

impl<E: fmt::Display> fmt::Display for Stopped<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.attempts == 1 { "" } else { "s" };
        write!(f, "stopped after {} attempt{plural}: {}", self.attempts, self.reason.text())?;
        if let Some(spent) = &self.shortage {
            write!(f, " ({})", spent.shortage.of_key(&spent.key))?;
        }
        if self.timed_out {
            f.write_str("; the last one was aborted at its limit")?;
        }
        match &self.error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

impl<E: Error + 'static> Error for Stopped<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if self.reason != StopReason::Cancelled {
            ASKED.set(true);
        }
        self.error.as_ref().map(|error| error as _)
    }
}

thread_local! {
    /// A [`Stopped`] that gave up was asked for its source. The type of its error is not known to [`given_up`], so this tells of it.
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// The longest chain of sources that is followed: a chain may be a circle.
const DEPTH: usize = 64;

/// True if a retry gave up with this error: the error, or an error in its chain of sources, is a [`Stopped`]
/// that was not cancelled.
///
/// For another retry around, also of another library, so that attempts do not multiply: `.when(|error| !holdoff::classify::given_up(error))`.
/// An error that does not keep its source hides the retry; [`nested`](crate::builder::Retrying::nested) tells the attempt itself.
///
/// ```
/// use holdoff::{Policy, testing::VirtualTime};
/// use std::io::{Error, ErrorKind};
///
/// let down = || Err::<(), _>(Error::from(ErrorKind::ConnectionRefused));
/// let stopped = holdoff::retry(Policy::default(), down).sleeper(VirtualTime::new()).call().unwrap_err();
/// assert!(holdoff::classify::given_up(&Error::other(stopped)));
/// assert!(!holdoff::classify::given_up(&Error::from(ErrorKind::ConnectionRefused)));
/// ```
pub fn given_up(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    for _ in 0..DEPTH {
        let Some(error) = next else { return false };
        ASKED.set(false);
        next = error.source();
        if ASKED.get() {
            return true;
        }
    }
    false
}

/// The last error itself; without one, an error of kind `TimedOut` when the last attempt was aborted, else of kind `Other`
/// (`Interrupted` would ask the caller to try again). Lets `?` work in functions that return I/O errors.
impl From<Stopped<io::Error>> for io::Error {
    fn from(stopped: Stopped<io::Error>) -> Self {
        let kind = if stopped.timed_out { io::ErrorKind::TimedOut } else { io::ErrorKind::Other };
        let text = stopped.reason.text();
        stopped.error.unwrap_or_else(|| Self::new(kind, text))
    }
}
