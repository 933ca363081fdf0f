//! The core for JavaScript and TypeScript: numbers in, numbers out.
//!
//! A call from JavaScript into wasm is cheap as long as it carries no objects, and an object in wasm memory leaks unless
//! somebody frees it. So the machines' states live in JavaScript as plain words, and one fixed desk in wasm memory is
//! where they are laid down, worked on and taken back. There is no allocator, no import and nothing to free.
//!
//! Two modules are made of this crate: what retrying needs, which every page loads, and with the feature `tools` the
//! other machines and what only people need. A policy and a state are the same words in both.
#![cfg_attr(target_arch = "wasm32", no_std)]
// On any other target there is nothing to see, so that the workspace still compiles there.
#![cfg(target_arch = "wasm32")]

#[cfg(not(feature = "tools"))]
mod desk;
#[cfg(not(feature = "tools"))]
mod exports;
mod shared;
#[cfg(feature = "tools")]
mod tools;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
