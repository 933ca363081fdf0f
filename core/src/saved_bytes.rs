//! Saved states as bytes: the header and the checksum that calls and guards share (spec 12.8, 31).

use crate::error::{Error, ErrorCode};

const MAGIC: [u8; 4] = *b"hold";
/// The version of the layout, in bytes and in JSON.
pub(crate) const LAYOUT: u32 = 1;

/// The hash FNV-1a (Fowler, Noll, Vo) by its first value and its prime. Each step is one-to-one in the hash so far and in the
/// byte, so one changed byte always changes it.
pub(crate) struct Fnv {
    pub(crate) hash: u64,
    prime: u64,
}

impl Fnv {
    /// The one of 64 bits.
    pub(crate) const LONG: Self = Self { hash: 0xcbf2_9ce4_8422_2325, prime: 0x0000_0100_0000_01b3 };
    /// The one of 32 bits, which are the lower half of the hash.
    #[cfg(feature = "record")]
    pub(crate) const SHORT: Self = Self { hash: 0x811c_9dc5, prime: 0x0100_0193 };

    /// Takes in more bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(self.prime);
        }
    }

    /// The hash of bytes.
    pub(crate) fn of(mut self, bytes: &[u8]) -> u64 {
        self.add(bytes);
        self.hash
    }
}

/// Writes to a buffer, up to its end.
pub(crate) struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let buffer = core::mem::take(&mut self.0);
        let (now, rest) = buffer.split_at_mut(bytes.len().min(buffer.len()));
        now.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.0 = rest;
    }
}

/// Reads a buffer. Zeroes stand for bytes that are not there.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    /// A number of that many bytes, little-endian.
    pub(crate) fn number(&mut self, width: usize) -> u64 {
        let (now, rest) = self.0.split_at(width.min(self.0.len()));
        self.0 = rest;
        now.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// Writes a state to `out`, up to its end: the header with the number of its kind, the bytes of `body`, the checksum.
pub(crate) fn seal(kind: u8, out: &mut [u8], body: impl FnOnce(Writer<'_>)) {
    // Two bytes hold only the low part of a long log's length: the reader knows the length from the configuration.
    let length = (out.len() as u16).to_le_bytes();
    let (content, sum) = out.split_at_mut(out.len().saturating_sub(8));
    let mut writer = Writer(&mut *content);
    writer.put(&MAGIC);
    writer.put(&[kind, LAYOUT as u8]);
    writer.put(&length);
    body(writer);
    Writer(sum).put(&Fnv::LONG.of(content).to_le_bytes());
}

/// Checks the header, the length and the checksum of a state. Returns the number of its kind, and its body. `length` is the
/// length of a state of that kind, if there is such a kind.
pub(crate) fn open(
    bytes: &[u8],
    [wrong_kind, wrong_length]: [ErrorCode; 2],
    length: impl Fn(u8) -> Option<usize>,
) -> Result<(u8, Reader<'_>), Error> {
    let Some(rest) = bytes.strip_prefix(&MAGIC) else { return Err(Error::of_state(ErrorCode::NotAState, "")) };
    let short = Error::of_state(wrong_length, "length").found(bytes.len() as f64);
    let ([kind, layout], rest) = rest.split_first_chunk().ok_or(short)?;
    if u32::from(*layout) != LAYOUT {
        return Err(Error::of_state(ErrorCode::StateVersion, "layout").found(*layout));
    }
    let length = length(*kind).ok_or(Error::of_state(wrong_kind, "kind").found(*kind))?;
    if bytes.len() != length {
        return Err(short);
    }
    let (content, sum) = bytes.split_at_checked(length.saturating_sub(8)).ok_or(short)?;
    let mut body = Reader(rest.split_last_chunk::<8>().ok_or(short)?.0);
    if body.number(2) != length as u16 as u64 || Reader(sum).number(8) != Fnv::LONG.of(content) {
        return Err(Error::of_state(ErrorCode::StateDamaged, ""));
    }
    Ok((*kind, body))
}
