//! The module of `holdoff`, and part of that of `holdoff/guards`: one operation's call, from its first failure on.
//!
//! JavaScript writes the words of a policy that it has checked itself, and keeps the call's state while another operation's is in
//! the memory. There is no text here, and there are no names.
#![allow(unsafe_code)]

use crate::memory::Shared;
use core::mem::offset_of;
use holdoff_core::{Call, Failure, FailureKind, Hint, Policy, RawStep, Step, Ticket, Timestamp};

/// The values that transitions read and write. Each function says which fields it uses.
#[repr(C)]
struct Memory {
    seed: u64,
    now: u64,
    /// A hint as a number.
    hint: u64,
    step: RawStep,
    policy: Policy,
    call: Call,
}

// The same numbers as in `src-ts/hot.ts`.
const _: () = {
    assert!(offset_of!(Memory, step) == 24);
    assert!(offset_of!(Memory, policy) == 48 && size_of::<Policy>() == 256);
    assert!(offset_of!(Memory, call) == 304 && size_of::<Call>() == 56);
};

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

impl Memory {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    fn show(&mut self, step: Step) {
        self.step = step.into();
    }
}

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn hot() -> usize {
    MEMORY.address()
}

/// `call` := underway with `seed` since time 0.
#[unsafe(no_mangle)]
extern "C" fn underway() {
    MEMORY.with(|memory| memory.call = Call::underway(memory.seed, Timestamp::ZERO));
}

/// The attempt with that number failed at `now` with that kind and `hint`; `step`.
#[unsafe(no_mangle)]
extern "C" fn fail(attempt: u32, kind: u32) {
    MEMORY.with(|memory| {
        let kind = FailureKind::from_code(kind).unwrap_or(FailureKind::Permanent);
        let failure = Failure::new(kind).with_hint(Hint::from_raw(memory.hint));
        let step = memory.call.fail(&memory.policy, Ticket::from_raw(attempt.into()), memory.now(), failure);
        memory.show(step);
    });
}

/// Time has passed for `call` until `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn tick() {
    MEMORY.with(|memory| {
        let step = memory.call.tick(&memory.policy, memory.now());
        memory.show(step);
    });
}
