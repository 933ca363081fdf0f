//! The fields of a saved state.

use super::model::{CALL, NOTHING, Phase, RETRY, Saved};
use crate::decide::retry::Cause;
use crate::error::StopReason;
use crate::record::field::{DECIMAL, DECIMAL_RULE, Field, INTEGER, INTEGER_RULE, Member, Takes, member};

/// The count of a rule.
macro_rules! count {
    ($name:literal: $index:literal) => {
        Field(
            $name,
            Takes::Integer(0, u16::MAX as u64),
            "must be a whole number from 0 to 65535",
            Member {
                get: |saved| saved.counts[$index].into(),
                set: |saved, count| saved.counts[$index] = count as u16,
                width: 2,
            },
        )
    };
}

/// The fields, in the order in which they are written. A retry has those up to "rule8".
pub(super) const FIELDS: [Field<Saved>; 22] = [
    Field("kind", Takes::Word(&[("retry", RETRY), ("call", CALL)]), "must be one of retry, call", member!(kind: u8)),
    Field("layout", INTEGER, INTEGER_RULE, member!(layout: u32)),
    Field("policy", DECIMAL, DECIMAL_RULE, member!(policy: u64)),
    Field("seed", DECIMAL, DECIMAL_RULE, member!(seed: u64)),
    Field("elapsed", DECIMAL, DECIMAL_RULE, member!(elapsed: u64)),
    Field(
        "base",
        Takes::Decimal(u64::MAX, &[("none", NOTHING)]),
        "must be a number from 0 to 18446744073709551614 as decimal text, or \"none\"",
        member!(base: u64),
    ),
    Field("failures", INTEGER, INTEGER_RULE, member!(failures: u32)),
    Field("place", INTEGER, INTEGER_RULE, member!(position: u32)),
    Field("began", DECIMAL, DECIMAL_RULE, member!(began: u64)),
    count!("rule1": 0),
    count!("rule2": 1),
    count!("rule3": 2),
    count!("rule4": 3),
    count!("rule5": 4),
    count!("rule6": 5),
    count!("rule7": 6),
    count!("rule8": 7),
    Field("attempt", INTEGER, INTEGER_RULE, member!(attempt: u32)),
    Field("phase", Takes::Word(Phase::WORDS), Phase::RULE, member!(phase: u8)),
    Field(
        "remaining",
        Takes::Decimal(u64::MAX, &[("never", NOTHING)]),
        "must be a number from 0 to 18446744073709551614 as decimal text, or \"never\"",
        member!(remaining: u64),
    ),
    Field(
        "cause",
        Takes::WordOrNone(Cause::WORDS),
        "must be one of none, backoff, hint, clip, breaker, limiter, bulkhead",
        member!(cause: u8),
    ),
    Field(
        "reason",
        Takes::WordOrNone(StopReason::WORDS),
        "must be one of none, permanent, attempts, deadline, budget, breaker, limiter, bulkhead, hint, cancelled, body",
        member!(reason: u8),
    ),
];
