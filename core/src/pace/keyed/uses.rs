//! Keys in the order of their last use: a list whose links are places in a row.

use crate::time::Timestamp;
use alloc::vec::Vec;

/// No place.
const NONE: u32 = u32::MAX;

/// A key and its neighbours in the order.
#[derive(Clone, Debug)]
struct Node<K> {
    /// None in a place that is free.
    key: Option<K>,
    used: Timestamp,
    /// The place of the key used before it; in a free place the next free place.
    before: u32,
    /// The place of the key used after it.
    after: u32,
}

/// A list of keys in the order of their last use, the least recent first. Adding, removing and using a key cost the same
/// however many keys there are.
#[derive(Clone, Debug)]
pub(super) struct Uses<K> {
    nodes: Vec<Node<K>>,
    oldest: u32,
    latest: u32,
    free: u32,
}

impl<K> Uses<K> {
    /// How many places there can be.
    pub(super) const MOST: usize = NONE as usize;

    pub(super) const fn new() -> Self {
        Self { nodes: Vec::new(), oldest: NONE, latest: NONE, free: NONE }
    }

    /// Takes one more key, used at `now`, and says its place.
    pub(super) fn push(&mut self, key: K, now: Timestamp) -> u32 {
        let node = Node { key: Some(key), used: now, before: NONE, after: NONE };
        let mut place = self.free;
        match self.node(place) {
            Some(free) => {
                let next = free.before;
                *free = node;
                self.free = next;
            }
            None => {
                place = self.nodes.len() as u32;
                self.nodes.push(node);
            }
        }
        self.append(place);
        place
    }

    /// The key at a place is used at `now`: it is the latest from now on.
    pub(super) fn touch(&mut self, place: u32, now: Timestamp) {
        if let Some(node) = self.node(place) {
            node.used = now;
        }
        if self.latest != place {
            self.unlink(place);
            self.append(place);
        }
    }

    /// Takes out the key at a place.
    pub(super) fn remove(&mut self, place: u32) -> Option<K> {
        let key = self.node(place)?.key.take()?;
        self.unlink(place);
        if self.oldest == NONE {
            // Nobody is left, so the memory goes, too.
            *self = Self::new();
            return Some(key);
        }
        let free = self.free;
        if let Some(node) = self.node(place) {
            node.before = free;
        }
        self.free = place;
        Some(key)
    }

    /// The place of the key that was used longest ago, and when that was.
    pub(super) fn oldest(&self) -> Option<(u32, Timestamp)> {
        Some((self.oldest, self.used(self.oldest)?))
    }

    /// When the key at a place was used last.
    pub(super) fn used(&self, place: u32) -> Option<Timestamp> {
        self.nodes.get(place as usize).map(|node| node.used)
    }

    /// How many keys there are, counted.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.iter().filter(|node| node.key.is_some()).count()
    }

    fn node(&mut self, place: u32) -> Option<&mut Node<K>> {
        self.nodes.get_mut(place as usize)
    }

    /// Links a node behind the latest.
    fn append(&mut self, place: u32) {
        let latest = self.latest;
        if let Some(node) = self.node(place) {
            (node.before, node.after) = (latest, NONE);
        }
        match self.node(latest) {
            Some(node) => node.after = place,
            None => self.oldest = place,
        }
        self.latest = place;
    }

    /// Takes a node out of the order.
    fn unlink(&mut self, place: u32) {
        let Some(&mut Node { before, after, .. }) = self.node(place) else { return };
        match self.node(before) {
            Some(node) => node.after = after,
            None => self.oldest = after,
        }
        match self.node(after) {
            Some(node) => node.before = before,
            None => self.latest = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut uses = Uses::new();
        let now = Timestamp::ZERO;
        let places: Vec<u32> = (0..4).map(|key| uses.push(key, now)).collect();
        assert_eq!((uses.remove(places[1]), uses.remove(places[3]), uses.remove(places[3])), (Some(1), Some(3), None));
        assert_eq!((uses.push(5, now), uses.push(6, now), uses.push(7, now)), (places[3], places[1], 4));
        let order: Vec<i32> = core::iter::from_fn(|| uses.oldest().and_then(|(place, _)| uses.remove(place))).collect();
        assert_eq!(order, [0, 2, 5, 6, 7]);
        assert_eq!((uses.nodes.capacity(), uses.oldest()), (0, None));
    }
}
