//! The core for JavaScript and TypeScript: numbers in, numbers out.
//!
//! A call from JavaScript into wasm is cheap as long as it carries no objects, and an object in wasm memory leaks unless
//! somebody frees it. So the machines' states live in JavaScript as plain words, and one fixed [`desk`] in wasm memory is
//! where they are laid down, worked on and taken back. There is no allocator, no import and nothing to free.
#![cfg_attr(target_arch = "wasm32", no_std)]
// On any other target there is nothing to see, so that the workspace still compiles there.
#![cfg(target_arch = "wasm32")]

mod desk;
mod exports;
mod shared;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
