//! The same machines called from Rust and inlined there, for the benches of the C ABI to compare with: what a decision costs
//! without a foreign function interface around it. Linked into a C program as a static library.
#![allow(unsafe_code, reason = "functions with names that C can call; they take numbers and nothing else")]

use crate::{decisions, delays};
use std::hint::black_box;

/// Eight delays of a new state, so often.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_eight(times: u32) {
    decisions::eight(&black_box(delays::policy()), times);
}

/// The same with the state in memory.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_stored_eight(times: u32) {
    decisions::eight_stored(&black_box(delays::policy()), times);
}

/// One more delay of a state at the cap, so often.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_capped(times: u32) {
    decisions::capped(&black_box(delays::policy()), times);
}

/// The loop over a `Retry`, so often.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_retry(times: u32, failures: u32) {
    decisions::by_retry(times, failures);
}

/// The loop over a `Call`, so often.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_call(times: u32, failures: u32) {
    decisions::by_call(times, failures);
}
