//! The module of `holdoff/classify`: rules of classification, gRPC statuses, and every hint that header lines have.
#![allow(unsafe_code)]

use crate::shared::{Name, Shared, Value};
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
    name: Name,
    text: Value,
}

// SAFETY: the memory is made of integers and arrays of them: every bit pattern is a value. No export calls out of the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// The offset and the length of each field, in bytes.
#[unsafe(no_mangle)]
static PLACES: [[u32; 2]; 6] = {
    macro_rules! places {
        ($($field:ident: $type:ty),*) => { [$([offset_of!(Memory, $field) as u32, size_of::<$type>() as u32]),*] };
    }
    places!(args: [u64; 1], problem: u64, rules: Rules, reader: HintReader, name: Name, text: Value)
};

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn address() -> usize {
    MEMORY.address()
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

impl Memory {
    /// Writes an error: its number, and as text its word, the field's path, its rule and the nearest name, one a line. The length of
    /// the text.
    fn explain(&mut self, error: &Error) -> u32 {
        self.problem = error.code.code().into();
        let path = error.field.map_or(error.name, Field::path);
        self.text.lines([error.code.name(), path, error.rule(), error.nearest.unwrap_or_default()])
    }
}

/// Forgets all rules.
#[unsafe(no_mangle)]
extern "C" fn rules_start() {
    MEMORY.with(|memory| memory.rules = Rules::NONE);
}

/// Sets an entry of `rules`: its path in `retry_on`, then its value, which is `kind` 0 none of the others, 1 the text, 2 or 5 the
/// number, 3 not given, 4 an object without fields, 6 a list without items. 0, what is to be kept, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn rules_set(name: u32, kind: u32, value: u32) -> u32 {
    MEMORY.with(|memory| {
        let [number] = memory.args;
        let value = match kind {
            1 => Given::Text(memory.text.get(value)),
            2 | 5 => Given::Number { value: f64::from_bits(number), unit: f64::NAN },
            3 => Given::Nothing,
            4 => Given::Empty,
            6 => Given::NoItems,
            _ => Given::Other,
        };
        let of = |list| HOST_KEEPS | if list == Operations::NonIdempotent { NON_IDEMPOTENT } else { 0 };
        match memory.rules.set(memory.name.get(name), value) {
            Ok(Some(HostText::NoPatterns(list))) => of(list) | BEGINS,
            Ok(Some(HostText::Pattern { operations, begins, .. })) => {
                of(operations) | PATTERN | if begins { BEGINS } else { 0 }
            }
            Ok(_) => 0,
            Err(error) => memory.explain(&error),
        }
    })
}

/// Begins to read the header lines of an answer that came at the first argument by the clock on the wall.
#[unsafe(no_mangle)]
extern "C" fn headers() {
    MEMORY.with(|memory| {
        let [wall] = memory.args;
        memory.reader = HintReader::new(wall);
    });
}

/// Takes one header line: its name, and its value as the text.
#[unsafe(no_mangle)]
extern "C" fn header(name: u32, value: u32) {
    MEMORY.with(|memory| memory.reader.header(memory.name.bytes(name), memory.text.bytes(value)));
}

/// Writes the hint of the header lines, for an answer with that status, 0 for none, into the first argument.
#[unsafe(no_mangle)]
extern "C" fn hint(status: u32) {
    MEMORY.with(|memory| memory.args = [memory.reader.hint_for(status).as_raw()]);
}

/// The kind of a gRPC status, 0 when it is no failure.
#[unsafe(no_mangle)]
extern "C" fn grpc(code: u32) -> u32 {
    Failure::from_grpc(code, None).map_or(0, |failure| failure.kind.code().into())
}

/// Which patterns of `rules` to look for in a message: 0 none, 1 those of all operations, 2 those of operations that may not
/// run twice.
#[unsafe(no_mangle)]
extern "C" fn patterns(idempotent: u32) -> u32 {
    MEMORY.with(|memory| memory.rules.patterns(idempotent != 0).map_or(0, |list| list as u32))
}

/// The kind that `rules` give a failure of that kind with these facts; `u32::MAX` for a code that is not known.
#[unsafe(no_mangle)]
extern "C" fn judge(kind: u32, http: u32, grpc: u32, matched: u32, idempotent: u32) -> u32 {
    MEMORY.with(|memory| {
        let facts = Facts {
            http: u16::try_from(http).unwrap_or_default(),
            grpc: u8::try_from(grpc).unwrap_or(u8::MAX),
            matched: matched != 0,
            idempotent: idempotent != 0,
        };
        let kind = FailureKind::from_code(kind).unwrap_or(FailureKind::Permanent);
        memory.rules.judge(facts, Failure::new(kind)).kind.code().into()
    })
}

/// Says whether `rules` take an HTTP answer with that status for a failure.
#[unsafe(no_mangle)]
extern "C" fn is_failure(status: u32, idempotent: u32) -> u32 {
    MEMORY.with(|memory| memory.rules.is_failure(status, idempotent != 0).into())
}
