//! Calling an operation off from elsewhere.

use crate::wakers::Wakers;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Calls operations off: clones are one token, and one token may be given to any number of operations.
///
/// Cancelling ends every sleep at once. A blocking attempt runs to its end, because nothing can stop a thread; an async attempt is
/// dropped.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    waiting: Mutex<Wakers>,
    changed: Condvar,
}

impl CancelToken {
    /// A token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels, for good: every operation that has this token stops.
    pub fn cancel(&self) {
        let wakers = {
            let mut waiting = self.waiting();
            self.0.cancelled.store(true, Ordering::Release);
            waiting.take()
        };
        self.0.changed.notify_all();
        wakers.for_each(Waker::wake);
    }

    /// True once it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Blocks until it is cancelled, at most for `duration`; whether it was.
    pub fn wait_timeout(&self, duration: Duration) -> bool {
        let waits = |_: &mut Wakers| !self.is_cancelled();
        drop(self.0.changed.wait_timeout_while(self.waiting(), duration, waits));
        self.is_cancelled()
    }

    /// A future that ends when it is cancelled.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { token: self.clone(), key: None }
    }

    fn waiting(&self) -> MutexGuard<'_, Wakers> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// Ends when its token is cancelled: see [`CancelToken::cancelled`].
#[derive(Debug)]
pub struct Cancelled {
    token: CancelToken,
    key: Option<u64>,
}

impl Future for Cancelled {
    type Output = ();

    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut waiting = this.token.waiting();
        // Looked at under the lock, so that a cancel in between finds the waker or is seen.
        if this.token.is_cancelled() {
            return Poll::Ready(());
        }
        let before = waiting.put(&mut this.key, context.waker());
        // Dropping a waker can drop a task, whose own futures come back for this lock.
        drop(waiting);
        drop(before);
        Poll::Pending
    }
}

impl Cancelled {
    #[inline(always)]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(crate) const fn token(&self) -> &CancelToken {
        &self.token
    }

    #[inline(never)]
    fn stop_waiting(&self, key: u64) {
        let waker = self.token.waiting().remove(key);
        drop(waker);
    }
}

impl Drop for Cancelled {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.stop_waiting(key);
        }
    }
}
