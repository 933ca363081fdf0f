//! The core for JavaScript and TypeScript: numbers in, numbers out.
//!
//! A call from JavaScript into wasm is cheap as long as it carries no objects, and an object in wasm memory leaks unless
//! somebody frees it. So JavaScript keeps the machines' states as 32-bit words, and copies them into one fixed
//! struct in wasm memory for each transition, and back. There is no allocator, no import and nothing to free.
//!
//! A program loads the modules of the entries that it imports. Each is made of this crate with one feature: `hot` an operation's
//! call, under a policy without rules that JavaScript has checked and written as words; `policies` the same for any policy, which it
//! builds of the numbers that JavaScript has read; `rules` judges failures; `guards` the guards that calls share, and what `hot` has. A policy and a
//! state are the same words in all of them. `wheel` has timers, which take memory as they come, so each wheel is an instance of its
//! own. `tools` is made by wasm-bindgen: its functions and classes take and give JavaScript's own values. `cli` is the command
//! line, for Node.js. `holdoff/lite` needs no module.
#![cfg_attr(all(target_arch = "wasm32", not(any(feature = "tools", feature = "cli"))), no_std)]
// On any other target there is nothing to see, so that the workspace still compiles there.
#![cfg(target_arch = "wasm32")]

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "guards")]
mod guards;
#[cfg(any(feature = "hot", feature = "guards"))]
mod hot;
#[cfg(not(any(feature = "tools", feature = "cli")))]
mod memory;
#[cfg(feature = "policies")]
mod policies;
#[cfg(feature = "rules")]
mod rules;
#[cfg(feature = "tools")]
mod tools;
#[cfg(feature = "wheel")]
mod wheel;

#[cfg(not(any(feature = "tools", feature = "cli")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
