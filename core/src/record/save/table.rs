//! The fields of a saved state, and the numbers of their words.

use crate::decide::retry::Cause;
use crate::error::{Error, ErrorCode, StopReason};
use crate::record::field::{DECIMAL, DECIMAL_RULE, Field, INTEGER, INTEGER_RULE, Takes, first};
use crate::value::Word;

/// "No time" and "no delay yet" in flat form.
pub(crate) const NOTHING: u64 = u64::MAX;

/// The numbers of the kinds.
pub(super) const RETRY: u8 = 1;
pub(super) const CALL: u8 = 2;

/// The numbers of a call's phases.
pub(super) const CANCELLED: u8 = 0;
pub(super) const RUNNING: u8 = 1;
pub(super) const SLEEPING: u8 = 2;
pub(super) const SUCCEEDED: u8 = 3;
pub(super) const GAVE_UP: u8 = 4;

/// The fields, in the order in which they are written. A retry has those up to "place".
pub(super) const FIELDS: [Field; 13] = [
    Field("kind", Takes::Word(&[("retry", RETRY), ("call", CALL)]), "must be one of retry, call"),
    Field("layout", INTEGER, INTEGER_RULE),
    Field("policy", DECIMAL, DECIMAL_RULE),
    Field("seed", DECIMAL, DECIMAL_RULE),
    Field("elapsed", DECIMAL, DECIMAL_RULE),
    Field(
        "base",
        Takes::Decimal(u64::MAX, &[("none", NOTHING)]),
        "must be a number from 0 to 18446744073709551614 as decimal text, or \"none\"",
    ),
    Field("failures", INTEGER, INTEGER_RULE),
    Field("place", INTEGER, INTEGER_RULE),
    Field("attempt", INTEGER, INTEGER_RULE),
    Field("phase", Takes::Word(PHASES), "must be one of cancelled, running, sleeping, succeeded, gave_up"),
    Field(
        "remaining",
        Takes::Decimal(u64::MAX, &[("never", NOTHING)]),
        "must be a number from 0 to 18446744073709551614 as decimal text, or \"never\"",
    ),
    Field(
        "cause",
        Takes::WordOrNone(Cause::WORDS),
        "must be one of none, backoff, hint, clip, breaker, limiter, bulkhead",
    ),
    Field(
        "reason",
        Takes::WordOrNone(StopReason::WORDS),
        "must be one of none, permanent, attempts, deadline, budget, breaker, limiter, bulkhead, hint, cancelled",
    ),
];

pub(super) const POLICY: u32 = 1 << 2;
const OF_RETRY: u32 = (1 << 8) - 1;
const OF_CALL: u32 = (1 << 13) - 1;

const PHASES: &[Word] = &[
    ("cancelled", CANCELLED),
    ("running", RUNNING),
    ("sleeping", SLEEPING),
    ("succeeded", SUCCEEDED),
    ("gave_up", GAVE_UP),
];

/// One bit for each field that a kind has.
pub(super) const fn needed(kind: u8) -> u32 {
    if kind == CALL { OF_CALL } else { OF_RETRY }
}

/// Checks that the fields of a kind are there, all of them and no others.
pub(super) fn complete(kind: u8, given: u32) -> Result<(), Error> {
    let needed = needed(kind);
    if let Some(name) = first(&FIELDS, needed & !given) {
        return Err(Error::of_state(ErrorCode::MissingStateField, name));
    }
    match first(&FIELDS, given & !needed) {
        Some(name) => Err(Error::of_state(ErrorCode::NotForKind, name)),
        None => Ok(()),
    }
}
