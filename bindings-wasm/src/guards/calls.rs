//! Calls under guards, and what a retry inside another one knows.

use super::{Memory, kind_of, with};
use crate::memory::{exports, failure_of};
use holdoff_core::{Failure, GuardedCall, Guards, Hint, Nesting, Permit, Policy, Step, Ticket, Token, Turn};

/// Moves `call` under some guards by the ticket in slot 2, and writes the step.
fn step(
    memory: &mut Memory,
    guards: u32,
    take: impl FnOnce(&mut GuardedCall, &Policy, &mut Guards<'_>, Ticket) -> Step,
) {
    let ticket = Ticket::from_raw(memory.arg(2));
    let (call, policy, mut guards) = memory.call_under(guards);
    let step = take(call, policy, &mut guards, ticket);
    memory.show(step);
}

exports! {
    /// `policy` := the same for a delay that the host's user has chosen.
    fn call_exactly() = |memory| memory.policy = memory.policy.with_exact_hints();
    /// `call` := begun under `policy` at the time in slot 0 with the seed in slot 1; `step`.
    fn call_begin(guards: u32) = |memory, now| {
        let seed = memory.arg(1);
        step(memory, guards, |call, policy, guards, _| {
            let (begun, step) = GuardedCall::begin(policy, guards, seed, now);
            *call = begun;
            step
        });
    };
    /// The attempt in slot 2 of `call` succeeded at the time in slot 0; `step`.
    fn call_succeed(guards: u32) = |memory, now| {
        step(memory, guards, |call, _, guards, ticket| call.succeed(guards, ticket, now));
    };
    /// The attempt in slot 2 of `call` failed at the time in slot 0 with that kind and the hint in slot 3; `step`.
    fn call_fail(guards: u32, kind: u32) = |memory, now| {
        let failure = failure_of(kind, Hint::from_raw(memory.arg(3)));
        step(memory, guards, |call, policy, guards, ticket| call.fail(policy, guards, ticket, now, failure));
    };
    /// The attempt in slot 2 of `call` ended at the time in slot 0 by a fault of the program's own; `step`.
    fn call_abandon(guards: u32) = |memory, now| {
        step(memory, guards, |call, _, guards, ticket| call.abandon(guards, ticket, now));
    };
    /// Time has passed for `call` until that in slot 0; `step`.
    fn call_tick(guards: u32) = |memory, now| {
        step(memory, guards, |call, policy, guards, _| call.tick(policy, guards, now));
    };
    /// The caller wants a sleep of `call` to end at the time in slot 0; a tick follows.
    fn call_hurry() = |memory, now| memory.call.hurry(now);
    /// `call` is cancelled at the time in slot 0; `step`.
    fn call_cancel(guards: u32) = |memory, now| step(memory, guards, |call, _, guards, _| call.cancel(guards, now));
    /// The guard at which other calls come before `call`: 1 bulkhead, 2 breaker, 3 limiter, 4 adaptive, 0 none.
    fn call_turn() -> u32 = |memory| memory.call.awaited_turn().map_or(0, Turn::code);
    /// The permit of the first attempt of `call`, which has just begun.
    fn call_permit() -> u32 = |memory| memory.call.permit().as_raw();
    /// `call` := put together again, for a call that JavaScript has not kept because nothing waited: its first attempt is in
    /// flight since the time in slot 6, with the permit in slot 5 and the seed in slot 1.
    fn call_underway() = |memory| underway(memory);
    /// The number of the budget's latest refusal that `call` noted when it began, as the guards had it.
    fn call_noted() -> u32 = |memory| memory.call.noted();
    /// `call` := the same, which has noted that number.
    fn call_note(refusals: u32) = |memory| memory.call = memory.call.noting(refusals);
    /// The first and only attempt of such a call succeeded at the time in slot 0.
    fn call_succeeded(guards: u32) = |memory, now| {
        underway(memory);
        let (call, _, mut guards) = memory.call_under(guards);
        call.succeed(&mut guards, Ticket::FIRST, now);
    };
    /// How many attempts a policy of that nesting makes that may make `own`, 2^32-1 being for ever, in the retries of `token`.
    fn nested_attempts(mode: u32, cap: u32, own: u32) -> u32 = |memory| Nesting::of(mode, cap).attempts(memory.around(), own);
    /// `policy` := the same with as many attempts as its nesting lets it make in the retries of `token`; that number.
    fn nested_policy(mode: u32, cap: u32) -> u32 = |memory| {
        let own = memory.policy.attempts().unwrap_or(u32::MAX);
        memory.policy = memory.policy.with_attempts(Nesting::of(mode, cap).attempts(memory.around(), own));
        memory.policy.attempts().unwrap_or(u32::MAX)
    };
    /// The kind of a failure of that kind that a retry inside has given up on.
    fn nested_failure(mode: u32, kind: u32) -> u32 = |_memory| {
        Nesting::of(mode, 0).after_inner(Failure::new(kind_of(kind))).kind.code().into()
    };
    /// `token` := what attempt `attempt` of at most `attempts` hands down in the retries of `token`.
    fn token_child(attempt: u32, attempts: u32) = |memory| {
        let token = Token::child(memory.around(), attempt, attempts);
        memory.hand_down(Some(token));
    };
    /// `token` := what so much text says as a header, or as gRPC metadata; its depth is 0 when that is nothing.
    fn token_read(length: u32, grpc: u32) = |memory| {
        let value = memory.text.get(..length as usize).unwrap_or_default();
        let token = if grpc == 0 { Token::from_header(value) } else { Token::from_grpc(value) };
        memory.hand_down(token);
    };
    /// The number that `token` has as a header, or as gRPC metadata; 0 for none.
    fn token_value(grpc: u32) -> u32 = |memory| {
        let value = memory.around().and_then(|token| if grpc == 0 { Some(token.attempt()) } else { token.grpc() });
        value.unwrap_or(0)
    };
}

fn underway(memory: &mut Memory) {
    memory.call = GuardedCall::underway(memory.arg(1), memory.time(6), Permit::from_raw(memory.arg(5) as u32));
}
