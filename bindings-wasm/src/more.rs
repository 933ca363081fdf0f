//! The memory of the machines.
//!
//! Their functions take numbers from `args` and leave numbers there; a span, a time and a double take one slot each.
#![allow(unsafe_code)]

mod keyed;
mod layered;
mod periodic;
mod save;

use crate::shared::{Name, Problem, Shared, Value};
use core::mem::offset_of;
use holdoff_core::{
    Bucket, BucketConfig, Call, Error, FailureKind, Gate, GateConfig, Layered, Layers, LoopBackoff, Periodic, Policy,
    RawStep, Retry, Saved, Span, Timestamp, Value as Setting, WaitBackoff,
};

/// One state of each machine, and the values that go in and out. JavaScript reads the offsets from [`PLACES`].
#[repr(C)]
struct Memory {
    args: [u64; 16],
    problem: Problem,
    step: RawStep,
    policy: Policy,
    inner: Policy,
    retry: Retry,
    call: Call,
    saved: Saved,
    wait_backoff: WaitBackoff,
    loop_backoff: LoopBackoff,
    periodic: Periodic,
    gate_config: GateConfig,
    gate: Gate,
    bucket_config: BucketConfig,
    bucket: Bucket,
    layers: Layers,
    layered: Layered,
    name: Name,
    text: Value,
}

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// The offset and the length of each field, in bytes.
#[unsafe(no_mangle)]
static PLACES: [[u32; 2]; 19] = {
    macro_rules! places {
        ($($field:ident: $type:ty),*) => { [$([offset_of!(Memory, $field) as u32, size_of::<$type>() as u32]),*] };
    }
    places!(
        args: [u64; 16], problem: Problem, step: RawStep, policy: Policy, inner: Policy, retry: Retry,
        call: Call, saved: Saved, wait_backoff: WaitBackoff, loop_backoff: LoopBackoff, periodic: Periodic, gate_config: GateConfig, gate: Gate,
        bucket_config: BucketConfig, bucket: Bucket, layers: Layers, layered: Layered,
        name: Name, text: Value
    )
};

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn address() -> usize {
    MEMORY.address()
}

/// Works on the memory. Not to be nested.
fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(work)
}

impl Memory {
    fn arg(&self, at: usize) -> u64 {
        self.args.get(at).copied().unwrap_or_default()
    }

    fn span(&self, at: usize) -> Span {
        Span::from_nanos(self.arg(at))
    }

    /// A span, or nothing where it is 2^64-1.
    fn limit(&self, at: usize) -> Option<Span> {
        (self.arg(at) != u64::MAX).then(|| self.span(at))
    }

    fn time(&self, at: usize) -> Timestamp {
        Timestamp::from_nanos(self.arg(at))
    }

    fn real(&self, at: usize) -> f64 {
        f64::from_bits(self.arg(at))
    }

    /// Leaves numbers, from the first place on.
    fn leave<const N: usize>(&mut self, numbers: [u64; N]) {
        self.args.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    }

    /// 0 and the machine, or the length of what is wrong.
    fn made<T>(&mut self, made: Result<T, Error>, keep: impl FnOnce(&mut Self, T)) -> u32 {
        match made {
            Ok(machine) => {
                keep(self, machine);
                0
            }
            Err(error) => self.explain(&error),
        }
    }

    /// Writes an error, and returns the length of its text.
    fn explain(&mut self, error: &Error) -> u32 {
        self.problem.explain(&mut self.text, error)
    }

    /// A value as JavaScript has it: `kind` 0 none of the others, 1 the text, 2 the number in place 0, 3 not given,
    /// 4 an object without fields, 5 the whole number in place 0, 6 a list without items.
    fn setting(&self, kind: u32, value: u32) -> Setting<'_> {
        match kind {
            1 => Setting::Text(self.text.get(value)),
            2 => Setting::Number { value: self.real(0), unit: 1.0 },
            3 => Setting::Nothing,
            4 => Setting::Empty,
            5 => Setting::Nanos(self.arg(0)),
            6 => Setting::NoItems,
            _ => Setting::Other,
        }
    }
}

fn kind_of(code: u32) -> FailureKind {
    FailureKind::from_code(code).unwrap_or(FailureKind::Permanent)
}
