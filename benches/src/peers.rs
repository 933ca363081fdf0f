//! The other libraries, each called as its own documentation says, and each as fast as it can be called so.
//!
//! They do not all do the same job; what one of them cannot do is said in its module.

pub mod backoff;
pub mod backon;
pub mod exponential_backoff;
pub mod failsafe;
pub mod governor;
pub mod retry;
pub mod tokio_retry2;
