//! The module of `holdoff/classify`: rules of classification, gRPC statuses, and every hint that header lines have.
#![allow(unsafe_code)]

use crate::memory::{Shared, exports};
use core::mem::offset_of;
use holdoff_core::{
    Error, Facts, Failure, FailureKind, Field, HintReader, HostText, Operations, Rules, Value as Given,
};

/// The values that go in and out, and one state of each machine. JavaScript reads the offsets from [`PLACES`].
#[repr(C)]
struct Memory {
    /// The time on the wall, then the hint that was found; or the bits of a number.
    args: [u64; 1],
    /// The number of the error that the text describes.
    problem: u64,
    rules: Rules,
    reader: HintReader,
    /// A field's or a header's name, and a value. Longer names, words and headers than fit are no valid ones.
    name: [u8; 1024],
    text: [u8; 4096],
}

// SAFETY: the memory is made of integers and arrays of them: every bit pattern is a value. No export calls out of the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// The offset and the length of each field, in bytes.
#[unsafe(no_mangle)]
static PLACES: [[u32; 2]; 6] = {
    macro_rules! places {
        ($($field:ident: $type:ty),*) => { [$([offset_of!(Memory, $field) as u32, size_of::<$type>() as u32]),*] };
    }
    places!(args: [u64; 1], problem: u64, rules: Rules, reader: HintReader, name: [u8; 1024], text: [u8; 4096])
};

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn address() -> usize {
    MEMORY.address()
}

fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(work)
}

/// The answer of [`rules_set`] for a text that JavaScript keeps; other answers are the length of a problem. The constants below
/// are bits beside it.
const HOST_KEEPS: u32 = 1 << 31;
/// The list is that of operations that may not run twice.
const NON_IDEMPOTENT: u32 = 1;
/// The list begins anew.
const BEGINS: u32 = 2;
/// The text is a pattern of it.
const PATTERN: u32 = 4;

/// The first bytes of a buffer.
fn first(bytes: &[u8], length: u32) -> &[u8] {
    bytes.get(..length as usize).unwrap_or_default()
}

/// The same as text.
fn text(bytes: &[u8], length: u32) -> &str {
    // SAFETY: JavaScript writes text with nothing but a TextEncoder, which makes nothing but UTF-8, and says the length that it
    // wrote. Checking that again would be a tenth of the module.
    unsafe { core::str::from_utf8_unchecked(first(bytes, length)) }
}

impl Memory {
    /// Writes an error: its number, and as text its word, the field's path, its rule and the nearest name, one a line. The length of
    /// the text.
    fn explain(&mut self, error: &Error) -> u32 {
        self.problem = error.code.code().into();
        let path = error.field.map_or(error.name, Field::path);
        let lines = [error.code.name(), path, error.rule(), error.nearest.unwrap_or_default()];
        let mut at = 0;
        for part in lines.into_iter().flat_map(|line| [line, "\n"]) {
            if let Some(room) = self.text.get_mut(at..at + part.len()) {
                room.copy_from_slice(part.as_bytes());
                at += part.len();
            }
        }
        at as u32
    }
}

exports! {
    /// Forgets all rules.
    fn rules_start() = |memory| memory.rules = Rules::NONE;

    /// Sets an entry of `rules`: its path in `retry_on`, then its value, which is `kind` 0 none of the others, 1 the text, 2 or 5
    /// the number, 3 not given, 4 an object without fields, 6 a list without items. 0, what is to be kept, or the length of what
    /// is wrong.
    fn rules_set(name: u32, kind: u32, value: u32) -> u32 = |memory| {
        let value = match kind {
            1 => Given::Text(text(&memory.text, value)),
            2 | 5 => Given::Number { value: f64::from_bits(memory.args[0]), unit: f64::NAN },
            3 => Given::Nothing,
            4 => Given::Empty,
            6 => Given::NoItems,
            _ => Given::Other,
        };
        let of = |list| HOST_KEEPS | if list == Operations::NonIdempotent { NON_IDEMPOTENT } else { 0 };
        match memory.rules.set(text(&memory.name, name), value) {
            Ok(Some(HostText::NoPatterns(list))) => of(list) | BEGINS,
            Ok(Some(HostText::Pattern { operations, begins, .. })) => of(operations) | PATTERN | if begins { BEGINS } else { 0 },
            Ok(_) => 0,
            Err(error) => memory.explain(&error),
        }
    };

    /// Begins to read the header lines of an answer that came at the first argument by the clock on the wall.
    fn headers() = |memory| memory.reader = HintReader::new(memory.args[0]);

    /// Takes one header line: its name, and its value as the text.
    fn header(name: u32, value: u32) = |memory| {
        memory.reader.header(first(&memory.name, name), first(&memory.text, value));
    };

    /// Writes the hint of the header lines, for an answer with that status, 0 for none, into the first argument.
    fn hint(status: u32) = |memory| memory.args = [memory.reader.hint_for(status).as_raw()];

    /// The kind of a gRPC status, 0 when it is no failure.
    fn grpc(code: u32) -> u32 = |_memory| Failure::from_grpc(code, None).map_or(0, |failure| failure.kind.code().into());

    /// Which patterns of `rules` to look for in a message: 0 none, 1 those of all operations, 2 those of operations that may not
    /// run twice.
    fn patterns(idempotent: u32) -> u32 = |memory| memory.rules.patterns(idempotent != 0).map_or(0, |list| list as u32);

    /// The kind that `rules` give a failure of that kind with these facts; `u32::MAX` for a code that is not known.
    fn judge(kind: u32, http: u32, grpc: u32, matched: u32, idempotent: u32) -> u32 = |memory| {
        let facts = Facts {
            http: u16::try_from(http).unwrap_or_default(),
            grpc: u8::try_from(grpc).unwrap_or(u8::MAX),
            matched: matched != 0,
            idempotent: idempotent != 0,
        };
        let kind = FailureKind::from_code(kind).unwrap_or(FailureKind::Permanent);
        memory.rules.judge(facts, Failure::new(kind)).kind.code().into()
    };

    /// Says whether `rules` take an HTTP answer with that status for a failure.
    fn is_failure(status: u32, idempotent: u32) -> u32 = |memory| memory.rules.is_failure(status, idempotent != 0).into();
}
