//! Part of the module of `holdoff/policies`: policies of any fields, by the numbers that JavaScript has read.
#![allow(unsafe_code)]

use crate::memory::{Shared, exports};
use holdoff_core::{Options, Policy, Quantity, Rules};

/// The values that go in and out. `src-ts/places.ts` is printed from them.
#[repr(C)]
struct Memory {
    /// The number of a field, or of the error.
    number: u64,
    /// An error's field, rule and stage, each 0 for none and else one more than its index; 1 for a stage's jitter, cap or hint; 1 if
    /// `number` is a time, 2 if it is a double.
    problem: [u32; 6],
    /// What a host must know without asking: `Policy::limits_of_host`.
    limits: [u64; 4],
    rules: Rules,
    policy: Policy,
    options: Options,
}

// SAFETY: the memory is made of integers and arrays of them: every bit pattern is a value. No export calls out of the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn policies() -> usize {
    MEMORY.address()
}

fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(work)
}

exports! {
    /// Begins the options of a policy.
    fn options_begin() = |memory| memory.options = Options::NEW;

    /// Begins a stage of the policy for rule 0, else of the rule. 0 without room.
    fn options_stage(rule: u32, stage: u32) -> u32 = |memory| memory.options.begin_stage(rule as u8, stage as u8).into();

    /// Gives a field `number`; stage 255 is none. 0 without room.
    fn options_give(rule: u32, stage: u32, field: u32) -> u32 = |memory| {
        memory.options.give_number(rule as u8, stage as u8, field as u8, memory.number).into()
    };

    /// How many delays a stage lists.
    fn options_listed(rule: u32, stage: u32) -> u32 = |memory| memory.options.listed(rule as u8, stage as u8);

    /// `policy` := that of the options with `rules`, and `rules` := its rules. 0, or the number of what is wrong.
    fn options_build() -> u32 = |memory| {
        memory.options.with_rules(memory.rules);
        match memory.options.build_into(&mut memory.policy) {
            Ok(()) => {
                (memory.rules, memory.limits) = (memory.options.rules(), memory.policy.limits_of_host());
                0
            }
            Err(error) => {
                let index = |of: Option<u8>| of.map_or(0, |index| u32::from(index) + 1);
                let (kind, number) = match error.value {
                    Quantity::None => (0, 0),
                    Quantity::Span(span) => (1, span.as_nanos()),
                    Quantity::Number(number) => (2, number.to_bits()),
                };
                let field = error.field.map_or(0, |field| field.code().into());
                memory.number = number;
                memory.problem = [field, index(error.rule), index(error.stage), error.in_stage.into(), kind, 0];
                error.code.code().into()
            }
        }
    };

    /// What a module must have for `policy`: 0 nothing, 1 powers, 2 rules.
    fn options_need() -> u32 = |memory| memory.policy.needs();
}
