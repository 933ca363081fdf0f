//! The module of `holdoff/rules`: the rules that judge failures, set by numbers. There is no text here, and there are no names.
#![allow(unsafe_code)]

use crate::memory::{Shared, exports};
use holdoff_core::{ErrorCode, Facts, Failure, FailureKind, Rules};

// SAFETY: rules are integers and arrays of them: every bit pattern is a value. No export calls out of the module.
static MEMORY: Shared<Rules> = unsafe { Shared::zeroed() };

/// The address of the rules, which never changes.
#[unsafe(no_mangle)]
extern "C" fn rules() -> usize {
    MEMORY.address()
}

fn with<T>(work: impl FnOnce(&mut Rules) -> T) -> T {
    MEMORY.with(work)
}

/// The number of an error; 0 for none.
fn code_of<T>(result: Result<T, ErrorCode>) -> u32 {
    result.map_or_else(|code| code.code().into(), |_| 0)
}

exports! {
    /// `rules` := none.
    fn clear() = |rules| *rules = Rules::NONE;

    /// Begins the rule with that index. 0, or the number of what is wrong.
    fn begin(rule: u32) -> u32 = |rules| code_of(rules.begin(rule as u8));

    /// Sets what a rule says about retries: 1 that it retries, 2 that it never does.
    fn set_word(rule: u32, word: u32) = |rules| rules.set_word(rule as u8, word as u8);

    /// Begins a rule that holds only if one of its alternatives does. 0, or the number of what is wrong.
    fn begin_conditions(rule: u32) -> u32 = |rules| code_of(rules.begin_conditions(rule as u8));

    /// The number of an alternative of a rule, below 100, or that of what is wrong.
    fn alternative(rule: u32, index: u32) -> u32 = |rules| {
        rules.alternative(rule as u8, index as u8).map_or_else(|code| code.code().into(), u32::from)
    };

    /// Gives an alternative a condition; `begins` empties its list. 0, or the number of what is wrong.
    fn set_list(number: u32, condition: u32, begins: u32) -> u32 = |rules| {
        code_of(rules.set_list(number as u8, condition as u8, begins != 0))
    };

    /// Adds an entry to the list of an alternative. 0, or the number of what is wrong.
    fn add(number: u32, condition: u32, entry: u32) -> u32 = |rules| {
        code_of(rules.add(number as u8, condition as u8, entry))
    };

    /// The kind that `rules` give a failure of that kind with these facts, and above it the number of the rule that takes it:
    /// codes, and above them types, as masks; patterns, and above them whether the operation can run twice, the request was never
    /// sent, and the program itself is at fault, a bit each, and the number of `x-should-retry`.
    fn judge(kind: u32, http: u32, grpc: u32, names: u32, others: u32) -> u32 = |rules| {
        let facts = Facts {
            http: u16::try_from(http).unwrap_or_default(),
            grpc: u8::try_from(grpc).unwrap_or(u8::MAX),
            codes: names as u16,
            types: (names >> 16) as u16,
            patterns: others as u16,
            idempotent: others >> 16 & 1 != 0,
            unsent: others >> 17 & 1 != 0,
            program_fault: others >> 18 & 1 != 0,
            should_retry: (others >> 19) as u8,
            ..Facts::NONE
        };
        let kind = FailureKind::from_code(kind).unwrap_or(FailureKind::Permanent);
        let judged = rules.judge(facts, Failure::new(kind));
        u32::from(judged.kind.code()) | u32::from(judged.rule) << 8
    };

    /// Says whether `rules` take an HTTP answer with that status for a failure.
    fn is_failure(status: u32, idempotent: u32) -> u32 = |rules| rules.is_failure(status, idempotent != 0).into();
}
