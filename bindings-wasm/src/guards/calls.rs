//! Calls under guards, and what a retry inside another one knows.

use super::{BreakerSlot, Memory, kind_of, with};
use holdoff_core::{
    Breaker, Failure, GuardedCall, Guards, Hint, Nesting, Permit, Policy, Span, Step, Ticket, Timestamp, Token, Verdict,
};

fn step(guards: u32, take: impl FnOnce(&mut GuardedCall, &Policy, &mut Guards<'_>, [u64; 4]) -> Step) {
    with(|memory| {
        let args = [memory.arg(0), memory.arg(1), memory.arg(2), memory.arg(3)];
        let (call, policy, mut guards) = memory.call_under(guards);
        let step = take(call, policy, &mut guards, args);
        memory.show(step);
    });
}

const fn at(now: u64) -> Timestamp {
    Timestamp::from_nanos(now)
}

/// `call` := begun under `policy` at the time in slot 0 with the seed in slot 1; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_begin(guards: u32) {
    step(guards, |call, policy, guards, [now, seed, ..]| {
        let (begun, step) = GuardedCall::begin(policy, guards, seed, at(now));
        *call = begun;
        step
    });
}

/// The attempt in slot 2 of `call` succeeded at the time in slot 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_succeed(guards: u32) {
    step(guards, |call, _, guards, [now, _, ticket, _]| call.succeed(guards, Ticket::from_raw(ticket), at(now)));
}

/// The attempt in slot 2 of `call` failed at the time in slot 0 with that kind and the hint in slot 3; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_fail(guards: u32, kind: u32) {
    step(guards, |call, policy, guards, [now, _, ticket, hint]| {
        let failure = Failure::new(kind_of(kind)).with_hint(Hint::from_raw(hint));
        call.fail(policy, guards, Ticket::from_raw(ticket), at(now), failure)
    });
}

/// The attempt in slot 2 of `call` ended at the time in slot 0 by a fault of the program's own; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_abandon(guards: u32) {
    step(guards, |call, _, guards, [now, _, ticket, _]| call.abandon(guards, Ticket::from_raw(ticket), at(now)));
}

/// Time has passed for `call` until that in slot 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_tick(guards: u32) {
    step(guards, |call, policy, guards, [now, ..]| call.tick(policy, guards, at(now)));
}

/// `call` is cancelled at the time in slot 0; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_cancel(guards: u32) {
    step(guards, |call, _, guards, [now, ..]| call.cancel(guards, at(now)));
}

/// `call` := its first attempt is in flight since the time in slot 6, with the permit in slot 5 and the seed in slot 1.
fn underway(memory: &mut Memory) {
    let permit = Permit::from_raw(memory.arg(5) as u32);
    memory.call = GuardedCall::underway(memory.arg(1), memory.time(6), permit);
}

/// The permit of the first attempt of `call`, which has just begun.
#[unsafe(no_mangle)]
extern "C" fn call_permit() -> u32 {
    with(|memory| memory.call.permit().as_raw())
}

/// The same, for a call that JavaScript has not kept because nothing waited: put together again.
#[unsafe(no_mangle)]
extern "C" fn call_underway() {
    with(underway);
}

/// The first and only attempt of a call that JavaScript has not kept succeeded at the time in slot 0.
#[unsafe(no_mangle)]
extern "C" fn call_succeeded(guards: u32) {
    with(|memory| {
        underway(memory);
        let now = memory.time(0);
        let (call, _, mut guards) = memory.call_under(guards);
        call.succeed(&mut guards, Ticket::FIRST, now);
    });
}

/// The permit of `breaker` for an attempt while it is closed, which takes no clock. For 2^32-1, which may be a permit too, the
/// caller asks in the usual way.
#[unsafe(no_mangle)]
extern "C" fn breaker_closed() -> u32 {
    with(|memory| closed(&memory.breaker().breaker))
}

fn closed(breaker: &Breaker) -> u32 {
    breaker.acquire_closed().map_or(u32::MAX, Permit::as_raw)
}

/// An attempt with that permit succeeded, at the time in slot 0 if that is asked for. The permit of the next one, as above.
#[unsafe(no_mangle)]
extern "C" fn breaker_succeeded(permit: u32, timed: u32) -> u32 {
    with(|memory| {
        let now = if timed == 0 { Timestamp::ZERO } else { memory.time(0) };
        let BreakerSlot { config, breaker } = memory.breaker();
        breaker.record(config, Permit::from_raw(permit), now, Verdict::Success, Span::ZERO);
        closed(breaker)
    })
}

fn nesting(mode: u32, cap: u32) -> Nesting {
    match mode {
        1 => Nesting::Innermost,
        2 => Nesting::Outermost,
        3 => Nesting::Cap(cap),
        _ => Nesting::Allow,
    }
}

/// How many attempts a policy of that nesting makes that may make `own`, 2^32-1 being for ever, in the retries of `token`.
#[unsafe(no_mangle)]
extern "C" fn nested_attempts(mode: u32, cap: u32, own: u32) -> u32 {
    with(|memory| nesting(mode, cap).attempts(memory.around(), own))
}

/// `policy` := the same with as many attempts as its nesting lets it make in the retries of `token`; how many it said itself.
#[unsafe(no_mangle)]
extern "C" fn nested_policy(mode: u32, cap: u32) -> u32 {
    with(|memory| {
        let own = memory.policy.attempts().unwrap_or(u32::MAX);
        memory.policy = memory.policy.with_attempts(nesting(mode, cap).attempts(memory.around(), own));
        memory.policy.attempts().unwrap_or(u32::MAX)
    })
}

/// The kind of a failure of that kind that a retry inside has given up on.
#[unsafe(no_mangle)]
extern "C" fn nested_failure(mode: u32, kind: u32) -> u32 {
    nesting(mode, 0).after_inner(Failure::new(kind_of(kind))).kind.code().into()
}

/// `token` := what attempt `attempt` of at most `attempts` hands down in the retries of `token`.
#[unsafe(no_mangle)]
extern "C" fn token_child(attempt: u32, attempts: u32) {
    with(|memory| {
        let token = Token::child(memory.around(), attempt, attempts);
        memory.hand_down(Some(token));
    });
}

/// `token` := what so much text says as a header, or as gRPC metadata; its depth is 0 when that is nothing.
#[unsafe(no_mangle)]
extern "C" fn token_read(length: u32, grpc: u32) {
    with(|memory| {
        let value = memory.text.bytes(length);
        let token = if grpc == 0 { Token::from_header(value) } else { Token::from_grpc(value) };
        memory.hand_down(token);
    });
}

/// The number that `token` has as a header, or as gRPC metadata; 0 for none.
#[unsafe(no_mangle)]
extern "C" fn token_value(grpc: u32) -> u32 {
    with(|memory| {
        let value = memory.around().and_then(|token| if grpc == 0 { Some(token.attempt()) } else { token.grpc() });
        value.unwrap_or(0)
    })
}
