//! Text in the memory of several modules.
#![allow(unsafe_code)]

pub(crate) use crate::memory::Shared;

/// Text on its way in or out. Longer names, words and headers than fit are no valid ones.
#[repr(transparent)]
pub(crate) struct Text<const N: usize>([u8; N]);

/// A field's or a header's name.
pub(crate) type Name = Text<1024>;
/// A value, or a message.
pub(crate) type Value = Text<4096>;

impl<const N: usize> Text<N> {
    /// The first `len` bytes.
    pub(crate) fn bytes(&self, len: u32) -> &[u8] {
        self.0.get(..len as usize).unwrap_or_default()
    }

    /// The same as text.
    pub(crate) fn get(&self, len: u32) -> &str {
        // SAFETY: JavaScript writes text with nothing but a TextEncoder, which makes nothing but UTF-8, and says the length
        // that it wrote. Checking that again would be a tenth of the module.
        unsafe { core::str::from_utf8_unchecked(self.bytes(len)) }
    }

    /// Writes lines that fit, and returns their length.
    pub(crate) fn lines(&mut self, lines: [&str; 4]) -> u32 {
        let mut at = 0;
        for line in lines {
            self.write(&mut at, line);
            self.write(&mut at, "\n");
        }
        at as u32
    }

    #[inline(never)]
    fn write(&mut self, at: &mut usize, part: &str) {
        if let Some(room) = self.0.get_mut(*at..*at + part.len()) {
            room.copy_from_slice(part.as_bytes());
            *at += part.len();
        }
    }
}
