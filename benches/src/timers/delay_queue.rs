//! Tokio's queue of delays, on tokio's paused clock, which is a part of what it costs.

use super::Timers;
use std::fmt;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::unconstrained;
use tokio::time::{self, Instant};
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

/// The queue and the runtime whose clock stands still until it is told to go on.
pub struct Queue {
    runtime: Runtime,
    queue: DelayQueue<u32>,
    start: Instant,
    now_ms: u64,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl Timers for Queue {
    type Key = Key;

    fn new(_: usize) -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let entered = runtime.enter();
        let (queue, start) = (DelayQueue::new(), Instant::now());
        drop(entered);
        Self { runtime, queue, start, now_ms: 0 }
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, id: u32) -> Key {
        let _entered = self.runtime.enter();
        self.queue.insert_at(id, self.start + Duration::from_millis(at_ms))
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        let Self { runtime, queue, now_ms: before, .. } = self;
        let passed = Duration::from_millis(now_ms - std::mem::replace(before, now_ms));
        // Unconstrained, or tokio would have it give way to others after 128 timers.
        runtime.block_on(unconstrained(async {
            time::advance(passed).await;
            let mut context = Context::from_waker(Waker::noop());
            while let Poll::Ready(Some(expired)) = queue.poll_expired(&mut context) {
                due.push(expired.into_inner());
            }
        }));
    }

    #[inline(always)]
    fn cancel(&mut self, key: Key) {
        let _entered = self.runtime.enter();
        self.queue.remove(&key);
    }
}
