//! The memory of the functions that record and read logs.

use crate::shared::Text;
use core::mem::offset_of;
use holdoff_core::{Call, Event, Recorder};

/// Buffers for the longest text of a failure, and for an event with one; JavaScript sees 32-bit words.
type Reason = Text<65_536>;
type Bytes = Text<{ 65_536 + Event::MOST_BYTES }>;

/// The state of recording and reading a log.
#[repr(C)]
pub(super) struct Logs {
    pub(super) recorder: Recorder,
    /// The call of the recorder, without guards.
    pub(super) recorded: Call,
    /// The event that is written or read.
    pub(super) event: Event,
    /// The events of a transition.
    pub(super) events: [Event; 2],
    /// The text of a failure.
    pub(super) reason: Reason,
    /// An event as bytes.
    pub(super) bytes: Bytes,
}

/// Where each field begins and how long it is, in bytes, in memory where all of them begin there.
pub(super) const fn places(begin: u32) -> [[u32; 2]; 5] {
    macro_rules! places {
        ($($field:ident: $type:ty),*) => { [$([begin + offset_of!(Logs, $field) as u32, size_of::<$type>() as u32]),*] };
    }
    places!(recorder: Recorder, recorded: Call, event: Event, reason: Reason, bytes: Bytes)
}
