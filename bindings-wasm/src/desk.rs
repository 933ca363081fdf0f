//! The memory that JavaScript and the core share.
#![allow(unsafe_code)]

use crate::shared::{Name, Problem, Shared, Value};
use core::mem::offset_of;
use holdoff_core::{
    Call, ConfigError, FlatStep, HintReader, Policy, PolicyBuilder, Retry, Rules, Schedule, Span, Step, Timestamp,
};

/// One of everything a transition takes or gives. Each function says which fields it reads and writes.
#[repr(C)]
pub(crate) struct Desk {
    pub(crate) seed: u64,
    pub(crate) ticket: u64,
    pub(crate) now: u64,
    /// A hint in flat form, or another span in nanoseconds.
    pub(crate) span: u64,
    pub(crate) number: f64,
    pub(crate) step: FlatStep,
    /// How long the sleep of `step` lasts from `now`.
    pub(crate) remaining: u64,
    pub(crate) problem: Problem,
    pub(crate) policy: Policy,
    pub(crate) rules: Rules,
    pub(crate) call: Call,
    pub(crate) retry: Retry,
    pub(crate) schedule: Schedule,
    pub(crate) name: Name,
    pub(crate) text: Value,
    pub(crate) reader: HintReader,
    pub(crate) builder: PolicyBuilder,
}

// The same numbers as in `src-ts/core.ts`.
const _: () = {
    assert!(offset_of!(Desk, step) == 40);
    assert!(offset_of!(Desk, remaining) == 64);
    assert!(offset_of!(Desk, problem) == 72);
    assert!(offset_of!(Desk, policy) == 104 && size_of::<Policy>() == 256);
    assert!(offset_of!(Desk, rules) == 360 && size_of::<Rules>() == 160);
    assert!(offset_of!(Desk, call) == 520 && size_of::<Call>() == 56);
    assert!(offset_of!(Desk, retry) == 576 && size_of::<Retry>() == 40);
    assert!(offset_of!(Desk, schedule) == 616 && size_of::<Schedule>() == 288);
    assert!(offset_of!(Desk, name) == 904);
    assert!(offset_of!(Desk, text) == 1928);
};

// SAFETY: the desk is made of integers, doubles and arrays of them, of which every bit pattern is a value, and no export calls
// out of the module.
static DESK: Shared<Desk> = unsafe { Shared::zeroed() };

/// Works on the desk. Not to be nested.
pub(crate) fn with<T>(work: impl FnOnce(&mut Desk) -> T) -> T {
    DESK.with(work)
}

/// Where the desk is in memory. It never moves.
#[unsafe(no_mangle)]
extern "C" fn desk() -> usize {
    DESK.address()
}

impl Desk {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    /// Lays a step down for JavaScript.
    pub(crate) fn show(&mut self, step: Step) {
        self.step = step.into();
        let left = match step {
            Step::Sleep { until, .. } => until.since(self.now()),
            _ => Span::ZERO,
        };
        self.remaining = left.as_nanos();
    }

    /// Lays an error down; the length of its text.
    pub(crate) fn explain(&mut self, error: &ConfigError) -> u32 {
        self.problem.explain(&mut self.text, error)
    }
}
