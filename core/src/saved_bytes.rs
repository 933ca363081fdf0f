//! Saved states as bytes: the header and the checksum that calls and guards share (spec 12.8, 31).

pub(crate) const MAGIC: [u8; 4] = *b"hold";
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

/// The checksum of a saved state.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    Fnv::LONG.of(bytes)
}

pub(crate) struct Writer<'a>(pub(crate) &'a mut [u8]);

impl Writer<'_> {
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let room = core::mem::take(&mut self.0);
        let (now, rest) = room.split_at_mut(bytes.len().min(room.len()));
        now.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.0 = rest;
    }
}

pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (now, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*now)
    }

    /// The length was checked before, so that zero for what is missing is never seen.
    pub(crate) fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.take().unwrap_or_default())
    }

    pub(crate) fn half(&mut self) -> u32 {
        u32::from_le_bytes(self.take().unwrap_or_default())
    }
}
