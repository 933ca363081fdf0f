//! The module of `holdoff/classify`: policies with rules. With it comes the module of `holdoff`, by its other file.
#![allow(unsafe_code)]

use crate::memory::{Shared, exports};
use core::fmt::{self, Write as _};
use core::mem::offset_of;
use holdoff_core::{Error, HostText, Options, Policy, Quantity, Rules, TextList, Value as Given};

/// The values that go in and out, and one state of each machine. JavaScript reads the offsets from [`PLACES`].
#[repr(C)]
struct Memory {
    /// The bits of a number.
    args: [u64; 1],
    /// The number of the error that the text describes.
    problem: u64,
    rules: Rules,
    /// What JavaScript knows of `policy`: `Policy::limits_of_host`.
    limits: [u64; 4],
    options: Options,
    policy: Policy,
    /// A field's name, and a value. Longer names and words than fit are no valid ones.
    name: [u8; 1024],
    text: [u8; 4096],
}

// SAFETY: the memory is made of integers and arrays of them: every bit pattern is a value. No export calls out of the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// The offset and the length of each field, in bytes.
#[unsafe(no_mangle)]
static PLACES: [[u32; 2]; 7] = {
    macro_rules! places {
        ($($field:ident: $type:ty),*) => { [$([offset_of!(Memory, $field) as u32, size_of::<$type>() as u32]),*] };
    }
    places!(args: [u64; 1], problem: u64, rules: Rules, limits: [u64; 4], policy: Policy, name: [u8; 1024], text: [u8; 4096])
};

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn address() -> usize {
    MEMORY.address()
}

fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(work)
}

/// The answer of [`options_set`] for a text that JavaScript keeps; other answers are the length of a problem. The constants below
/// are bits beside it.
const HOST_KEEPS: u32 = 1 << 31;
/// The list begins anew.
const BEGINS: u32 = 1;
/// The text is one of it.
const TEXT: u32 = 2;
/// The place of the list's number, and of the alternative's.
const LIST: u32 = 2;
const ALTERNATIVE: u32 = 4;

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

/// A text in a buffer: what does not fit is cut off.
struct Lines<'a> {
    buffer: &'a mut [u8],
    used: usize,
}

impl fmt::Write for Lines<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.used + part.len();
        self.buffer.get_mut(self.used..end).ok_or(fmt::Error)?.copy_from_slice(part.as_bytes());
        self.used = end;
        Ok(())
    }
}

impl Memory {
    /// Writes an error: its number, and as text its word, the field's path, its rule, the nearest name and the value, one a line.
    /// The length of the text.
    fn explain(&mut self, error: &Error) -> u32 {
        self.problem = error.code.code().into();
        let mut lines = Lines { buffer: &mut self.text, used: 0 };
        let (word, path, rule, nearest) =
            (error.code.name(), error.path(), error.rule(), error.nearest.unwrap_or_default());
        let _cut = write!(lines, "{word}\n{path}\n{rule}\n{nearest}\n");
        let _cut = if error.value == Quantity::None { Ok(()) } else { write!(lines, "{}", error.value) };
        lines.used as u32
    }
}

exports! {
    /// Begins the options of a policy.
    fn options_start() = |memory| memory.options = Options::NEW;

    /// Sets a field of `options`: its path, then its value, which is `kind` 0 none of the others, 1 the text, 2 the number, whose
    /// unit is a millisecond, 3 not given, 4 an object without fields, 5 the number, which has no unit, 6 a list without items, 8
    /// a flag. 0, what is to be kept, or the length of what is wrong.
    fn options_set(name: u32, kind: u32, value: u32) -> u32 = |memory| {
        let number = f64::from_bits(memory.args[0]);
        let value = match kind {
            1 => Given::Text(text(&memory.text, value)),
            2 => Given::Number { value: number, unit: 1e6 },
            3 => Given::Nothing,
            4 => Given::Empty,
            5 => Given::Number { value: number, unit: f64::NAN },
            6 => Given::NoItems,
            8 => Given::Flag(value != 0),
            _ => Given::Other,
        };
        let of = |alternative: u8, list: TextList| {
            HOST_KEEPS | u32::from(alternative) << ALTERNATIVE | u32::from(list.code()) << LIST
        };
        match memory.options.set(text(&memory.name, name), value) {
            Ok(Some(HostText::NoTexts { alternative, list })) => of(alternative, list) | BEGINS,
            Ok(Some(HostText::Text { alternative, list, begins, .. })) => {
                of(alternative, list) | TEXT | if begins { BEGINS } else { 0 }
            }
            Ok(_) => 0,
            Err(error) => memory.explain(&error),
        }
    };

    /// `policy` and `rules` := those of `options`. 0, or the length of what is wrong.
    fn options_build() -> u32 = |memory| match memory.options.build() {
        Ok(policy) => {
            (memory.policy, memory.rules, memory.limits) = (policy, memory.options.rules(), policy.limits_of_host());
            0
        }
        Err(error) => memory.explain(&error),
    };

    /// What a module must have for `policy`: 0 nothing, 1 powers, 2 rules.
    fn needs() -> u32 = |memory| memory.policy.needs();
}
