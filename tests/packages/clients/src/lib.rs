//! The clients of Rust and C, played against the flaky server: see `tests`.
#[cfg(feature = "curl")]
pub use holdoff_c;
