//! The module of `holdoff` and, with one more feature, that of `holdoff/powers`; part of those of `holdoff/classify` and
//! `holdoff/guards`, which decide by rules, too. It has one operation's call, from its first failure on.
//!
//! JavaScript writes the words of a policy that it has checked itself, and keeps the call's state while another operation's is in
//! the memory. There is no text here, and there are no names.
#![allow(unsafe_code)]

use crate::memory::{Shared, exports, failure_of};
use core::mem::offset_of;
use holdoff_core::{Call, Hint, Policy, RawStep, Ticket, Timestamp};

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
    assert!(offset_of!(Memory, policy) == 48 && size_of::<Policy>() == 512);
    assert!(offset_of!(Memory, call) == 560 && size_of::<Call>() == 80);
};

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

impl Memory {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }
}

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn hot() -> usize {
    MEMORY.address()
}

fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(work)
}

exports! {
    /// `call` := underway with `seed` since time 0.
    fn underway() = |memory| memory.call = Call::underway(memory.seed, Timestamp::ZERO);
    /// The attempt with that number failed at `now` with that kind, above it the number of its rule, and `hint`; `step`.
    fn fail(attempt: u32, kind: u32) = |memory, now| {
        let failure = failure_of(kind, Hint::from_raw(memory.hint));
        memory.step = memory.call.fail(&memory.policy, Ticket::from_raw(attempt.into()), now, failure).into();
    };
    /// Time has passed for `call` until `now`; `step`.
    fn tick() = |memory, now| memory.step = memory.call.tick(&memory.policy, now).into();
}
