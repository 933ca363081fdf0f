//! A part of a chain of backoffs, as policies show it.

use crate::decide::backoff::Backoff;
use crate::decide::jitter::{Cap, Jitter};
use crate::time::Span;

/// A part of a chain: a backoff, for how many delays or how long.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Stage {
    /// How its delays grow.
    pub backoff: Backoff,
    /// After how many delays the next stage takes over; `None` for never.
    pub times: Option<u32>,
    /// The shortest delay.
    pub floor: Span,
    /// The time that is added after the jitter.
    pub offset: Span,
    /// The number that the first delay of a polynomial is the power of; else 1.
    pub from: u32,
    /// The time since the start after which the next stage takes over; `None` for never.
    pub until: Option<Span>,
    /// True if the first stage begins again behind this one.
    pub repeats: bool,
    /// The jitter of its delays; `None` for the policy's.
    pub jitter: Option<Jitter>,
    /// The cap of its delays; `None` for the policy's.
    pub cap: Option<Cap>,
}
