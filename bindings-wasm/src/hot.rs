//! The module of `holdoff`, and part of those of `holdoff/policies` and `holdoff/guards`. It has one operation's call, from its first
//! failure on.
//!
//! JavaScript gives the numbers of a policy that it has checked itself, and keeps the words that the module makes of them. It keeps the
//! call's state while another operation's is in the memory. There is no text here, and there are no names.
#![allow(unsafe_code)]

use crate::memory::{Shared, exports, failure_of};
use holdoff_core::{Budget, BudgetConfig, Call, FailureKind, Hint, Policy, RawStep, Ticket, Timestamp, Withdrawal};

/// The values that transitions read and write. Each function says which fields it uses; `src-ts/places.ts` is printed from them.
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
    /// The capacity of `budget` in tokens.
    capacity: u64,
    /// The number of the latest refusal when the call began.
    noted: u64,
}

/// The price of a retry that was refused.
const REFUSED: u32 = u32::MAX;

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

impl Memory {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    /// The budget of loops with the capacity that is asked for. Its kind is a constant, so the module has no other kind's code.
    fn config(&self) -> BudgetConfig {
        BudgetConfig::of_loops_checked(self.capacity as u32)
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
    /// `policy` := one without numbers.
    fn begin() = |memory| memory.policy = Policy::blank();
    /// Gives the field with that number `seed`.
    fn give(field: u32) = |memory| memory.policy.give(field as u8, memory.seed);
    /// All numbers of `policy` are given.
    fn given() = |memory| memory.policy.given();
    /// `policy` := the same for a delay that the host's user has chosen.
    fn exactly() = |memory| memory.policy = memory.policy.with_exact_hints();
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
    /// The caller wants a sleep of `call` to end at `now`; a tick follows.
    fn hurry() = |memory, now| memory.call.hurry(now);
    /// 1 if a loop brings `policy` a budget, unless it names one.
    fn brings_budget() -> u32 = |memory| memory.policy.ends_by_attempts().into();
    /// `budget` := full, with that number of its latest refusal.
    fn fill(refusals: u32) = |memory| {
        let config = memory.config();
        memory.budget = Budget::new(&config, 0, memory.budget_now()).numbered(&config, refusals);
    };
    /// `budget` pays for the retry that `call` sleeps for after a failure of that kind: its price, which may be 0. 2^32-1 if it lacks
    /// tokens; `step` then ends the call, and `shortage` says why.
    fn withdraw(kind: u32) -> u32 = |memory| {
        let (now, kind) = (memory.budget_now(), FailureKind::from_code(kind).unwrap_or(FailureKind::Permanent));
        let config = memory.config();
        if let Some(withdrawal) = memory.budget.withdraw(&config, now, kind, memory.noted as u32) {
            return withdrawal.as_raw();
        }
        memory.step = memory.call.refuse().into();
        if let Some(shortage) = memory.budget.shortage(&config, now, kind) {
            memory.shortage = shortage.as_raw();
        }
        REFUSED
    };
    /// A retry of that price never ran. 1 if `budget` is full.
    fn refund(price: u32) -> u32 = |memory| {
        let config = memory.config();
        memory.budget.refund(&config, memory.budget_now(), Withdrawal::from_raw(price));
        memory.budget.is_full(&config).into()
    };
    /// A call succeeded whose retries had that price. 1 if `budget` is full.
    fn reward(price: u32) -> u32 = |memory| {
        let config = memory.config();
        memory.budget.succeed(&config, memory.budget_now(), Some(Withdrawal::from_raw(price)));
        memory.budget.is_full(&config).into()
    };
}
