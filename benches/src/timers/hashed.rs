//! The wheels of `hierarchical_hash_wheel_timer`, which count milliseconds: the plain one, whose timers end when they are
//! due, and the one whose timers can be cancelled.

use super::Timers;
use hierarchical_hash_wheel_timer::wheels::{cancellable, quad_wheel};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

/// The plain wheel.
pub struct Quad {
    wheel: quad_wheel::QuadWheelWithOverflow<u32>,
    now_ms: u64,
}

impl fmt::Debug for Quad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quad").field("now_ms", &self.now_ms).finish_non_exhaustive()
    }
}

impl Timers for Quad {
    type Key = ();

    fn new(_: usize) -> Self {
        Self { wheel: quad_wheel::QuadWheelWithOverflow::default(), now_ms: 0 }
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, id: u32) {
        self.wheel.insert_with_delay(id, Duration::from_millis(at_ms - self.now_ms)).expect("a delay");
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        for _ in std::mem::replace(&mut self.now_ms, now_ms)..now_ms {
            due.append(&mut self.wheel.tick());
        }
    }
}

/// A timer that has a name.
#[derive(Debug)]
struct Named(u32);

impl cancellable::CancellableTimerEntry for Named {
    type Id = u32;

    fn id(&self) -> &u32 {
        &self.0
    }
}

/// The wheel whose timers can be cancelled.
pub struct Cancellable {
    wheel: cancellable::QuadWheelWithOverflow<Named>,
    now_ms: u64,
}

impl fmt::Debug for Cancellable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellable").field("now_ms", &self.now_ms).finish_non_exhaustive()
    }
}

impl Timers for Cancellable {
    type Key = u32;

    fn new(_: usize) -> Self {
        Self { wheel: cancellable::QuadWheelWithOverflow::new(), now_ms: 0 }
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, id: u32) -> u32 {
        let delay = Duration::from_millis(at_ms - self.now_ms);
        self.wheel.insert_ref_with_delay(Rc::new(Named(id)), delay).expect("a delay");
        id
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        for _ in std::mem::replace(&mut self.now_ms, now_ms)..now_ms {
            due.extend(self.wheel.tick().into_iter().map(|named| named.0));
        }
    }

    #[inline(always)]
    fn cancel(&mut self, id: u32) {
        self.wheel.cancel(&id).expect("it is pending");
    }
}
