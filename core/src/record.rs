//! Records that outlive a call: events, the recorder that emits them, their replay, and saved states.

pub(crate) mod event;
mod field;
pub(crate) mod recorder;
pub(crate) mod replay;
pub(crate) mod save;
#[cfg(feature = "serde")]
mod serde;
