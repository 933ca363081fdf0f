//! The places of a bulkhead's queue: a ring of bits, in the state or in the caller's memory.
//!
//! A place in the middle of the ring is freed by a clear bit and stays handed out until the places before it are free. They are
//! passed over by words, each once, so the cost of entering and leaving does not grow with the queue.

/// The places that are handed out, from the first one on. The bits of all other places are of no interest.
pub(super) struct Ring<'a> {
    words: &'a mut [u64],
    /// How many bits there are.
    size: u32,
    /// The bit of the first place.
    start: u32,
    handed_out: u32,
}

impl<'a> Ring<'a> {
    /// The ring in these words, of `handed_out` places from the bit `start` on; numbers that are too large are cut.
    pub(super) fn new(words: &'a mut [u64], start: u32, handed_out: u32) -> Self {
        let size = u32::try_from(words.len()).unwrap_or(0).saturating_mul(u64::BITS);
        let start = if start < size { start } else { start.checked_rem(size).unwrap_or(0) };
        Self { words, size, start, handed_out: handed_out.min(size) }
    }

    /// How many places are handed out.
    pub(super) const fn handed_out(&self) -> u32 {
        self.handed_out
    }

    /// The bit of a place: `offset` places behind the first, at most once around.
    pub(super) const fn bit(&self, offset: u32) -> u32 {
        let sum = self.start.wrapping_add(offset);
        if sum < self.size { sum } else { sum.wrapping_sub(self.size) }
    }

    /// Hands out the next place. False if all are handed out.
    pub(super) fn hand_out(&mut self) -> bool {
        let offset = self.handed_out;
        let is_left = offset < self.size;
        if is_left && let Some((word, mask)) = self.at(offset) {
            *word |= mask;
        }
        is_left
    }

    /// True if a caller holds the place.
    pub(super) fn is_occupied(&self, offset: u32) -> bool {
        offset < self.handed_out && self.chunk(offset).0 & 1 != 0
    }

    /// Frees the place.
    pub(super) fn free(&mut self, offset: u32) {
        if let Some((word, mask)) = self.at(offset) {
            *word &= !mask;
        }
    }

    /// How many places at the start are free.
    pub(super) fn free_at_start(&self) -> u32 {
        let mut offset = 0_u32;
        while offset < self.handed_out {
            let (bits, length) = self.chunk(offset);
            if bits != 0 {
                return offset.saturating_add(bits.trailing_zeros());
            }
            offset = offset.saturating_add(length);
        }
        self.handed_out
    }

    /// How many callers hold places before this one; counted up to `enough`.
    pub(super) fn occupied_before(&self, place: u32, enough: u32) -> u32 {
        let (mut offset, mut count) = (0_u32, 0_u32);
        while offset < place && count < enough {
            let (bits, length) = self.chunk(offset);
            let length = length.min(place.saturating_sub(offset));
            count = count.saturating_add((bits & low(length)).count_ones());
            offset = offset.saturating_add(length);
        }
        count
    }

    /// The bits from a place on to the end of its word or of the places, and their number, which is not 0.
    fn chunk(&self, offset: u32) -> (u64, u32) {
        let bit = self.bit(offset);
        let (word, from) = (self.words.get((bit / u64::BITS) as usize), bit % u64::BITS);
        let length = u64::BITS.saturating_sub(from).min(self.handed_out.saturating_sub(offset)).max(1);
        (word.copied().unwrap_or(0).wrapping_shr(from) & low(length), length)
    }

    /// The word and the mask of a place.
    fn at(&mut self, offset: u32) -> Option<(&mut u64, u64)> {
        let bit = self.bit(offset);
        let word = self.words.get_mut((bit / u64::BITS) as usize)?;
        Some((word, 1_u64.wrapping_shl(bit % u64::BITS)))
    }
}

/// That many bits from the lowest one on.
const fn low(count: u32) -> u64 {
    match 1_u64.checked_shl(count) {
        Some(bit) => bit.wrapping_sub(1),
        None => u64::MAX,
    }
}
