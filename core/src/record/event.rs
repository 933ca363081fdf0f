//! Events of a call, which a host writes down, so that a later reader knows what the call knew, and goes on with it.
//!
//! An event is plain numbers. The text of a failure and the name of the task are the host's: it lends them where an event
//! is written and gets them back where one is read. There are two forms (spec 33): JSON, one line an event, under the names
//! that workflow engines have for the same things; and bytes, which are short and notice when they were changed.

mod bytes;
mod field;
mod model;
#[cfg(feature = "serde")]
mod serde;

pub use bytes::EventReader;
pub use field::{Notes, ValueOwner};
pub use model::{Event, EventKind};
#[cfg(feature = "serde")]
pub use serde::EventWithNotes;

#[cfg(test)]
pub(crate) mod tests;
