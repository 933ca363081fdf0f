//! The core for JavaScript and TypeScript: numbers in, numbers out.
//!
//! A call from JavaScript into wasm is cheap as long as it carries no objects, and an object in wasm memory leaks unless
//! somebody frees it. So JavaScript keeps the machines' states as 32-bit words, and copies them into one fixed
//! struct in wasm memory for each transition, and back. There is no allocator, no import and nothing to free.
//!
//! Three such modules are made of this crate: retries, which every page loads; with the feature `guards` the guards that calls
//! share; with `log` guards and the logs of calls. A policy and a state are the same words in all of them. The fourth, with
//! `wheel`, has timers, which take memory as they come, so each wheel is an instance of its own. The fifth, with `lite`, is for
//! pages to which every kilobyte counts: plain policies and nothing else. The sixth, with `tools`, is made by wasm-bindgen: its
//! functions and classes take and give JavaScript's own values.
#![cfg_attr(all(target_arch = "wasm32", not(feature = "tools")), no_std)]
// On any other target there is nothing to see, so that the workspace still compiles there.
#![cfg(target_arch = "wasm32")]

#[cfg(not(any(feature = "tools", feature = "guards", feature = "wheel", feature = "lite")))]
mod exports;
#[cfg(feature = "guards")]
mod guards;
#[cfg(not(any(feature = "tools", feature = "guards", feature = "wheel", feature = "lite")))]
mod layout;
#[cfg(feature = "lite")]
mod lite;
#[cfg(not(feature = "tools"))]
mod memory;
#[cfg(not(any(feature = "tools", feature = "wheel", feature = "lite")))]
mod shared;
#[cfg(feature = "tools")]
mod tools;
#[cfg(feature = "wheel")]
mod wheel;

#[cfg(not(feature = "tools"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
