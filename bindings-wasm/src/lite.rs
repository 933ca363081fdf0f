//! The smallest module: one call under a policy of one stage, its fields as numbers.
//!
//! There is no text here, and no names: JavaScript knows them from a table that is generated from the core's. JavaScript
//! keeps a call's state with its policy behind it, one row of bytes.
#![allow(unsafe_code)]

use crate::memory::Shared;
use call::Call;
use core::mem::offset_of;
use holdoff_core::{Failure, FailureKind, Hint, Span, Timestamp};
use policy::Policy;

#[allow(unreachable_pub, reason = "the conformance tests compile these files too")]
mod call;
#[allow(unreachable_pub, reason = "as above")]
mod policy;

#[repr(C)]
struct Memory {
    call: Call,
    policy: Policy,
}

// The same numbers as in `src-ts/lite/core.ts`.
const _: () = assert!(offset_of!(Call, step) == 36 && size_of::<Memory>() == 112);

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn address() -> usize {
    MEMORY.address()
}

/// Makes `policy` of its fields from number 1 on. How long its first attempt may take, in nanoseconds, 2^64 for ever; below 0 a
/// problem: its code times 256 and the number of its field.
#[unsafe(no_mangle)]
#[rustfmt::skip]
extern "C" fn policy(
    a: f64, b: f64, c: f64, d: f64, e: f64, f: f64, g: f64, h: f64, i: f64, j: f64, k: f64, l: f64, m: f64, n: f64,
) -> f64 {
    MEMORY.with(|memory| match Policy::new(&[f64::NAN, a, b, c, d, e, f, g, h, i, j, k, l, m, n]) {
        Ok(policy) => {
            memory.policy = policy;
            policy.first_limit() as f64
        }
        Err((code, field)) => -f64::from(u32::from(code.code()) << 8 | u32::from(field)),
    })
}

/// Attempt number `attempt` of `call` failed at `now` with that kind and a hint in milliseconds, -1 for never and NaN for none;
/// kind 0 is no failure, but the end of a sleep. The first failure begins the call, underway since time 0 with that seed.
/// Returns the time in the step that follows, 2^64 for never; which step it is stands in the call.
#[unsafe(no_mangle)]
extern "C" fn step(now: f64, kind: u32, hint: f64, attempt: u32, seed: u64) -> f64 {
    MEMORY.with(|memory| {
        let (call, policy) = (&mut memory.call, &memory.policy);
        let now = Timestamp::from_nanos(now as u64);
        if kind == 0 {
            call.tick(policy, now);
        } else {
            if attempt == 1 {
                *call = Call::underway(seed);
            }
            let hint = match hint {
                0.0.. => Hint::after(Span::from_float(hint, 1e6).unwrap_or(Span::MAX)),
                _ if hint.is_nan() => Hint::NONE,
                _ => Hint::NEVER,
            };
            let kind = FailureKind::from_code(kind).unwrap_or(FailureKind::Permanent);
            call.fail(policy, now, Failure::new(kind).with_hint(hint));
        }
        call.at.as_nanos() as f64
    })
}

/// The kind of an HTTP answer, 0 when it is no failure.
#[unsafe(no_mangle)]
extern "C" fn http(status: u32) -> u32 {
    FailureKind::from_http_status(status).map_or(0, |kind| kind.code().into())
}
