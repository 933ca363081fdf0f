//! States that outlive an operation: one small state for each host, item or image.
//!
//! [`Gate`] is the state of one key, in plain numbers that any language can keep in a map of its own. The feature `alloc`
//! adds [`Keyed`], a map that cannot grow without end, and [`KeyedBudget`], which keeps a budget for each key in one.

#[cfg(feature = "alloc")]
pub(crate) mod budget;
pub(crate) mod config;
pub(crate) mod gate;
#[cfg(feature = "alloc")]
pub(crate) mod store;
