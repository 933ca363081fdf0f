//! The module of `holdoff` and, with one more feature, that of `holdoff/powers`; part of those of `holdoff/classify` and
//! `holdoff/guards`, which decide by rules, too. It has one operation's call, from its first failure on.
//!
//! JavaScript writes the words of a policy that it has checked itself, and keeps the call's state while another operation's is in
//! the memory. There is no text here, and there are no names.
#![allow(unsafe_code)]

use crate::memory::{Shared, exports, failure_of};
use core::mem::offset_of;
use holdoff_core::{Budget, BudgetConfig, Call, FailureKind, Hint, Policy, RawStep, Ticket, Timestamp, Withdrawal};

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
    /// The time of the budget's clock at time 0 of the call.
    origin: u64,
    budget: Budget,
    /// Why `budget` refused a retry.
    shortage: [u64; 4],
}

/// The budget of a policy that names none.
const OF_LOOPS: BudgetConfig = BudgetConfig::of_loops();

// The same numbers as in `src-ts/hot.ts`.
const _: () = {
    assert!(offset_of!(Memory, step) == 24);
    assert!(offset_of!(Memory, policy) == 48 && size_of::<Policy>() == 512);
    assert!(offset_of!(Memory, call) == 560 && size_of::<Call>() == 80);
    assert!(offset_of!(Memory, origin) == 640);
    assert!(offset_of!(Memory, budget) == 648 && size_of::<Budget>() == 128);
    assert!(offset_of!(Memory, shortage) == 776);
};

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

impl Memory {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    /// The same moment on the budget's clock.
    fn budget_now(&self) -> Timestamp {
        Timestamp::from_nanos(self.origin.saturating_add(self.now))
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
    /// The kind of a failure of that kind that no rule takes: `should_retry` is 1 or 2 for the header `x-should-retry` with `true`
    /// or `false`, `safe` is 1 if the operation may run twice.
    fn advised(kind: u32, should_retry: u32, safe: u32) -> u32 = |_memory| {
        failure_of(kind, Hint::NONE).advised(should_retry as u8).if_safe(safe != 0).kind.code().into()
    };
    /// `call` := underway with `seed` since time 0.
    fn underway() = |memory| memory.call = Call::underway(memory.seed, Timestamp::ZERO);
    /// The attempt with that number failed at `now` with that kind, above it the number of its rule, and `hint`; `step`.
    fn fail(attempt: u32, kind: u32) = |memory, now| {
        let failure = failure_of(kind, Hint::from_raw(memory.hint));
        memory.step = memory.call.fail(&memory.policy, Ticket::from_raw(attempt.into()), now, failure).into();
    };
    /// Time has passed for `call` until `now`; `step`.
    fn tick() = |memory, now| memory.step = memory.call.tick(&memory.policy, now).into();
    /// The same, where the caller wants a sleep of `call` to end at `now`; `step`.
    fn hurry() = |memory, now| memory.step = memory.call.hurry(&memory.policy, now).into();
    /// 1 if a loop brings `policy` a budget, unless it names one.
    fn brings_budget() -> u32 = |memory| memory.policy.ends_by_attempts().into();
    /// `budget` := full.
    fn fill() = |memory| memory.budget = Budget::new(&OF_LOOPS, 0, memory.budget_now());
    /// `budget` pays for the retry that `call` sleeps for after a failure of that kind: its price. 0 if it lacks tokens; `step` then
    /// ends the call, and `shortage` says why.
    fn withdraw(kind: u32) -> u32 = |memory| {
        let (now, kind) = (memory.budget_now(), FailureKind::from_code(kind).unwrap_or(FailureKind::Permanent));
        if let Some(withdrawal) = memory.budget.withdraw(&OF_LOOPS, now, kind) {
            return withdrawal.as_raw();
        }
        memory.step = memory.call.refuse().into();
        if let Some(shortage) = memory.budget.shortage(&OF_LOOPS, now, kind) {
            memory.shortage = shortage.as_raw();
        }
        0
    };
    /// A retry of that price never ran. 1 if `budget` is full.
    fn refund(price: u32) -> u32 = |memory| {
        memory.budget.refund(&OF_LOOPS, memory.budget_now(), Withdrawal::from_raw(price));
        memory.budget.is_full(&OF_LOOPS).into()
    };
    /// A call succeeded whose latest retry had that price, 0 for none. 1 if `budget` is full.
    fn reward(price: u32) -> u32 = |memory| {
        let withdrawal = (price != 0).then_some(Withdrawal::from_raw(price));
        memory.budget.succeed(&OF_LOOPS, memory.budget_now(), withdrawal);
        memory.budget.is_full(&OF_LOOPS).into()
    };
}
