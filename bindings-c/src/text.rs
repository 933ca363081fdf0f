//! Texts that go out: into memory of a size that the caller or a struct sets, cut after a whole character.

use crate::*;
use core::fmt::{self, Display, Write};

/// Writes text into memory of a fixed size, cut after a whole character, with a zero at its end; counts what it wanted to
/// write.
pub(crate) struct Cut<'a> {
    buffer: &'a mut [c_char],
    wanted: usize,
    full: bool,
}

impl<'a> Cut<'a> {
    pub(crate) fn new(buffer: &'a mut [c_char]) -> Self {
        if let Some(first) = buffer.first_mut() {
            *first = 0;
        }
        Self { buffer, wanted: 0, full: false }
    }
}

impl Write for Cut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            self.full |= self.wanted + bytes.len() >= self.buffer.len();
            if !self.full {
                for (cell, &byte) in self.buffer[self.wanted..].iter_mut().zip(bytes.iter().chain(&[0])) {
                    *cell = byte as c_char;
                }
            }
            self.wanted += bytes.len();
        }
        Ok(())
    }
}

/// Fills a field of a struct.
pub(crate) fn fill(field: &mut [c_char], text: &dyn Display) {
    let _ = write!(Cut::new(field), "{text}");
}

/// Prints to memory of the caller's as snprintf does: the answer is the whole length without the zero.
///
/// # Safety
/// `text` is null or points to memory of `size` bytes.
pub(crate) unsafe fn print(text: *mut c_char, size: usize, what: Option<impl Display>) -> c_int {
    // SAFETY: passed on.
    unsafe { print_by(text, size, |out| what.map_or(Ok(()), |what| write!(out, "{what}"))) }
}

/// Prints what a function writes, as [`print`] does.
///
/// # Safety
/// As for [`print`].
pub(crate) unsafe fn print_by(
    text: *mut c_char,
    size: usize,
    write: impl FnOnce(&mut Cut<'_>) -> fmt::Result,
) -> c_int {
    let buffer = if text.is_null() || size == 0 {
        &mut [][..]
    } else {
        // SAFETY: the caller vouches for it; not more than a slice may be.
        unsafe { core::slice::from_raw_parts_mut(text, size.min(isize::MAX as usize)) }
    };
    let mut out = Cut::new(buffer);
    let _ = write(&mut out);
    c_int::try_from(out.wanted).unwrap_or(c_int::MAX)
}
