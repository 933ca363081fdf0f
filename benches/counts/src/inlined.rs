//! The same machines called from Rust and inlined there, for the benches of the C ABI to compare with: what a decision costs
//! without a border around it. Linked into a C program as a static library.
#![allow(unsafe_code, reason = "functions with names that C can call; they take numbers and nothing else")]

use crate::{delays, loops};
use std::hint::black_box;

/// Eight delays of a new state, so often.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_eight(times: u32) {
    let policy = delays::policy();
    for _ in 0..times {
        delays::eight(&policy, black_box(7));
    }
}

/// The same with the state in memory.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_kept_eight(times: u32) {
    let policy = delays::policy();
    for _ in 0..times {
        delays::eight_kept(&policy, black_box(7));
    }
}

/// One more delay of a state at the cap, so often.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_capped(times: u32) {
    delays::capped(&delays::policy(), times);
}

/// The loop over a `Retry`, so often.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_retry(times: u32, failures: u32) {
    let policy = loops::policy();
    for _ in 0..times {
        let _ = black_box(loops::retry(&policy, black_box(failures), black_box(7)));
    }
}

/// The loop over a `Call`, so often.
#[unsafe(no_mangle)]
pub extern "C" fn inlined_call(times: u32, failures: u32) {
    let policy = loops::policy();
    for _ in 0..times {
        let _ = black_box(loops::call(&policy, black_box(failures), black_box(7)));
    }
}
