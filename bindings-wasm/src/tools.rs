//! The module of tools: documents, explanations, logs, saved states and the machines of other systems, as functions and classes
//! that wasm-bindgen makes.
//!
//! It allocates and takes and gives JavaScript's own values. [`arguments`] reads these and [`ffi`] makes them; a method here is a
//! line or three around the core's. Types that JavaScript sees stand in `src-ts/tools/types.ts`.
#![allow(unsafe_code, reason = "wasm-bindgen makes it")]
#![allow(unreachable_pub, reason = "wasm-bindgen exports what is public")]

mod arguments;
mod chaos;
mod document;
mod event;
mod explain;
mod ffi;
mod guard_states;
mod keyed;
mod layered;
mod machine;
mod periodic;
mod recorder;
mod saved;
mod shared;
