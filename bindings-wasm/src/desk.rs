//! The memory that JavaScript and the core share, and all the `unsafe` there is.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::{MaybeUninit, offset_of};
use holdoff_core::{Call, ConfigError, FlatStep, Given, Policy, PolicyBuilder, Retry, Schedule, Span, Step, Timestamp};

/// How much text fits: longer names, words and headers are no valid ones.
const TEXT: usize = 4096;

/// One of everything a transition takes or gives. Each function says which fields it reads and writes.
#[repr(C)]
pub(crate) struct Desk {
    pub(crate) seed: u64,
    pub(crate) ticket: u64,
    pub(crate) now: u64,
    /// A hint in flat form, or another span in nanoseconds.
    pub(crate) span: u64,
    pub(crate) number: f64,
    pub(crate) step: FlatStep,
    /// How long the sleep of `step` lasts from `now`.
    pub(crate) remaining: u64,
    problem: Problem,
    pub(crate) policy: Policy,
    pub(crate) call: Call,
    pub(crate) retry: Retry,
    pub(crate) schedule: Schedule,
    pub(crate) builder: PolicyBuilder,
    pub(crate) text: Text,
}

/// Names, words and headers on their way in, and errors on their way out.
#[repr(transparent)]
pub(crate) struct Text([u8; TEXT]);

/// The parts of an error that are not text.
#[repr(C)]
struct Problem {
    code: u32,
    /// What the broken value is: 0 not known here, 1 `span`, 2 `number`.
    given: u32,
    span: u64,
    number: f64,
}

// The same numbers as in `src-ts/core.ts`.
const _: () = {
    assert!(offset_of!(Desk, step) == 40);
    assert!(offset_of!(Desk, remaining) == 64);
    assert!(offset_of!(Desk, problem) == 72);
    assert!(offset_of!(Desk, policy) == 96 && size_of::<Policy>() == 88);
    assert!(offset_of!(Desk, call) == 184 && size_of::<Call>() == 56);
    assert!(offset_of!(Desk, retry) == 240 && size_of::<Retry>() == 40);
    assert!(offset_of!(Desk, schedule) == 280 && size_of::<Schedule>() == 112);
    assert!(offset_of!(Desk, text) == 488);
};

struct Shared(UnsafeCell<Desk>);

// SAFETY: a wasm module without shared memory has one thread.
unsafe impl Sync for Shared {}

// SAFETY: the desk is made of integers, doubles and arrays of them, of which zero is a value.
static DESK: Shared = Shared(UnsafeCell::new(unsafe { MaybeUninit::zeroed().assume_init() }));

/// Works on the desk. Not to be nested.
pub(crate) fn with<T>(work: impl FnOnce(&mut Desk) -> T) -> T {
    // SAFETY: the exports are the only callers, each calls once, and none calls out of the module; so there is no second
    // reference. Whatever JavaScript wrote is valid: no field has an invalid bit pattern.
    work(unsafe { &mut *DESK.0.get() })
}

/// Where the desk is.
pub(crate) fn address() -> usize {
    DESK.0.get() as usize
}

impl Desk {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    /// Lays a step down for JavaScript.
    pub(crate) fn show(&mut self, step: Step) {
        self.step = step.into();
        let left = match step {
            Step::Sleep { until, .. } => until.since(self.now()),
            _ => Span::ZERO,
        };
        self.remaining = left.as_nanos();
    }

    /// Lays an error down: its numbers, and as text its word, path, rule and nearest name, one a line. The length of the
    /// text.
    pub(crate) fn explain(&mut self, error: &ConfigError) -> u32 {
        let (given, span, number) = match error.given {
            Given::Unshown => (0, 0, 0.0),
            Given::Span(span) => (1, span.as_nanos(), 0.0),
            Given::Number(number) => (2, 0, number),
        };
        self.problem = Problem { code: error.code.code().into(), given, span, number };
        let path = error.field.map_or("", holdoff_core::Field::path);
        let mut at = 0;
        for line in [error.code.name(), path, error.rule(), error.nearest.unwrap_or_default()] {
            self.text.write(&mut at, line);
            self.text.write(&mut at, "\n");
        }
        at as u32
    }
}

impl Text {
    /// The bytes from `from`, `len` of them.
    pub(crate) fn bytes(&self, from: u32, len: u32) -> &[u8] {
        let from = from as usize;
        self.0.get(from..from.saturating_add(len as usize)).unwrap_or_default()
    }

    /// The same as text. JavaScript sends nothing but ASCII, which is all that any name, word or time is made of.
    pub(crate) fn get(&self, from: u32, len: u32) -> &str {
        let bytes = self.bytes(from, len);
        // SAFETY: ASCII is UTF-8. The standard check of all of UTF-8 would be a tenth of the module, and that of ASCII,
        // which takes words at once, a hundredth.
        if bytes.iter().all(u8::is_ascii) { unsafe { core::str::from_utf8_unchecked(bytes) } } else { "" }
    }

    #[inline(never)]
    fn write(&mut self, at: &mut usize, part: &str) {
        if let Some(room) = self.0.get_mut(*at..*at + part.len()) {
            room.copy_from_slice(part.as_bytes());
            *at += part.len();
        }
    }
}
