//! The core for C and C++: caller-owned memory, no allocation but to read JSON and for timing wheels, no libc.
//!
//! Thin by design: `boundary` holds every pointer, magic word and text that comes from C, and the other files are
//! functions of a few lines over the core. The header is generated from them, so doc comments here speak to people who
//! write C. The rules for pointers are at the top of the header.
//!
//! Built with `panic = "abort"` the library is free of std. It then imports nothing at all on wasm32:
//! the proof that no decision needs a clock or an operating system. Built otherwise (for `cargo test`) it
//! links std; a panic cannot leave an `extern "C"` function either way.
#![no_std]
#![allow(
    unsafe_code,
    non_camel_case_types,
    clippy::missing_safety_doc,
    clippy::result_large_err,
    reason = "a border to C, named as C names things; the header says once for all what a pointer has to be; a problem \
              holds its texts because there is no heap"
)]

#[cfg(feature = "heap")]
extern crate alloc;
#[cfg(not(panic = "abort"))]
extern crate std;

mod abi;
mod boundary;
mod bucket;
mod call;
mod chaos;
mod document;
mod explain;
mod exports;
mod failure;
mod fields;
mod gate;
mod guards;
mod headers;
#[cfg(all(feature = "heap", panic = "abort", not(target_arch = "wasm32")))]
mod heap;
#[cfg(feature = "json")]
mod json;
mod layered;
mod log;
mod loop_backoff;
mod names;
mod options;
mod panic;
mod patterns;
mod periodic;
mod policy;
mod problem;
mod retry;
mod rules;
mod saved;
mod schedule;
mod step;
mod testing;
mod text;
mod wait_backoff;
#[cfg(feature = "heap")]
mod wheel;
mod words;

pub use self::{
    abi::*, bucket::*, call::*, chaos::*, document::*, explain::*, failure::*, fields::*, gate::*, guards::adaptive::*,
    guards::breaker::*, guards::budget::*, guards::bulkhead::*, guards::fields::*, guards::guarded::*,
    guards::limiter::*, guards::nested::*, guards::saved::*, guards::timing::*, guards::*, headers::*, layered::*,
    log::event::*, log::recorder::*, log::replay::*, loop_backoff::*, names::*, options::*, panic::*, periodic::*,
    policy::*, problem::*, retry::*, rules::*, saved::*, schedule::*, step::*, testing::*, wait_backoff::*, words::*,
};
use self::{boundary::*, exports::extern_c, guards::guard::*, text::*};
use holdoff_core::*;
#[cfg(feature = "json")]
pub use json::*;
#[cfg(feature = "heap")]
pub use wheel::*;

#[cfg(all(feature = "heap", panic = "abort", target_arch = "wasm32"))]
#[global_allocator]
static HEAP: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
