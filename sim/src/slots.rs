//! Values that come and go, each at a place that a later value takes over.
//!
//! A list of millions would be copied whenever it grows, and be half empty afterwards; this one grows by a chunk.

/// How many values a chunk has, as a power of two.
const CHUNK: u32 = 12;

/// A list with free places.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    chunks: Vec<Vec<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { chunks: Vec::new(), free: Vec::new() }
    }

    /// Stores a value, and returns its place.
    pub(crate) fn put(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.chunks[(place >> CHUNK) as usize][(place % (1 << CHUNK)) as usize] = value;
            return place;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == 1 << CHUNK) {
            self.chunks.push(Vec::with_capacity(1 << CHUNK));
        }
        let full = self.chunks.len() - 1;
        let chunk = &mut self.chunks[full];
        chunk.push(value);
        ((full << CHUNK) + chunk.len() - 1) as u32
    }

    /// Frees a place, for a later value.
    pub(crate) fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The value at a place, if a value was ever there.
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.chunks.get_mut((place >> CHUNK) as usize)?.get_mut((place % (1 << CHUNK)) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_place_is_taken_again_and_no_other_value_moves() {
        let mut slots = Slots::new();
        let places: Vec<u32> = (0..10_000_u32).map(|value| slots.put(value)).collect();
        assert!(places.iter().zip(0..).all(|(&place, value)| slots.get_mut(place) == Some(&mut { value })));
        slots.free(places[5000]);
        assert_eq!((slots.put(7), slots.put(8)), (places[5000], 10_000));
        assert_eq!(slots.get_mut(places[5000]), Some(&mut 7));
        assert_eq!(slots.get_mut(places[5001]), Some(&mut 5001));
        assert_eq!(slots.get_mut(u32::MAX), None);
    }
}
