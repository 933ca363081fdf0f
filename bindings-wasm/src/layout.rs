//! The memory that JavaScript and the core share.
#![allow(unsafe_code)]

use crate::memory::Shared;
use core::mem::offset_of;
use holdoff_core::{Call, Policy, RawStep, Retry, Schedule, Span, Step, Timestamp};

/// The values and the states that transitions read and write. Each function says which fields it uses.
#[repr(C)]
pub(crate) struct Memory {
    pub(crate) seed: u64,
    pub(crate) ticket: u64,
    pub(crate) now: u64,
    /// A hint as a number, or another span in nanoseconds.
    pub(crate) span: u64,
    pub(crate) number: f64,
    pub(crate) step: RawStep,
    pub(crate) policy: Policy,
    pub(crate) call: Call,
    pub(crate) retry: Retry,
    pub(crate) schedule: Schedule,
}

// The same numbers as in `src-ts/tools/machine.ts`.
const _: () = {
    assert!(offset_of!(Memory, step) == 40);
    assert!(offset_of!(Memory, policy) == 64 && size_of::<Policy>() == 2456);
    assert!(offset_of!(Memory, call) == 2520 && size_of::<Call>() == 80);
    assert!(offset_of!(Memory, retry) == 2600 && size_of::<Retry>() == 64);
    assert!(offset_of!(Memory, schedule) == 2664 && size_of::<Schedule>() == 2536);
};

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// Works on the memory. Not to be nested.
pub(crate) fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(work)
}

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn address() -> usize {
    MEMORY.address()
}

impl Memory {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    /// Writes a step for JavaScript.
    pub(crate) fn show(&mut self, step: Step) {
        self.step = step.into();
    }
}
